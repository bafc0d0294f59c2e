"""Renders a report as one HTML file that needs nothing else: no script, no font, no picture from elsewhere."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import resources

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from burnish.report import svg
from burnish.report.collect import collect
from burnish.report.data import CurvePoint, EvaluationCurve, Headline, RankingCurve, ReportData
from burnish.report.figures import duration, figure, readable, share, shortened
from burnish.run.record.directory import RunDirectory, write_text
from burnish.spec.values import Score

_MOST_CURVES = 6
_MOST_BARS = 20
_PAGE_WIDTH, _HALF_WIDTH = 940, 460
_LOSSES = ("loss", "log_loss")
"""Scores of held-out rows that are in the unit of the training loss, so that both share an axis."""


@dataclass(frozen=True)
class _Chart:
    name: str
    picture: Markup


def write_page(directory: RunDirectory) -> None:
    """Write report.html from the files of the run."""
    write_text(directory.report, render(collect(directory)))


def render(data: ReportData) -> str:
    """Give the whole page; a part whose data is absent is left out."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(duration=duration, figure=figure, readable=readable, share=share, shortened=shortened)
    source = resources.files("burnish.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    names = dict.fromkeys(name for scores in data.splits.values() for name in scores)
    first = [data.headline.score] if data.headline and data.headline.score in names else []
    return environment.from_string(source).render(
        data=data,
        style=read_style(),
        verdict=_verdict(data),
        comparison=_comparison(data),
        curves=list(_curves(data)),
        confusion=_confusion(data),
        rankings=list(_rankings(data)),
        calibration=_calibration(data),
        residuals=_residuals(data),
        tasks=[
            {
                "data": each,
                "confusion": _confusion(each),
                "rankings": list(_rankings(each)),
                "calibration": _calibration(each),
                "residuals": _residuals(each),
                "label_names": _label_names(each),
            }
            for each in data.tasks
        ],
        importance=_importance(data),
        slice_scores=list(dict.fromkeys(name for each in data.slices for name in each.scores)),
        score_names=[*first, *(name for name in names if name not in first)],
        label_names=_label_names(data),
        chosen=[setting for setting in data.settings if setting.is_chosen],
        defaults=[setting for setting in data.settings if not setting.is_chosen],
    )


def read_style() -> Markup:
    """The look that the report shares with every other page, light and dark."""
    return Markup(resources.files("burnish.report").joinpath("style.css").read_text(encoding="utf-8"))  # noqa: S704  # ours


def _label_names(data: ReportData) -> list[str]:
    return list(dict.fromkeys(label for split in data.label_counts for label in split.counts))


def _verdict(data: ReportData) -> str:
    """Say in one sentence how far the model is from the best baseline."""
    headline = data.headline
    if headline is None:
        return ""
    rivals = [each for each in _rivals(data, headline) if not math.isnan(each[1].value)]
    if not rivals or math.isnan(headline.figure.value):
        return ""
    sign = -1 if headline.is_lower_better else 1
    name, rival = max(rivals, key=lambda each: sign * each[1].value)
    gap = sign * (headline.figure.value - rival.value)
    if gap == 0:
        return f"level with {readable(name)}"
    return f"{figure(abs(gap))} {'better' if gap > 0 else 'worse'} than {readable(name)} ({figure(rival.value)})"


def _rivals(data: ReportData, headline: Headline) -> list[tuple[str, Score]]:
    known = [(name, scores[headline.score]) for name, scores in data.baselines.items() if headline.score in scores]
    return [(name, score) for name, score in known if math.isfinite(score.value)]


def _comparison(data: ReportData) -> Markup | None:
    headline = data.headline
    if headline is None or not _rivals(data, headline):
        return None
    rivals = [svg.Bar(readable(name), score) for name, score in reversed(_rivals(data, headline))]
    bars = [svg.Bar("This model", headline.figure, is_model=True), *rivals]
    title = f"{readable(headline.score)} on {headline.split}"
    return svg.at_both_widths(partial(svg.bar_chart, bars, title=title), wide=_PAGE_WIDTH)


def _curves(data: ReportData) -> Iterator[_Chart]:
    training = data.training
    if training is not None and training.loss:
        lines = [svg.Line(training.loss, "faint"), svg.Line(training.smoothed, "model")]
        held_out = next((each for each in data.evaluations if each.score in _LOSSES), None)
        if held_out is None:
            yield _chart("Training loss", lines)
        else:
            name = f"Training loss (solid) and {held_out.split} {held_out.score.replace('_', ' ')} (dashed)"
            yield _chart(name, [*lines, svg.Line(held_out.points, "held-out")])
    if training is not None and training.learning_rate:
        yield _chart("Learning rate", [svg.Line(training.learning_rate, "plain")])
    for curve in data.evaluations[:_MOST_CURVES]:
        name = f"{readable(curve.score)} on {curve.split}"
        yield _chart(name, [svg.Line(curve.points, "model")], mark=_best(curve))


def _chart(name: str, lines: list[svg.Line], *, mark: CurvePoint | None = None) -> _Chart:
    return _Chart(name, svg.at_both_widths(partial(svg.line_chart, lines, title=name, mark=mark), wide=_HALF_WIDTH))


def _best(curve: EvaluationCurve) -> CurvePoint | None:
    return next((point for point in curve.points if point.step == curve.best_step), None)


def _confusion(data: ReportData) -> Markup | None:
    if data.confusion is None:
        return None
    return Markup(svg.heat_map(data.confusion, title=f"Confusion on {data.confusion.split}"))  # noqa: S704  # svg escapes


def _rankings(data: ReportData) -> Iterator[_Chart]:
    """Draw the ROC and the precision-recall curves beside what guessing would give."""
    if not data.curves:
        return
    chance = svg.Curve("guessing", ((0.0, 0.0), (1.0, 1.0)), "ideal")
    roc = [svg.Curve(f"{each.label}: area {figure(each.roc_auc)}", each.roc, "model") for each in data.curves]
    yield _unit_square(f"ROC: {_areas(data.curves)}", [chance, *roc], ("false positive rate", "true positive rate"))
    guessing = [svg.Curve("guessing", ((0.0, each.base_rate), (1.0, each.base_rate)), "ideal") for each in data.curves]
    ranked = [
        svg.Curve(f"{each.label}: average precision {figure(each.average_precision)}", each.precision_recall, "model")
        for each in data.curves
    ]
    yield _unit_square("Precision over recall", [*guessing[:1], *ranked], ("recall", "precision"))
    if len(data.curves) == 1 and (points := data.curves[0].by_threshold):
        shares = {"precision": "model", "recall": "held-out"}
        lines = [
            svg.Curve(name, tuple((point[0], point[at]) for point in points), kind)
            for at, (name, kind) in enumerate(shares.items(), 1)
        ]
        yield _unit_square("Precision (solid) and recall (dashed) by threshold", lines, ("threshold", "share"))


def _areas(curves: tuple[RankingCurve, ...]) -> str:
    if len(curves) == 1:
        return f"area {figure(curves[0].roc_auc)}"
    return "area of " + ", ".join(f"{each.label} {figure(each.roc_auc)}" for each in curves)


def _unit_square(name: str, curves: list[svg.Curve], labels: tuple[str, str]) -> _Chart:
    return _Chart(name, Markup(svg.curve_chart(curves, title=name, labels=labels)))  # noqa: S704  # svg escapes


def _calibration(data: ReportData) -> Markup | None:
    if data.calibration is None or not data.calibration.points:
        return None
    title = f"Calibration on {data.calibration.split}"
    return Markup(svg.reliability_chart(data.calibration.points, title=title))  # noqa: S704  # as above


def _residuals(data: ReportData) -> Markup | None:
    if data.residuals is None:
        return None
    title = f"Residuals on {data.residuals.split}"
    return svg.at_both_widths(partial(svg.residual_chart, data.residuals, title=title), wide=_PAGE_WIDTH)


def _importance(data: ReportData) -> Markup | None:
    known = [(each.importance, each.name) for each in data.columns if each.importance is not None]
    ranked = sorted(known, key=lambda each: -each[0].value)[:_MOST_BARS]
    bars = [svg.Bar(name, importance, is_model=True) for importance, name in ranked]
    if not bars:
        return None
    return svg.at_both_widths(partial(svg.bar_chart, bars, title="Permutation importance"), wide=_PAGE_WIDTH)
