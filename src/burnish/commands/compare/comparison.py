"""Puts runs side by side: what was asked, what they scored, and whether the difference is shown by the data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.commands.compare.recipes import average_seeds, find_recipes
from burnish.commands.compare.verdicts import Verdict, judge
from burnish.config import diff, load
from burnish.errors import CheckpointError
from burnish.run.record.directory import RunDirectory, find_run
from burnish.run.record.result import ScoreSheet, read_sheet
from burnish.spec.values import Score

_SPLITS = ("test", "validation")


@dataclass(frozen=True)
class ScoreDifference:
    """An option that is not the same in all runs; one value a run."""

    key: str
    values: tuple[str | None, ...]
    """None where the run has no such option."""


@dataclass(frozen=True)
class ScoreLine:
    """One score on one split; one value a run, None where it was not scored."""

    split: str
    name: str
    scores: tuple[Score | None, ...]


@dataclass(frozen=True)
class RunComparison:
    """Several runs side by side; those that differ in their seed alone are one, of which the mean is told."""

    names: tuple[str, ...]
    seeds: tuple[int, ...]
    """How many runs stand behind each name; of more than one, a score goes from the least to the most."""
    differences: tuple[ScoreDifference, ...]
    scores: tuple[ScoreLine, ...]
    verdicts: tuple[Verdict, ...]


def compare(runs: Sequence[Path | str], *, split: str | None = None, trust_code: bool = False) -> RunComparison:
    """Compare runs: options that differ, scores with intervals, and a paired test where predictions allow it.

    Scores are those of test and validation and the test is of the first that all have, or both of the split named.
    Code that their plans name must be trusted.
    """
    splits = _SPLITS if split is None else (split,)
    directories = [find_run(run) for run in runs]
    if len({each.path.resolve() for each in directories}) < len(directories) or len(directories) < 2:
        raise CheckpointError("a comparison needs two runs or more, each named once")
    found = find_recipes(dict(zip(_name_runs(directories), directories, strict=True)), trust_code=trust_code)
    sheets = [[read_sheet(run) for run in each.runs] for each in found]
    known = dict.fromkeys(name for each in sheets for sheet in each if sheet for name in sheet.scores)
    if split is not None and split not in known:
        raise CheckpointError(
            f"none of these runs was scored on {split}; they have {', '.join(known) or 'no scores yet'}"
        )
    return RunComparison(
        names=tuple(each.name for each in found),
        seeds=tuple(len(each.runs) for each in found),
        differences=tuple(_list_differences([each.runs[0] for each in found], trust_code=trust_code)),
        scores=tuple(_list_scores(sheets, splits)),
        verdicts=tuple(judge(found, [sheet for each in sheets for sheet in each], splits, trust_code=trust_code)),
    )


def _name_runs(directories: Sequence[RunDirectory]) -> tuple[str, ...]:
    short = tuple(each.name for each in directories)
    return short if len(set(short)) == len(short) else tuple(each.path.as_posix() for each in directories)


def _list_differences(directories: Sequence[RunDirectory], *, trust_code: bool) -> Iterator[ScoreDifference]:
    first, *others = (load(str(each.plan), trust_code=trust_code).experiment for each in directories)
    changes = [{change.path: change for change in diff(first, other)} for other in others]
    for key in dict.fromkeys(key for change in changes for key in change):
        left = next(change[key].left for change in changes if key in change)
        rights = (change[key].right if key in change else left for change in changes)
        yield ScoreDifference(key, (left, *rights))


def _list_scores(sheets: Sequence[Sequence[ScoreSheet | None]], splits: Sequence[str]) -> Iterator[ScoreLine]:
    for split in splits:
        parts = [[sheet.scores.get(split, {}) if sheet else {} for sheet in each] for each in sheets]
        for name in dict.fromkeys(name for each in parts for part in each for name in part):
            yield ScoreLine(split, name, tuple(average_seeds([part.get(name) for part in each]) for each in parts))
