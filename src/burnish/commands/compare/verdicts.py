"""Says of every two recipes, task by task, whether what they predicted shows one to be better."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from burnish.commands.compare.recipes import RunRecipe
from burnish.errors import BurnishError, DataError
from burnish.run.predicting.predictions import predictions_file, read_outcome, read_places, read_profile
from burnish.run.record.directory import RunDirectory, read_json
from burnish.run.record.plan import read_plan
from burnish.run.record.result import ScoreSheet
from burnish.run.selection import main_metric, metrics_of
from burnish.spec.parts import ALONE, MEAN, named, parts_of, written_profiles
from burnish.spec.protocols import Metric

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.metrics.compare import Told

Pair = tuple[RunRecipe, RunRecipe]


@dataclass(frozen=True)
class Verdict:
    """What a paired test says of two recipes on the same rows."""

    names: tuple[str, str]
    split: str
    sentence: str
    p_value: float | None
    """None when the two could not be tested; the sentence says why."""
    task: str = ALONE
    """Of which of several tasks; of all of them together, none."""
    better: str | None = None
    """The recipe that is shown to be better; None where no difference is shown."""


def verdicts(
    found: Sequence[RunRecipe], sheets: Sequence[ScoreSheet | None], splits: Sequence[str]
) -> Iterator[Verdict]:
    """Test every two recipes on the first of the splits that all their runs predicted: task by task, after the mean."""
    for pair in combinations(found, 2):
        runs = [run for each in pair for run in each.runs]
        profiles = [written_profiles(read_json(run.profile)) for run in runs]
        tasks = [task for task in profiles[0] if all(task in others for others in profiles)]
        known = {task: split for task in tasks if (split := _common_split(runs, splits, task)) is not None}
        told = {task: _told(pair, split=split, task=task, sheets=sheets) for task, split in known.items()}
        whole = [each for each in told.values() if not isinstance(each, Verdict)]
        selects = all(sheet is not None and sheet.headline == MEAN for sheet in sheets)
        if selects and all(len(each) == len(whole) > 1 for each in profiles) and len(set(known.values())) == 1:
            yield from _of_the_mean(pair, whole, split=known[tasks[0]])
        for task, each in told.items():
            yield each if isinstance(each, Verdict) else _verdict(pair, each, split=known[task], task=task)


def _common_split(runs: Sequence[RunDirectory], splits: Sequence[str], task: str) -> str | None:
    return next((split for split in splits if all(_has_predictions(run, split, task) for run in runs)), None)


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


def _told(pair: Pair, *, split: str, task: str, sheets: Sequence[ScoreSheet | None]) -> "Told | Verdict":
    """Read what all runs said, or tell why that cannot be compared."""
    from burnish.metrics.compare import Told

    try:
        _refuse_other_places(pair, split=split, task=task)
        first, second = ([read_outcome(run, split, task=task) for run in each.runs] for each in pair)
        score = _main_score(sheets, split, task)
        metric, shown = _metric(score, [run for each in pair for run in each.runs], task=task)
    except BurnishError as error:
        return _fault(pair, split=split, task=task, error=error)
    return Told(first, second, metric, shown)


def _refuse_other_places(pair: Pair, *, split: str, task: str) -> None:
    """Refuse rows of the same files that have the same numbers and are others, as where seeds decide what is held out.

    Rows of files with other names may be the same: the truth of each, which is compared too, has to tell.
    """
    runs = [run for each in pair for run in each.runs]
    known = [(run, places) for run in runs if (places := read_places(run, split, task=task)) is not None]
    for run, places in known[1:]:
        first, first_places = known[0]
        if _files(places) == _files(first_places) and not places.equals(first_places):
            raise DataError(
                f"{first.name} and {run.name} were not scored on the same rows of {split}; where it is a part of the "
                "training files, runtime.seed decides which: keep it in a separate file, or compare runs "
                "with the same seed"
            )


def _files(places: "pa.Table") -> set[str]:
    return set(places["file"].unique().to_pylist())


def _metric(score: str | None, runs: Sequence[RunDirectory], *, task: str) -> tuple[Metric, str]:
    """Give the metric by which the runs themselves computed a score, or the first that judges."""
    own = [(run, metric) for run in runs for metric in _own_metrics(run, task)]
    shown = score or main_metric([metric for _, metric in own]).names()[0]
    found = [(run, metric) for run, metric in own if shown in metric.names()]
    cannot = f"{' and '.join(run.name for run in runs)} cannot be compared by {shown}"
    if not found:
        known = dict.fromkeys(name for _, metric in own for name in metric.names())
        raise DataError(f"{cannot}: their plans have {', '.join(known)}")
    if any(metric != found[0][1] for _, metric in found):
        told = ", ".join(f"{metric!r} in {run.name}" for run, metric in found)
        raise DataError(f"{cannot}, which they computed differently: {told}")
    return found[0][1], shown


def _own_metrics(run: RunDirectory, task: str) -> Sequence[Metric]:
    return metrics_of(parts_of(read_plan(run))[task], read_profile(run, task=task))


def _of_the_mean(pair: Pair, told: "Sequence[Told]", *, split: str) -> Iterator[Verdict]:
    from burnish.metrics.compare import compare_means

    names = (pair[0].name, pair[1].name)
    try:
        tested = compare_means(told, score=MEAN, names=names)
    except BurnishError:
        return  # which task it is, and why, its own verdict says
    sentence = f"{MEAN} on {split}: {tested.sentence()} ({tested.test})"
    yield Verdict(names, split, sentence, tested.p_value, better=tested.better)


def _verdict(pair: Pair, told: "Told", *, split: str, task: str) -> Verdict:
    from burnish.metrics.compare import compare, compare_means

    names = (pair[0].name, pair[1].name)
    try:
        if len(told.first) == len(told.second) == 1:
            tested = compare(told.first[0], told.second[0], metric=told.metric, score=told.score, names=names)
        else:
            tested = compare_means([told], score=told.score, names=names)
    except BurnishError as error:
        return _fault(pair, split=split, task=task, error=error)
    sentence = f"{named(task, told.score)} on {split}: {tested.sentence()} ({tested.test})"
    return Verdict(names, split, sentence, tested.p_value, task, tested.better)


def _fault(pair: Pair, *, split: str, task: str, error: BurnishError) -> Verdict:
    names = (pair[0].name, pair[1].name)
    return Verdict(names, split, f"{task}: {error}" if task else str(error), p_value=None, task=task)
