"""The page of a study: its leaders with intervals, how much the best flatters, history, importance and rungs."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from burnish.report import svg
from burnish.report.data import CurvePoint
from burnish.report.figures import duration, figure, readable, shortened, show_option
from burnish.report.page import read_style
from burnish.run.record.directory import write_text
from burnish.spec.values import Score
from burnish.tuning.record import EndedLeg, StudyRecord

_MOST_ROWS = 50
_DRAWS = 2000
_FEWEST_FOR_IMPORTANCE = 6


@dataclass(frozen=True)
class StudyPicture:
    """A chart and the words above and below it."""

    name: str
    picture: Markup
    caption: str


def write_study_page(record: StudyRecord, *, name: str) -> None:
    """Write report.html of a study from its record."""
    write_text(record.directory / "report.html", render_study(record, name=name))


def render_study(record: StudyRecord, *, name: str) -> str:
    """Give the whole page; a part whose data is absent is left out."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(
        duration=duration, figure=figure, readable=readable, shortened=shortened, option=show_option
    )
    source = resources.files("burnish.tuning").joinpath("study.html.j2").read_text(encoding="utf-8")
    leaders, score = _rank(record), record.score_name or "score"
    return environment.from_string(source).render(
        name=name,
        score=score,
        style=read_style(),
        record=record,
        best=record.best,
        bias=explain_bias(record),
        rows=leaders[:_MOST_ROWS],
        options=list(dict.fromkeys(option for trial in record.trials.values() for option in trial.values)),
        num_failed=sum(end.state == "failed" for end in record.last.values()),
        pictures=list(_pictures(record, score)),
    )


def _rank(record: StudyRecord) -> list[EndedLeg]:
    ends = record.last.values()
    return sorted(ends, key=lambda end: (end.state != "finished", record.loss(end.score), end.trial))


def explain_bias(record: StudyRecord) -> str:
    """Say by how much the best of many flatters itself: by its score on rows that chose nothing, and by chance."""
    best = record.best
    if best is None or best.score is None:
        return ""
    sentences = []
    if best.test is not None:
        gap = record.loss(best.test) - record.loss(best.score)
        word = "worse" if gap > 0 else "better"
        sentences.append(
            f"On the test rows, which chose nothing, it scores {figure(best.test)}: {figure(abs(gap))} {word}."
        )
    expected = expect_luck(record)
    if expected is not None:
        sentences.append(
            f"The best of {_num_finished(record)} trials is biased: if all were equally good, by chance alone the best "
            f"would be better than their mean by about {figure(expected)}."
        )
    return " ".join(sentences)


def expect_luck(record: StudyRecord) -> float | None:
    """How far the best of as many equal trials lies above their mean by chance, from the intervals of their scores."""
    import numpy as np

    widths = [end.high - end.low for end in record.last.values() if end.low is not None and end.high is not None]
    count = _num_finished(record)
    if count < 2 or not widths:
        return None
    deviation = float(np.median(widths)) / 3.92  # a 95% interval is so many standard deviations wide
    draws = np.random.default_rng(0).normal(0.0, deviation, (_DRAWS, count))
    return float(draws.max(axis=1).mean())


def _num_finished(record: StudyRecord) -> int:
    return sum(end.state == "finished" for end in record.last.values())


def _pictures(record: StudyRecord, score: str) -> Iterator[StudyPicture]:
    ends = [end for end in record.last.values() if end.score is not None and end.state == "finished"]
    if len(ends) > 1:
        ordered = sorted(ends, key=lambda end: end.trial)
        points = [CurvePoint(end.trial, end.score or 0.0) for end in ordered]
        best = [CurvePoint(each.step, value) for each, value in zip(points, _running_best(record, points), strict=True)]
        lines = [svg.Line(points, "dots"), svg.Line(best, "model")]
        draw = partial(svg.line_chart, lines, title=f"{score} by trial", over="trial", height=260)
        yield _picture("History", draw, "The score of each trial that came to its end, and the best so far.")
    importance = measure_importance(record)
    if importance:
        bars = [svg.Bar(name, Score(value), is_model=True) for name, value in importance.items()]
        draw = partial(svg.bar_chart, bars, title="Importance of options")
        yield _picture("Importance", draw, "How much of the differences in score each option explains by itself.")
    rungs = count_rungs(record)
    if len(rungs) > 1:
        bars = [svg.Bar(f"evaluation {rung}", Score(float(count)), is_model=True) for rung, count in rungs.items()]
        yield _picture("Rungs", partial(svg.bar_chart, bars, title="Rungs"), "How many trials were trained so far.")


def _picture(name: str, draw: Callable[..., str], caption: str) -> StudyPicture:
    return StudyPicture(name, svg.at_both_widths(draw, wide=940), caption)


def _running_best(record: StudyRecord, points: Sequence[CurvePoint]) -> Iterator[float]:
    best = math.inf
    for point in points:
        best = min(best, record.loss(point.value))
        yield best if record.is_lower_better else -best


def measure_importance(record: StudyRecord) -> dict[str, float]:
    """Measure the share of the variance of scores that groups of each parameter explain, largest first."""
    import numpy as np

    ends = {
        n: e
        for n, e in record.last.items()
        if e.score is not None and math.isfinite(e.score) and record.trials[n].point
    }
    names = dict.fromkeys(name for number in ends for name in record.trials[number].point)
    if len(ends) < _FEWEST_FOR_IMPORTANCE:
        return {}
    scores = np.array([end.score for end in ends.values()])
    total = float(((scores - scores.mean()) ** 2).sum())
    if total == 0:
        return {}
    found = {}
    for name in names:
        places = [_group(record.trials[number].point.get(name), len(ends)) for number in ends]
        groups = [scores[[place == each for place in places]] for each in dict.fromkeys(places)]
        between = sum(len(group) * (group.mean() - scores.mean()) ** 2 for group in groups)
        found[name] = max(0.0, float(between / total) - (len(groups) - 1) / max(1, len(ends) - 1))
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def _group(place: float | None, count: int) -> float:
    """Put a place of a range into one of a few groups of neighbours; an option is a group of its own."""
    if place is None or place.is_integer():
        return -1.0 if place is None else place
    return 0.5 + int(place * max(2, min(4, count // 3))) / 1000


def count_rungs(record: StudyRecord) -> Mapping[int, int]:
    """How many trials were trained to each of the lengths at which any of them ended."""
    lengths = [len(end.curve) for end in record.last.values() if end.curve]
    return {rung: sum(each >= rung for each in lengths) for rung in sorted(set(lengths))}
