"""What a study will do and take, before anything of it runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from burnish.registry import default_registry
from burnish.spec.forecast import Forecast
from burnish.spec.search import Leg, SearchState
from burnish.tuning.searchers import rehearse
from burnish.tuning.settings import TuneSettings
from burnish.tuning.space import Space

_REHEARSED = 400
"""So many trials show how long those of a study take that only the clock ends."""


@dataclass(frozen=True)
class SearchPreview:
    """What a study will do and take, as far as it is known before."""

    searcher: str
    trials: int
    rungs: tuple[Mapping[str, int], ...]
    """For each length that a trial may have, in evaluations: how many trials are expected to get so far."""
    evaluations: int
    """Of a whole trial."""
    total_evaluations: int
    """Of all trials."""
    minutes: float
    is_cut: bool
    """Whether time is up before all trials are trained."""
    memory_bytes: int
    parameters: tuple[str, ...]
    trial: Forecast


def estimate(settings: TuneSettings, space: Space, *, trial: Forecast) -> SearchPreview:
    """Say what a study will take if its scores fall as by chance and each of its trials takes what one was found to."""
    whole = SearchState(
        space,
        settings.seed,
        settings.num_trials,
        trial.evaluations,
        settings.max_failed_trials,
        num_trials_at_first=settings.num_trials,
    )
    # Where only the clock ends a study, some trials show what one takes.
    state = replace(whole, num_trials=_REHEARSED) if settings.is_endless else whole
    wanted = settings.searcher.count_trials(whole) / settings.searcher.count_trials(state)
    lengths, seconds, is_cut = _fit_in_time(rehearse(settings.searcher, state), trial, settings)
    pace = 1.0 if is_cut else min(wanted, max(1.0, settings.seconds / seconds))
    found, trials = len(lengths), int(len(lengths) * pace)
    rungs = sorted({*lengths.values()})
    return SearchPreview(
        searcher=default_registry().name_of("searchers", type(settings.searcher)),
        trials=trials,
        rungs=tuple(
            {"evaluations": rung, "trials": sum(each >= rung for each in lengths.values()) * trials // found}
            for rung in rungs
        ),
        evaluations=trial.evaluations,
        total_evaluations=sum(lengths.values()) * trials // found,
        minutes=seconds * pace / 60 / settings.parallel,
        is_cut=is_cut or pace < wanted,
        memory_bytes=trial.footprint.memory_bytes * settings.parallel,
        parameters=tuple(each.name for each in space.parameters()),
        trial=trial,
    )


def _fit_in_time(legs: Sequence[Leg], trial: Forecast, settings: TuneSettings) -> tuple[dict[int, int], float, bool]:
    """Give how long each trial is trained before time is up, all of their seconds, and whether any leg is left out."""
    each = trial.timing.step_seconds * trial.steps + trial.timing.evaluation_seconds["validation"] * trial.evaluations
    lengths: dict[int, int] = {}
    seconds, has_ended = 0.0, False
    for leg in legs:
        until = leg.until or trial.evaluations
        trained = each * (until - lengths.get(leg.trial, 0)) / trial.evaluations
        cost = trained + trial.seconds - each
        if has_ended and seconds + cost > settings.seconds:
            return lengths, seconds, True
        lengths[leg.trial], seconds, has_ended = until, seconds + cost, has_ended or leg.until is None
    return lengths, seconds, False
