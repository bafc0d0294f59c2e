"""Puts runs side by side: what was asked, what they scored, and whether the difference is shown by the data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from burnish.config import diff, load
from burnish.errors import BurnishError, CheckpointError
from burnish.registry import Registry, default_registry
from burnish.run.directory import RunDirectory, find_run, read_json
from burnish.run.predictions import predictions_file, read_outcome
from burnish.run.result import ScoreSheet, sheet_from_json
from burnish.spec.parts import ALONE, named, written_profiles
from burnish.spec.protocols import Metric
from burnish.spec.values import Score

_SPLITS = ("test", "validation")


@dataclass(frozen=True)
class Difference:
    """An option that is not the same in all runs; one value a run."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class ScoreLine:
    """One score on one split; one value a run, None where it was not scored."""

    split: str
    name: str
    scores: tuple[Score | None, ...]


@dataclass(frozen=True)
class Verdict:
    """What a paired test says of two runs on the same rows."""

    names: tuple[str, str]
    split: str
    sentence: str
    p_value: float | None
    """None when the two could not be tested; the sentence says why."""
    task: str = ALONE
    """Of which of several tasks."""


@dataclass(frozen=True)
class Comparison:
    """Several runs side by side."""

    names: tuple[str, ...]
    differences: tuple[Difference, ...]
    scores: tuple[ScoreLine, ...]
    verdicts: tuple[Verdict, ...]


def compare(runs: Sequence[Path | str]) -> Comparison:
    """Compare runs: options that differ, scores with intervals, and a paired test where predictions allow it."""
    directories = [find_run(run) for run in runs]
    if len({each.path.resolve() for each in directories}) < len(directories) or len(directories) < 2:
        raise CheckpointError("a comparison needs two runs or more, each named once")
    sheets = [sheet_from_json(read_json(each.scores)) for each in directories]
    names = _names(directories)
    return Comparison(
        names=names,
        differences=tuple(_differences(directories)),
        scores=tuple(_score_lines(sheets)),
        verdicts=tuple(_verdicts(dict(zip(names, directories, strict=True)), sheets)),
    )


def _names(directories: Sequence[RunDirectory]) -> tuple[str, ...]:
    short = tuple(each.name for each in directories)
    return short if len(set(short)) == len(short) else tuple(each.path.as_posix() for each in directories)


def _differences(directories: Sequence[RunDirectory]) -> Iterator[Difference]:
    first, *others = (load(str(each.plan)).experiment for each in directories)
    changes = [{change.path: change for change in diff(first, other)} for other in others]
    for key in dict.fromkeys(key for change in changes for key in change):
        left = next(change[key].left for change in changes if key in change)
        rights = (change[key].right if key in change else left for change in changes)
        yield Difference(key, (str(left), *map(str, rights)))


def _score_lines(sheets: Sequence[ScoreSheet | None]) -> Iterator[ScoreLine]:
    for split in _SPLITS:
        parts: list[Mapping[str, Score]] = [sheet.scores.get(split, {}) if sheet else {} for sheet in sheets]
        for name in dict.fromkeys(name for part in parts for name in part):
            yield ScoreLine(split, name, tuple(part.get(name) for part in parts))


def _verdicts(runs: Mapping[str, RunDirectory], sheets: Sequence[ScoreSheet | None]) -> Iterator[Verdict]:
    for names in combinations(runs, 2):
        pair = [runs[name] for name in names]
        for task in _common_tasks(pair):
            split = next((split for split in _SPLITS if all(_has_predictions(run, split, task) for run in pair)), None)
            if split is not None:
                yield _verdict(names, pair, split=split, task=task, score=_main_score(sheets, split, task))


def _common_tasks(pair: Sequence[RunDirectory]) -> list[str]:
    """Name the tasks that both runs learned; two runs of one task each have that in common."""
    first, second = (written_profiles(read_json(run.profile)) for run in pair)
    return [task for task in first if task in second]


def _has_predictions(run: RunDirectory, split: str, task: str) -> bool:
    return predictions_file(run, split, task=task).is_file()


def _main_score(sheets: Sequence[ScoreSheet | None], split: str, task: str) -> str | None:
    """Name the score that selects; of one of several tasks, where they select together, its first."""
    told = [sheet for sheet in sheets if sheet]
    headline = told[0].headline if told else None
    if not task:
        return headline
    listed = [headline or "", *(score for sheet in told for score in sheet.scores.get(split, {}))]
    return next((score.removeprefix(f"{task}/") for score in listed if score.startswith(f"{task}/")), None)


def _verdict(
    names: tuple[str, str], pair: Sequence[RunDirectory], *, split: str, task: str, score: str | None
) -> Verdict:
    from burnish.metrics.compare import compare as paired

    try:
        first, second = (read_outcome(run, split, task=task) for run in pair)
        metric, shown = _metric(score, kind=first.kind, registry=default_registry())
        tested = paired(first, second, metric=metric, score=shown, names=names)
    except BurnishError as error:
        return Verdict(names, split, f"{task}: {error}" if task else str(error), p_value=None, task=task)
    sentence = f"{named(task, shown)} on {split}: {tested.sentence()} ({tested.test})"
    return Verdict(names, split, sentence, tested.p_value, task)


def _metric(headline: str | None, *, kind: str, registry: Registry) -> tuple[Metric, str]:
    """Find the metric that gives the headline score, or the plainest one for this kind of outcome."""
    fallback = "mse" if kind == "regression" else "accuracy"
    for listing in registry.names("metrics"):
        metric = registry.load("metrics", listing.name)()
        if headline in metric.names() and metric.applies(kind):  # type: ignore[attr-defined]  # load() checked the kind
            return metric, str(headline)  # type: ignore[return-value]  # as above
    return registry.load("metrics", fallback)(), fallback  # type: ignore[return-value]  # as above
