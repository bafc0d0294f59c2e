"""Charts as inline SVG: pure functions from values to text."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from markupsafe import Markup

from burnish.metrics.confidence import Reliability
from burnish.report.data import CurvePoint, Matrix, Residuals
from burnish.report.figures import figure, shortened, tick
from burnish.spec.values import Score

NARROW = 342
"""How wide a picture is on a phone."""
_GROUPS = 10
_DIGIT, _GAP = 6.5, 12
"""How wide a digit of a tick is, and what has to be free between two ticks."""


@dataclass(frozen=True)
class Scale:
    """Map values from `low`..`high` to pixels from `start`..`end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Give the pixel of a value; outside values stay at the edge."""
        span = self.high - self.low
        part = (value - self.low) / span if span else 0.5
        return round(self.start + min(1.0, max(0.0, part)) * (self.end - self.start), 1)


@dataclass(frozen=True)
class PlotArea:
    """The plotting area of a chart, with its two scales."""

    x: Scale
    y: Scale
    width: int
    height: int


def ticks(low: float, high: float, *, most: int = 5, is_whole: bool = False) -> list[float]:
    """Choose round values that cover a range, or whole numbers, where nothing is between two."""
    span = high - low
    if not math.isfinite(span) or span / most <= 0:  # a range of the smallest number of all has no parts
        return [low]
    rough = max(span / most, 1.0) if is_whole else span / most
    power = 10.0 ** math.floor(math.log10(rough))
    factors = (1, 2, 5, 10) if is_whole and power == 1 else (1, 2, 2.5, 5, 10)
    step = next(factor * power for factor in factors if factor * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{number * step:.10g}") for number in range(first, last + 1)]


def padded(values: list[float], *, around: float = 0.06) -> tuple[float, float]:
    """Give a range that holds all values with some air."""
    low, high = min(values), max(values)
    air = (high - low) * around or abs(high) * around or 1.0
    return low - air, high + air


def svg(body: list[str], *, width: int, height: int, title: str, description: str, is_fixed: bool = False) -> str:
    """Wrap shapes into an accessible picture that scales with the page, or keeps its size and is scrolled."""
    head = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}" '
        f'style="{"width" if is_fixed else "max-width"}:{width}px">{head}{"".join(body)}</svg>'
    )


def at_both_widths(draw: Callable[..., str], *, wide: int) -> Markup:
    """Draw a picture for a screen, and again for a phone, where nobody could read the letters of a scaled one."""
    if not (picture := draw(width=wide)):
        return Markup()
    both = f'<div class="wide">{picture}</div><div class="narrow">{draw(width=NARROW)}</div>'
    return Markup(both)  # noqa: S704  # every text in it was escaped


def text(x: float, y: float, content: str, *, kind: str = "", anchor: str = "start", full: str = "") -> str:
    """Write escaped text; `full` appears when the pointer rests on it."""
    hint = f"<title>{escape(full)}</title>" if full and full != content else ""
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{hint}{escape(content)}</text>'


def axes(frame: PlotArea, *, x_label: str, y_label: str = "", counts: bool = False) -> list[str]:
    """Draw grid lines, tick values and the names of the axes; `counts` has whole numbers only from left to right."""
    x, y = frame.x, frame.y
    shapes = []
    for value in ticks(y.low, y.high):
        at = y.at(value)
        shapes.append(f'<line x1="{x.start}" x2="{x.end}" y1="{at}" y2="{at}" class="grid"/>')
        shapes.append(text(x.start - 8, at + 4, tick(value), kind="tick", anchor="end"))
    for value in _ticks_that_fit(x, is_whole=counts):
        shapes += [text(x.at(value), y.start + 18, tick(value), kind="tick", anchor="middle")]
    shapes.append(f'<line x1="{x.start}" x2="{x.end}" y1="{y.start}" y2="{y.start}" class="axis"/>')
    shapes.append(text(x.end, frame.height - 4, x_label, kind="name", anchor="end"))
    return [*shapes, text(x.start - 8, 12, y_label, kind="name")] if y_label else shapes


def _ticks_that_fit(x: Scale, *, is_whole: bool) -> list[float]:
    """Choose as many round values from left to right as have room for their figures."""
    found = [x.low]
    for most in (6, 4, 3, 2):
        found = ticks(x.low, x.high, most=most, is_whole=is_whole)
        widest = max((len(tick(value)) for value in found), default=0) * _DIGIT + _GAP
        if widest * len(found) <= x.end - x.start + widest:  # the outer ones reach beyond both ends
            return found
    return found


@dataclass(frozen=True)
class Line:
    """A series of points; `kind` names its look: `dots` stand alone."""

    points: Sequence[CurvePoint]
    kind: str


@dataclass(frozen=True)
class Curve:
    """Points of the unit square; `kind` names its look."""

    name: str
    points: Sequence[tuple[float, float]]
    kind: str


@dataclass(frozen=True)
class Bar:
    """A named score, drawn with its interval."""

    name: str
    score: Score
    is_model: bool = False


def line_chart(
    lines: Sequence[Line],
    *,
    title: str,
    mark: CurvePoint | None = None,
    over: str = "step",
    width: int = 460,
    height: int = 230,
) -> str:
    """Draw lines over steps, or other numbers, and a ring around one marked point."""
    drawn = [Line([point for point in line.points if math.isfinite(point.value)], line.kind) for line in lines]
    every = [point for line in drawn for point in line.points]
    if not every:
        return ""
    low, high = padded([point.value for point in every])
    steps = [point.step for point in every]
    left = min(steps) if min(steps) > 1 and len(set(steps)) > 1 else 0
    x = Scale(left, max(*steps, left + 1), 52, width - 14)
    is_positive = all(point.value >= 0 for point in every)
    frame = PlotArea(x, Scale(max(low, 0.0) if is_positive else low, high, height - 38, 10), width, height)
    shapes = axes(frame, x_label=over, counts=True)
    for line in drawn:
        shapes += _line(line, frame)
    if mark is not None and math.isfinite(mark.value):
        shapes += _mark(mark, frame)
    first, last = every[0], every[-1]
    description = f"from {figure(first.value)} at {over} {first.step} to {figure(last.value)} at {over} {last.step}"
    return svg(shapes, width=width, height=height, title=title, description=description)


def bar_chart(bars: Sequence[Bar], *, title: str, width: int = 940) -> str:
    """Draw horizontal bars from zero, each with its figure and a whisker over its interval."""
    bars = [bar for bar in bars if math.isfinite(bar.score.value)]
    if not bars:
        return ""
    is_narrow = width == NARROW
    each = 50 if is_narrow else 34  # on a phone a name stands above its bar
    height = each * len(bars) + 30
    ends = [end for bar in bars for end in (bar.score.value, bar.score.low, bar.score.high) if end is not None]
    x = Scale(min(0.0, *ends), max(0.0, *ends) or 1.0, 4 if is_narrow else 210, width - (70 if is_narrow else 90))
    shapes = []
    for value in _ticks_that_fit(x, is_whole=False) if is_narrow else ticks(x.low, x.high):
        at = x.at(value)
        shapes.append(f'<line x1="{at}" x2="{at}" y1="4" y2="{height - 24}" class="grid"/>')
        shapes.append(text(at, height - 8, tick(value), kind="tick", anchor="middle"))
    for number, bar in enumerate(bars):
        shapes += _bar(bar, x, top=8 + each * number, is_below=is_narrow)
    description = "; ".join(f"{bar.name} {_with_interval(bar.score)}" for bar in bars)
    return svg(shapes, width=width, height=height, title=title, description=description)


def heat_map(matrix: Matrix, *, title: str) -> str:
    """Draw a table of counts, shaded by the share of each true label."""
    size = len(matrix.labels)
    cell = 64 if size <= 4 else 44 if size <= 10 else 30
    left, top = 132, 46 if size <= 4 else 112
    is_slanted = size > 4
    width, height = left + cell * size + (64 if is_slanted else 24), top + cell * size + 10
    shapes = [text(left, 14, "predicted →", kind="name"), text(left - 10, top - 8, "true ↓", kind="name", anchor="end")]
    for number, label in enumerate(matrix.labels):
        middle = cell * number + cell / 2
        shapes.append(_column_name(label, left + middle, top - 8, is_slanted=is_slanted))
        name = shortened(label, limit=18)
        shapes.append(text(left - 10, top + middle + 4, name, kind="tick", anchor="end", full=label))
    for down, counts in enumerate(matrix.counts):
        total = sum(counts) or 1
        for across, number in enumerate(counts):
            corner = left + cell * across, top + cell * down
            shapes += _cell(number, corner, share=number / total, cell=cell, is_right=down == across)
    hits = sum(matrix.counts[at][at] for at in range(size))
    description = f"{hits} of {sum(map(sum, matrix.counts))} rows are on the diagonal"
    return svg(shapes, width=width, height=height, title=title, description=description, is_fixed=True)


def reliability_chart(points: Sequence[Reliability], *, title: str, size: int = 300) -> str:
    """Draw accuracy over confidence beside the diagonal; a larger dot stands for more rows."""
    low = min(0.5, *(min(point.confidence, point.accuracy) for point in points)) if points else 0.0
    low = math.floor(low * 10) / 10
    frame = PlotArea(Scale(low, 1.0, 44, size - 14), Scale(low, 1.0, size - 38, 24), size, size)
    shapes = axes(frame, x_label="confidence", y_label="accuracy")
    corner = frame.x.at(low), frame.y.at(low), frame.x.at(1.0), frame.y.at(1.0)
    shapes.append('<line x1="{}" y1="{}" x2="{}" y2="{}" class="ideal"/>'.format(*corner))
    most = max((point.count for point in points), default=1)
    places = [(frame.x.at(point.confidence), frame.y.at(point.accuracy), point) for point in points]
    shapes.append(f'<polyline points="{" ".join(f"{x},{y}" for x, y, _ in places)}" class="line model"/>')
    for x, y, point in places:
        radius = round(2.5 + 5 * math.sqrt(point.count / most), 1)
        hint = f"<title>{point.count:,.10g} rows: confidence {point.confidence:.2f}, right {point.accuracy:.2f}</title>"
        shapes.append(f'<circle cx="{x}" cy="{y}" r="{radius}" class="dot">{hint}</circle>')
    gap = max((abs(point.confidence - point.accuracy) for point in points), default=0.0)
    return svg(shapes, width=size, height=size, title=title, description=f"the widest gap is {gap:.2f}")


def curve_chart(curves: Sequence[Curve], *, title: str, labels: tuple[str, str], size: int = 300) -> str:
    """Draw curves inside the unit square, each with its name when the pointer rests on it."""
    frame = PlotArea(Scale(0.0, 1.0, 44, size - 14), Scale(0.0, 1.0, size - 38, 24), size, size)
    shapes = axes(frame, x_label=labels[0], y_label=labels[1])
    for curve in curves:
        places = " ".join(f"{frame.x.at(x)},{frame.y.at(y)}" for x, y in curve.points)
        hint = f"<title>{escape(curve.name)}</title>"
        shapes.append(f'<polyline points="{places}" class="line {curve.kind}">{hint}</polyline>')
    description = "; ".join(curve.name for curve in curves if curve.name)
    return svg(shapes, width=size, height=size, title=title, description=description)


def residual_chart(residuals: Residuals, *, title: str, width: int = 940, height: int = 320) -> str:
    """Draw a dot a row, the dashed line of no error, and the mean in groups of as many rows."""
    predicted, missed = np.asarray(residuals.predicted), np.asarray(residuals.missed)
    low, high = padded(missed.tolist())
    left, right = padded(predicted.tolist())
    frame = PlotArea(Scale(left, right, 62, width - 14), Scale(low, high, height - 38, 10), width, height)
    shapes = axes(frame, x_label="predicted")
    shapes += [
        f'<circle cx="{frame.x.at(x)}" cy="{frame.y.at(y)}" r="1.8" class="dot" fill-opacity="0.35"/>'
        for x, y in zip(predicted.tolist(), missed.tolist(), strict=True)
    ]
    if low <= 0 <= high:
        at = frame.y.at(0.0)
        shapes.append(f'<line x1="{frame.x.start}" x2="{frame.x.end}" y1="{at}" y2="{at}" class="ideal"/>')
    order = np.array_split(np.argsort(predicted, kind="stable"), min(_GROUPS, len(predicted)))
    means = [(float(predicted[group].mean()), float(missed[group].mean())) for group in order]
    places = " ".join(f"{frame.x.at(x)},{frame.y.at(y)}" for x, y in means)
    shapes.append(f'<polyline points="{places}" class="line model"/>')
    description = (
        f"on average {figure(float(missed.mean()))}, half of them within {figure(float(np.median(np.abs(missed))))}"
    )
    return svg(shapes, width=width, height=height, title=title, description=description)


def _line(line: Line, frame: PlotArea) -> list[str]:
    places = [(frame.x.at(point.step), frame.y.at(point.value)) for point in line.points]
    if line.kind == "dots" or len(places) == 1:
        return [f'<circle cx="{x}" cy="{y}" r="3" class="dot"/>' for x, y in places]
    joined = " ".join(f"{x},{y}" for x, y in places)
    return [f'<polyline points="{joined}" class="line {line.kind}"/>'] if places else []


def _mark(mark: CurvePoint, frame: PlotArea) -> list[str]:
    x, y = frame.x.at(mark.step), frame.y.at(mark.value)
    is_left = x < (frame.x.start + frame.x.end) / 2
    at, anchor = (x + 9, "start") if is_left else (x - 9, "end")
    is_low = y > frame.y.start - 24  # below it, the label would lie on the axis
    label = text(at, y - 12 if is_low else y + 20, figure(mark.value), kind="best", anchor=anchor)
    return [f'<circle cx="{x}" cy="{y}" r="4.5" class="ring"/>', label]


def _bar(bar: Bar, x: Scale, *, top: float, is_below: bool) -> list[str]:
    """Draw a bar with its name to its left, or above it."""
    if is_below:
        name = text(x.start, top + 9, shortened(bar.name, limit=44), kind="label", full=bar.name)
        top += 16
    else:
        name = text(x.start - 12, top + 15, shortened(bar.name, limit=30), kind="label", anchor="end", full=bar.name)
    start, end = sorted((x.at(0.0), x.at(bar.score.value)))
    middle = top + 11
    reach = bar.score.value if bar.score.high is None else bar.score.high
    look = "bar model" if bar.is_model else "bar"
    shapes = [
        name,
        f'<rect x="{start}" y="{top}" width="{max(1.0, round(end - start, 1))}" height="22" rx="2" class="{look}"/>',
        text(max(x.at(reach), end) + 10, middle + 5, figure(bar.score.value), kind="value"),
    ]
    if bar.score.low is None or bar.score.high is None:
        return shapes
    low, high = x.at(bar.score.low), x.at(bar.score.high)
    path = f"M{low} {middle}H{high}M{low} {middle - 5}v10M{high} {middle - 5}v10"
    return [*shapes, f'<path d="{path}" class="whisker"/>']


def _cell(number: int, corner: tuple[float, float], *, share: float, cell: int, is_right: bool) -> list[str]:
    x, y = corner
    look = "hit" if is_right else "miss"
    rect = (
        f'<rect x="{x + 1}" y="{y + 1}" width="{cell - 2}" height="{cell - 2}" rx="2" class="{look}" '
        f'fill-opacity="{0.05 + 0.8 * share:.2f}"/>'
    )
    kind = "count strong" if share > 0.55 else "count"
    return [rect, text(x + cell / 2, y + cell / 2 + 4, f"{number:,}", kind=kind, anchor="middle")]


def _column_name(label: str, x: float, y: float, *, is_slanted: bool) -> str:
    name = shortened(label, limit=16 if is_slanted else 9)
    if not is_slanted:
        return text(x, y, name, kind="tick", anchor="middle", full=label)
    return f'<g transform="rotate(-50 {x} {y})">{text(x, y, name, kind="tick", full=label)}</g>'


def _with_interval(score: Score) -> str:
    if score.low is None or score.high is None:
        return figure(score.value)
    return f"{figure(score.value)} ({figure(score.low)} to {figure(score.high)})"
