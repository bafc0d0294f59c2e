"""What a searcher is asked and what it answers: pure functions of what a study has recorded."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from burnish.spec.component import Component

Coordinates = Mapping[str, float]
"""A point of a space by parameter: 0 to 1 along a range, the number of an option in a choice."""


class Leg(NamedTuple):
    """A stretch of training: a trial, and after how many evaluations it pauses; None trains to its end."""

    trial: int
    until: int | None


@dataclass(frozen=True)
class LegEnd:
    """What came of a leg; lower losses are better, and a trial that failed has the worst there is."""

    leg: Leg
    loss: float
    is_failed: bool = False


@dataclass(frozen=True)
class SearchState:
    """All that a searcher may know."""

    space: Any
    """Its `settle(pick)` walks the parameters that a point has; `grid_point(n)` is one of `grid_size` points."""
    seed: int
    num_trials: int
    """How many are wanted, those that replace failed ones not counted."""
    num_evaluations: int
    """Of a whole trial."""
    max_failed: int = 0
    num_trials_at_first: int | None = None
    """How many were wanted when the study began: what depends on it stays as it is when more are asked for."""
    points: Mapping[int, Coordinates] = field(default_factory=dict)
    """Where each trial that has begun stands, by number."""
    ends: Sequence[LegEnd] = ()
    """In the order in which they came."""
    curves: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """The losses of each trial, evaluation by evaluation."""

    @property
    def num_replaced(self) -> int:
        """How many failed trials are made up for by others."""
        return min(self.max_failed, sum(end.is_failed for end in self.ends))

    def finished(self) -> Iterator[tuple[Coordinates, float]]:
        """List the points that have come to a loss, in the order of their trials; the last word of each counts."""
        last = {end.leg.trial: end.loss for end in self.ends}
        yield from ((self.points[number], last[number]) for number in sorted(last) if number in self.points)


class Searcher(Component):
    """Decides which points are tried and how far each is trained."""

    takes_starts: ClassVar[bool] = True
    """Whether the first trials may be others than it would choose."""
    is_extensible: ClassVar[bool] = True
    """Whether more trials may be asked for later without changing what was decided before."""

    @abstractmethod
    def sample(self, state: SearchState, number: int) -> Coordinates:
        """Choose the point of a trial: the same for the same state, seed and number."""

    def legs(self, state: SearchState) -> Sequence[Leg]:
        """List all legs that follow from what is known so far, in the order in which they are to be run."""
        return [Leg(number, None) for number in range(state.num_trials + state.num_replaced)]

    def should_stop(self, state: SearchState, number: int) -> bool:
        """Decide whether a trial is given up after its newest evaluation."""
        return False

    def count_trials(self, state: SearchState) -> int:
        """How many trials there will be if none fails."""
        return state.num_trials

    def check_installed(self, num_trials: int) -> None:
        """Raise MissingExtra, before the first of so many trials, unless all that it comes to need is there."""
        return

    def problems(self, space: Any) -> Mapping[str, str]:
        """Say by name which parameters of a space it cannot search, and what they lack."""
        return {}


Pick = Callable[[Any], float]
"""Chooses where a parameter stands."""
