"""Says of every two recipes, task by task, whether what they predicted shows one to be better."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from burnish.commands.recipes import Recipe
from burnish.errors import BurnishError
from burnish.registry import Registry, default_registry
from burnish.run.directory import RunDirectory, read_json
from burnish.run.predictions import predictions_file, read_outcome
from burnish.run.result import ScoreSheet
from burnish.spec.parts import ALONE, MEAN, named, written_profiles
from burnish.spec.protocols import Metric

if TYPE_CHECKING:
    from burnish.metrics.compare_means import Told

Pair = tuple[Recipe, Recipe]


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


def verdicts(found: Sequence[Recipe], sheets: Sequence[ScoreSheet | None], splits: Sequence[str]) -> Iterator[Verdict]:
    """Test every two recipes on the first of the splits that all their runs predicted."""
    for pair in combinations(found, 2):
        runs = [run for each in pair for run in each.runs]
        profiles = [written_profiles(read_json(run.profile)) for run in runs]
        tasks = [task for task in profiles[0] if all(task in others for others in profiles)]
        told: dict[tuple[str, str], Told] = {}
        faults: list[Verdict] = []
        for task in tasks:
            split = next((split for split in splits if all(_has_predictions(run, split, task) for run in runs)), None)
            if split is None:
                continue
            try:
                told[task, split] = _told(pair, split=split, task=task, score=_main_score(sheets, split, task))
            except BurnishError as error:
                faults.append(_fault(pair, split=split, task=task, error=error))
        if len(told) > 1 and _select_together(sheets) and all(len(each) == len(told) for each in profiles):
            yield from _of_the_mean(pair, told)
        for (task, split), each in told.items():
            yield _verdict(pair, each, split=split, task=task)
        yield from faults


def _has_predictions(run: RunDirectory, split: str, task: str) -> bool:
    return predictions_file(run, split, task=task).is_file()


def _select_together(sheets: Sequence[ScoreSheet | None]) -> bool:
    return all(sheet is not None and sheet.headline == MEAN for sheet in sheets)


def _main_score(sheets: Sequence[ScoreSheet | None], split: str, task: str) -> str | None:
    """Name the score that selects; of one of several tasks, where they select together, its first."""
    told = [sheet for sheet in sheets if sheet]
    headline = told[0].headline if told else None
    if not task:
        return headline
    listed = [headline or "", *(score for sheet in told for score in sheet.scores.get(split, {}))]
    return next((score.removeprefix(f"{task}/") for score in listed if score.startswith(f"{task}/")), None)


def _told(pair: Pair, *, split: str, task: str, score: str | None) -> "Told":
    from burnish.metrics.compare_means import Told

    first, second = ([read_outcome(run, split, task=task) for run in each.runs] for each in pair)
    metric, shown = _metric(score, kind=first[0].kind, registry=default_registry())
    return Told(first, second, metric, shown)


def _metric(headline: str | None, *, kind: str, registry: Registry) -> tuple[Metric, str]:
    """Find the metric that gives the headline score, or the plainest one for this kind of outcome."""
    fallback = "mse" if kind == "regression" else "accuracy"
    for listing in registry.names("metrics"):
        metric = registry.load("metrics", listing.name)()
        if headline in metric.names() and metric.applies(kind):  # type: ignore[attr-defined]  # load() checked the kind
            return metric, str(headline)  # type: ignore[return-value]  # as above
    return registry.load("metrics", fallback)(), fallback  # type: ignore[return-value]  # as above


def _of_the_mean(pair: Pair, told: "Mapping[tuple[str, str], Told]") -> Iterator[Verdict]:
    from burnish.metrics.compare_means import compare_means

    names, splits = (pair[0].name, pair[1].name), list(dict.fromkeys(split for _, split in told))
    if len(splits) > 1:
        return  # a mean of scores of unlike splits is no score of either
    try:
        tested = compare_means(list(told.values()), score=MEAN, names=names)
    except BurnishError:
        return  # which task it is, and why, its own verdict says
    yield Verdict(names, splits[0], f"{MEAN} on {splits[0]}: {tested.sentence()} ({tested.test})", tested.p_value)


def _verdict(pair: Pair, told: "Told", *, split: str, task: str) -> Verdict:
    from burnish.metrics.compare import compare
    from burnish.metrics.compare_means import compare_means

    names = (pair[0].name, pair[1].name)
    try:
        if len(told.first) == len(told.second) == 1:
            tested = compare(told.first[0], told.second[0], metric=told.metric, score=told.score, names=names)
        else:
            tested = compare_means([told], score=told.score, names=names)
    except BurnishError as error:
        return _fault(pair, split=split, task=task, error=error)
    sentence = f"{named(task, told.score)} on {split}: {tested.sentence()} ({tested.test})"
    return Verdict(names, split, sentence, tested.p_value, task)


def _fault(pair: Pair, *, split: str, task: str, error: BurnishError) -> Verdict:
    names = (pair[0].name, pair[1].name)
    return Verdict(names, split, f"{task}: {error}" if task else str(error), p_value=None, task=task)
