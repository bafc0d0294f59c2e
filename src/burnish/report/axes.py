"""The frame that every chart stands in: scales, ticks and escaped text."""

import math
from dataclasses import dataclass
from html import escape

from burnish.report.figures import tick


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
    if not math.isfinite(span) or span <= 0:
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


def svg(body: list[str], *, width: int, height: int, title: str, description: str) -> str:
    """Wrap shapes into an accessible picture that scales with the page."""
    head = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}" '
        f'style="max-width:{width}px">{head}{"".join(body)}</svg>'
    )


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
    for value in ticks(x.low, x.high, most=6, is_whole=counts):
        shapes += [text(x.at(value), y.start + 18, tick(value), kind="tick", anchor="middle")]
    shapes.append(f'<line x1="{x.start}" x2="{x.end}" y1="{y.start}" y2="{y.start}" class="axis"/>')
    shapes.append(text(x.end, frame.height - 4, x_label, kind="name", anchor="end"))
    return [*shapes, text(x.start - 8, 12, y_label, kind="name")] if y_label else shapes
