"""Asynchronous successive halving (ASHA), and several brackets of it: who trains on, told from results alone."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from burnish.spec.search import Coordinates, Leg, LegEnd, Searcher, SearchState
from burnish.tuning.searchers import sample_randomly

Divisor = Annotated[float, Field(gt=1)]


def rung_lengths(num_evaluations: int, *, divisor: float, num_rungs: int) -> list[int | None]:
    """After how many evaluations each rung judges; the top one trains to the end."""
    steps = (max(1, int(num_evaluations / divisor ** (num_rungs - 1 - rung))) for rung in range(num_rungs - 1))
    total, lengths = 0, []
    for step in steps:
        total += step
        lengths.append(total)
    return [*lengths, None]


@dataclass
class Bracket:
    """One ladder of rungs, fed with results in the order in which they came; it answers with what to train next."""

    lengths: Sequence[int | None]
    divisor: float
    max_trials: int
    max_concurrent: int
    stop_once: bool = False
    rungs: list[list[tuple[float, int]]] = field(default_factory=list)
    """By rung, the losses and trials that were told there, the best first."""
    promoted: set[tuple[int, int]] = field(default_factory=set)
    """Rung and trial."""
    num_created: int = 0

    def __post_init__(self) -> None:
        self.rungs = [[] for _ in self.lengths]

    @property
    def num_initial(self) -> int:
        """How many trials begin at once."""
        usual = int(self.divisor ** (len(self.lengths) - 1))
        return min(self.max_concurrent or max(1, usual), self.max_trials)

    def tell(
        self, trial: int, rung: int, loss: float, *, is_failed: bool = False
    ) -> tuple[tuple[int, int] | None, bool]:
        """Give the trial and rung that a result promotes, if any, and whether it calls for a new trial."""
        promotion = None
        if rung < len(self.lengths) - 1:
            judge = self._continue_or_close if self.stop_once else self._promote
            promotion = judge(trial, rung, loss)
        else:
            self._insert(rung, trial, loss)
        if promotion is not None and is_failed and promotion == trial:
            promotion = None  # it cannot train on; among failures alone it was the best
        is_new = promotion is None and self.num_created < self.max_trials
        return (None if promotion is None else (promotion, rung + 1)), is_new

    def _promote(self, trial: int, rung: int, loss: float) -> int | None:
        told = self.rungs[rung]
        before, now = int(len(told) / self.divisor), int((len(told) + 1) / self.divisor)
        if self._insert(rung, trial, loss) < now:
            self.promoted.add((rung, trial))
            return trial
        other = told[before][1]
        if now == before or (rung, other) in self.promoted or math.isinf(told[before][0]):
            return None
        self.promoted.add((rung, other))
        return other

    def _continue_or_close(self, trial: int, rung: int, loss: float) -> int | None:
        num_told = len(self.rungs[rung])
        return trial if self._insert(rung, trial, loss) < max(1, int((num_told + 1) / self.divisor)) else None

    def _insert(self, rung: int, trial: int, loss: float) -> int:
        told = self.rungs[rung]
        place = bisect_right(told, loss, key=lambda each: each[0])
        told.insert(place, (loss, trial))
        return place


def run_brackets(brackets: Sequence[Bracket], ends: Sequence[LegEnd], *, max_failed: int = 0) -> list[Leg]:
    """List the legs that follow from results so far: every bracket's first trials, then what each result calls for."""
    legs: list[Leg] = []
    homes: dict[int, Bracket] = {}
    reached: dict[int, int] = {}

    def create(bracket: Bracket) -> None:
        number, bracket.num_created = len(homes), bracket.num_created + 1
        homes[number], reached[number] = bracket, 0
        legs.append(Leg(number, bracket.lengths[0]))

    for bracket in brackets:
        for _ in range(bracket.num_initial):
            create(bracket)
    for end in ends:
        while end.leg.trial not in homes:
            create(brackets[0])  # fewer trials are asked for now than when it began
        trial, home = end.leg.trial, homes[end.leg.trial]
        if end.is_failed and max_failed:
            home.max_trials, max_failed = home.max_trials + 1, max_failed - 1
        promoted, is_new = home.tell(trial, reached[trial], end.loss, is_failed=end.is_failed)
        if promoted is not None:
            reached[promoted[0]] = promoted[1]
            legs.append(Leg(promoted[0], home.lengths[promoted[1]]))
        elif is_new:
            create(home)
    return legs


class Halving(Searcher):
    """What the searchers with rungs share: random points, of which the better ones train on."""

    max_trials: PositiveInt | None = None
    """By default `tune.trials`."""
    divisor: Divisor = 4
    """One of so many trials of a rung trains on to the next."""
    max_rungs: PositiveInt = 5
    stop_once: bool = False
    """Close a trial for good when it is not among the best at its rung, instead of promoting it later."""
    max_concurrent_trials: NonNegativeInt = 16
    """How many trials begin before any is judged; 0 takes as many as one trial of the top rung needs."""

    def sample(self, state: SearchState, number: int) -> Coordinates:
        return sample_randomly(state, number)

    def legs(self, state: SearchState) -> Sequence[Leg]:
        return run_brackets(self.brackets(state), state.ends, max_failed=state.max_failed)

    def count_trials(self, state: SearchState) -> int:
        return sum(bracket.max_trials for bracket in self.brackets(state))

    def brackets(self, state: SearchState) -> list[Bracket]:
        """The ladders that are climbed side by side."""
        rungs = self.bracket_sizes(state)
        trials = share_trials(self.max_trials or state.num_trials, divisor=self.divisor, rungs=rungs)
        concurrent = [self.max_concurrent_trials]
        if len(rungs) > 1:
            concurrent = share_concurrency(self.max_concurrent_trials, divisor=self.divisor, trials=trials)
        return [
            Bracket(
                rung_lengths(state.num_evaluations, divisor=self.divisor, num_rungs=size),
                self.divisor,
                max_trials=most,
                max_concurrent=at_once,
                stop_once=self.stop_once,
            )
            for size, most, at_once in zip(rungs, trials, concurrent, strict=True)
        ]

    def bracket_sizes(self, state: SearchState) -> list[int]:
        """How many rungs each bracket has, the most first."""
        return [self.usable_rungs(state)]

    def usable_rungs(self, state: SearchState) -> int:
        """The rungs that the length of a trial and the number of trials have room for when the study begins."""
        sizes = (state.num_evaluations, self.max_trials or state.num_trials_at_first or state.num_trials)
        return min(self.max_rungs, *(_floor_log(size, self.divisor) + 1 for size in sizes))


class Asha(Halving):
    """Asynchronous successive halving: one ladder of rungs, on which one of `divisor` trials trains on."""


class AdaptiveAsha(Halving):
    """Several ASHA brackets at once, from early stopping to none, for when early scores may mislead."""

    is_extensible: ClassVar[bool] = False

    mode: Literal["aggressive", "standard", "conservative"] = "standard"
    """How many brackets: the one that stops earliest, the earlier half, or all."""
    bracket_rungs: tuple[PositiveInt, ...] = ()
    """The rungs of each bracket, instead of a mode."""

    def bracket_sizes(self, state: SearchState) -> list[int]:
        most = self.usable_rungs(state)
        first = {"aggressive": most, "standard": (most - 1) // 2 + 1, "conservative": 1}[self.mode]
        return sorted(self.bracket_rungs or range(first, most + 1), reverse=True)


def share_trials(num_trials: int, *, divisor: float, rungs: Sequence[int]) -> list[int]:
    """Divide the trials among brackets so that each trains about as much in all."""
    weights = [divisor ** (size - 1) / size for size in rungs]
    shares = [max(1, int(weight / sum(weights) * num_trials)) for weight in weights]
    return [shares[0] + max(0, num_trials - sum(shares)), *shares[1:]]


def share_concurrency(num_concurrent: int, *, divisor: float, trials: Sequence[int]) -> list[int]:
    """Divide the trials that begin at once evenly; what is left over goes to the brackets that stop earliest."""
    if num_concurrent == 0:
        return [max(trials[-1], int(divisor))] * len(trials)
    each, over = divmod(max(num_concurrent, len(trials)), len(trials))
    return [each + (number < over) for number in range(len(trials))]


def _floor_log(value: int, base: float) -> int:
    """Find the largest whole power; a logarithm is a hair off where the value is one."""
    power = 0
    while base ** (power + 1) <= value:
        power += 1
    return power
