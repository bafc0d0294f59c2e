"""Puts runs side by side: what was asked, what they scored, and whether the difference is shown by the data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from burnish.config import diff, load
from burnish.errors import BurnishError, CheckpointError
from burnish.registry import Registry, default_registry
from burnish.run.directory import RunDirectory, find_run, read_json
from burnish.run.result import ScoreSheet, sheet_from_json
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
        verdicts=tuple(_verdicts(dict(zip(names, directories, strict=True)), headline=_headline(sheets))),
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


def _headline(sheets: Sequence[ScoreSheet | None]) -> str | None:
    return next((sheet.headline for sheet in sheets if sheet), None)


def _verdicts(runs: Mapping[str, RunDirectory], *, headline: str | None) -> Iterator[Verdict]:
    for names in combinations(runs, 2):
        pair = [runs[name] for name in names]
        split = next((split for split in _SPLITS if all(_has_predictions(run, split) for run in pair)), None)
        if split is not None:
            yield _verdict(names, pair, split=split, headline=headline)


def _has_predictions(run: RunDirectory, split: str) -> bool:
    return (run.predictions / f"{split}.parquet").is_file()


def _verdict(names: tuple[str, str], pair: Sequence[RunDirectory], *, split: str, headline: str | None) -> Verdict:
    from burnish.metrics.compare import compare as paired
    from burnish.run.predictions import read_outcome

    try:
        first, second = (read_outcome(run, split) for run in pair)
        metric, score = _metric(headline, kind=first.kind, registry=default_registry())
        tested = paired(first, second, metric=metric, score=score, names=names)
    except BurnishError as error:
        return Verdict(names, split, str(error), p_value=None)
    return Verdict(names, split, f"{score} on {split}: {tested.sentence()} ({tested.test})", tested.p_value)


def _metric(headline: str | None, *, kind: str, registry: Registry) -> tuple[Metric, str]:
    """Find the metric that gives the headline score, or the plainest one for this kind of outcome."""
    fallback = "mse" if kind == "regression" else "accuracy"
    for listing in registry.names("metrics"):
        metric = registry.load("metrics", listing.name)()
        if headline in metric.names() and metric.applies(kind):  # type: ignore[attr-defined]  # load() checked the kind
            return metric, str(headline)  # type: ignore[return-value]  # as above
    return registry.load("metrics", fallback)(), fallback  # type: ignore[return-value]  # as above
