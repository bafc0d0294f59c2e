"""Puts runs side by side: what was asked, what they scored, and whether the difference is shown by the data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from burnish.commands.recipes import Recipe, mean_of_seeds, recipes
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
    """Several runs side by side; those that differ in their seed alone are one, of which the mean is told."""

    names: tuple[str, ...]
    seeds: tuple[int, ...]
    """How many runs stand behind each name; of more than one, a score goes from the least to the most."""
    differences: tuple[Difference, ...]
    scores: tuple[ScoreLine, ...]
    verdicts: tuple[Verdict, ...]


def compare(runs: Sequence[Path | str], *, split: str | None = None) -> Comparison:
    """Compare runs: options that differ, scores with intervals, and a paired test where predictions allow it.

    Scores are those of test and validation and the test is of the first that all have, or both of the split named.
    """
    splits = _SPLITS if split is None else (split,)
    directories = [find_run(run) for run in runs]
    if len({each.path.resolve() for each in directories}) < len(directories) or len(directories) < 2:
        raise CheckpointError("a comparison needs two runs or more, each named once")
    found = recipes(dict(zip(_names(directories), directories, strict=True)))
    sheets = [[sheet_from_json(read_json(run.scores)) for run in each.runs] for each in found]
    known = dict.fromkeys(name for each in sheets for sheet in each if sheet for name in sheet.scores)
    if split is not None and split not in known:
        raise CheckpointError(
            f"none of these runs was scored on {split}; they have {', '.join(known) or 'no scores yet'}"
        )
    return Comparison(
        names=tuple(each.name for each in found),
        seeds=tuple(len(each.runs) for each in found),
        differences=tuple(_differences([each.runs[0] for each in found])),
        scores=tuple(_score_lines(sheets, splits)),
        verdicts=tuple(_verdicts(found, [sheet for each in sheets for sheet in each], splits)),
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


def _score_lines(sheets: Sequence[Sequence[ScoreSheet | None]], splits: Sequence[str]) -> Iterator[ScoreLine]:
    for split in splits:
        parts = [[sheet.scores.get(split, {}) if sheet else {} for sheet in each] for each in sheets]
        for name in dict.fromkeys(name for each in parts for part in each for name in part):
            yield ScoreLine(split, name, tuple(mean_of_seeds([part.get(name) for part in each]) for each in parts))


def _verdicts(found: Sequence[Recipe], sheets: Sequence[ScoreSheet | None], splits: Sequence[str]) -> Iterator[Verdict]:
    for pair in combinations(found, 2):
        runs = [run for each in pair for run in each.runs]
        for task in _common_tasks(runs):
            split = next((split for split in splits if all(_has_predictions(run, split, task) for run in runs)), None)
            if split is not None:
                yield _verdict(pair, split=split, task=task, score=_main_score(sheets, split, task))


def _common_tasks(runs: Sequence[RunDirectory]) -> list[str]:
    """Name the tasks that all runs learned; runs of one task each have that in common."""
    first, *others = (written_profiles(read_json(run.profile)) for run in runs)
    return [task for task in first if all(task in other for other in others)]


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


def _verdict(pair: tuple[Recipe, Recipe], *, split: str, task: str, score: str | None) -> Verdict:
    from burnish.metrics.compare import compare as paired
    from burnish.metrics.compare_seeds import compare_seeds

    names = (pair[0].name, pair[1].name)
    try:
        first, second = ([read_outcome(run, split, task=task) for run in each.runs] for each in pair)
        metric, shown = _metric(score, kind=first[0].kind, registry=default_registry())
        if len(first) == len(second) == 1:
            tested = paired(first[0], second[0], metric=metric, score=shown, names=names)
        else:
            tested = compare_seeds(first, second, metric=metric, score=shown, names=names)
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
