"""Searchers that sample points: at random, in a grid, or by a model of what was found, with a stopper on the way."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from burnish.extras import require
from burnish.spec.search import Coordinates, Leg, LegEnd, Searcher, SearchState
from burnish.tuning.space import ChoiceParameter, Parameter, count_points

_WHY = "to search by a model of the scores"
_FEW_TRIALS = 10
"""Before so many have come to an end, a model knows less than chance."""
_FEWEST_OTHERS = 4
"""A median of fewer trials stops nobody."""
_REDUCTION = 3
"""One of so many goes on, where Hyperband judges."""
_MOST_POINTS = 10_000
"""More combinations than anybody trains are a slip in a space."""
_COUNT_WANTED = "needs `count`, the number of points that a grid takes from it"
_WORST = 1e12
"""What stands for a failed trial where infinity cannot be reckoned with."""


def sample_randomly(state: SearchState, number: int) -> Coordinates:
    """Draw a point evenly; each trial has a generator of its own."""
    import numpy as np

    random = np.random.default_rng([state.seed, number])

    def pick(parameter: Parameter) -> float:
        if isinstance(parameter, ChoiceParameter):
            return float(random.integers(len(parameter.options)))
        return float(random.random())

    point: Coordinates = state.space.settle(pick).point
    return point


class SamplingSearcher(Searcher):
    """What searchers share whose trials train to the end unless a stopper gives them up."""

    stopper: Literal["none", "median", "hyperband"] = "none"
    """Give up a trial that is worse than the median of others at the same evaluation, or by the rules of Hyperband."""
    warmup: NonNegativeInt = 1
    """How many evaluations a trial has before it may be given up."""

    def should_stop(self, state: SearchState, number: int) -> bool:
        curve = state.curves.get(number, ())
        if self.stopper == "none" or len(curve) <= self.warmup or len(curve) >= state.num_evaluations:
            return False
        judge = _is_below_median if self.stopper == "median" else _is_outrun
        others = {each: known for each, known in state.curves.items() if each != number}
        return not math.isfinite(curve[-1]) or judge(number, curve, others, state.num_evaluations)


def _is_below_median(_number: int, curve: Sequence[float], others: Mapping[int, Sequence[float]], _most: int) -> bool:
    """Compare the best so far with what the median trial had at the same evaluation."""
    same = [known[len(curve) - 1] for known in others.values() if len(known) >= len(curve)]
    return len(same) >= _FEWEST_OTHERS and min(curve) > median(same)


def _is_outrun(number: int, curve: Sequence[float], others: Mapping[int, Sequence[float]], most: int) -> bool:
    """Hold a trial against those of its bracket; trials take turns in brackets that judge ever later."""
    brackets = [first for power in range(most) if (first := _REDUCTION**power) < most] or [1]
    own = number % len(brackets)
    rungs = {brackets[own] * _REDUCTION**power for power in range(most) if brackets[own] * _REDUCTION**power < most}
    at = len(curve)
    same = [known[at - 1] for each, known in others.items() if each % len(brackets) == own and len(known) >= at]
    return at in rungs and sum(loss <= curve[-1] for loss in same) >= max(1, -(-(len(same) + 1) // _REDUCTION))


class Single(Searcher):
    """One trial, at the first value of every parameter: to see that a study runs."""

    takes_starts: ClassVar[bool] = False

    def sample(self, state: SearchState, number: int) -> Coordinates:
        point: Coordinates = state.space.settle(lambda parameter: 0.0).point
        return point

    def count_trials(self, state: SearchState) -> int:
        return 1

    def legs(self, state: SearchState) -> Sequence[Leg]:
        return [Leg(0, None)]


class Grid(SamplingSearcher):
    """Every combination, once; a range needs `count`, or `step` for whole steps."""

    takes_starts: ClassVar[bool] = False

    def sample(self, state: SearchState, number: int) -> Coordinates:
        point: Coordinates = state.space.grid_point(number)
        return point

    def count_trials(self, state: SearchState) -> int:
        size: int = state.space.grid_size
        return size

    def legs(self, state: SearchState) -> Sequence[Leg]:
        return [Leg(number, None) for number in range(self.count_trials(state))]

    def problems(self, space: Any) -> Mapping[str, str]:
        sizes = {each.name: count_points(each) for each in space.parameters()}
        lacking = {name: _COUNT_WANTED for name, size in sizes.items() if not size}
        if lacking or space.grid_size <= _MOST_POINTS:
            return lacking
        most = max(sizes, key=lambda name: sizes[name])
        return {
            most: f"has {sizes[most]:,} points, and the whole grid {space.grid_size:,}; a grid may have "
            f"{_MOST_POINTS:,}: take fewer with `count`, or another searcher"
        }


class Random(SamplingSearcher):
    """Points drawn evenly from the space."""

    def sample(self, state: SearchState, number: int) -> Coordinates:
        return sample_randomly(state, number)


class Modelled(SamplingSearcher):
    """What searchers share that ask a sampler of Optuna, which knows all that the study has recorded."""

    first_random: PositiveInt = _FEW_TRIALS
    """How many trials are drawn evenly before the model is asked."""

    def sample(self, state: SearchState, number: int) -> Coordinates:
        if sum(1 for _ in state.finished()) < self.first_random:
            return sample_randomly(state, number)
        optuna = require("optuna", extra="tune", why=_WHY)
        study = _rebuild(optuna, state, sampler=self.sampler(optuna, seed_of(state.seed, number)))
        trial = study.ask()

        def pick(parameter: Parameter) -> float:
            if isinstance(parameter, ChoiceParameter):
                return float(trial.suggest_categorical(parameter.name, range(len(parameter.options))))
            return float(trial.suggest_float(parameter.name, 0.0, 1.0))

        point: Coordinates = state.space.settle(pick).point
        return point

    def check_installed(self, num_trials: int) -> None:
        if num_trials > self.first_random:
            require("optuna", extra="tune", why=_WHY)

    def sampler(self, optuna: Any, seed: int) -> Any:
        """Make the sampler of one trial."""
        raise NotImplementedError


class Tpe(Modelled):
    """Tree-structured Parzen estimators: good for any space, also with choices and conditional parameters."""

    def sampler(self, optuna: Any, seed: int) -> Any:
        return optuna.samplers.TPESampler(seed=seed, n_startup_trials=0)


class Gp(Modelled):
    """A Gaussian process: for few and costly trials over ranges."""

    def sampler(self, optuna: Any, seed: int) -> Any:
        return optuna.samplers.GPSampler(seed=seed, n_startup_trials=0)


class CmaEs(SamplingSearcher):
    """Covariance matrix adaptation: for many cheap trials over ranges."""

    population: Annotated[int, Field(ge=2)] | None = None
    """Trials of a generation; by default what suits the number of parameters."""
    spread: Annotated[float, Field(gt=0, le=1)] = 0.3
    """How far the first generation reaches, as a share of each range."""

    def check_installed(self, num_trials: int) -> None:
        _require_cmaes()

    def sample(self, state: SearchState, number: int) -> Coordinates:
        import numpy as np

        cmaes = _require_cmaes()
        names = {parameter.name: parameter for parameter in state.space.parameters()}
        bounds = np.array([[0.0, 1.0]] * len(names))
        if len(names) < 2:
            return sample_randomly(state, number)  # it needs two dimensions
        optimizer = cmaes.CMA(
            mean=np.full(len(names), 0.5),
            sigma=self.spread,
            bounds=bounds,
            seed=seed_of(state.seed, 0) % 2**31,
            population_size=self.population,
        )
        size, told = optimizer.population_size, {end.leg.trial: end.loss for end in state.ends}
        # A trial of the experiment as it was written has no place in the space, and is of no generation.
        placed = sorted(each for each in state.points if each < number)
        # The generations that are complete are asked and told again; the generator then stands where it stood.
        while len(placed) >= size and all(each in told for each in placed[:size]):
            asked = [optimizer.ask() for _ in range(size)]
            stood = [_vector(state.points[each], names, asked[at]) for at, each in enumerate(placed[:size])]
            optimizer.tell([(stood[at], min(told[each], _WORST)) for at, each in enumerate(placed[:size])])
            placed = placed[size:]
        place = [optimizer.ask() for _ in range(len(placed) + 1)][-1]
        coordinates = dict(zip(names, place.tolist(), strict=True))
        point: Coordinates = state.space.settle(lambda parameter: _within(parameter, coordinates)).point
        return point


def _require_cmaes() -> Any:
    return require("cmaes", extra="tune", why="to search by CMA-ES")


def rehearse(searcher: Searcher, state: SearchState) -> list[Leg]:
    """Run a searcher on results that are as good as random, and list the legs it would train."""
    ends: list[LegEnd] = []
    while len(ends) < len(legs := searcher.legs(replace(state, ends=ends))):
        ends += [LegEnd(leg, float(leg.trial * 2654435761 % 2**32)) for leg in legs[len(ends) :]]
    return [end.leg for end in ends]


def seed_of(seed: int, number: int) -> int:
    """Mix the study's seed with the number of a trial."""
    import numpy as np

    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def _within(parameter: Parameter, coordinates: Mapping[str, float]) -> float:
    place = min(max(coordinates[parameter.name], 0.0), 1.0)
    if isinstance(parameter, ChoiceParameter):
        return float(min(int(place * len(parameter.options)), len(parameter.options) - 1))
    return place


def _vector(point: Coordinates, names: Mapping[str, Parameter], asked: Any) -> Any:
    """Write a point as the optimizer asked for it; what a choice left out stays as it was asked."""
    vector = asked.copy()
    for at, (name, parameter) in enumerate(names.items()):
        if name in point and not isinstance(parameter, ChoiceParameter):
            vector[at] = point[name]
    return vector


def _rebuild(optuna: Any, state: SearchState, *, sampler: Any = None) -> Any:
    """Feed what is recorded to a study in memory."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(study_name="burnish", sampler=sampler)
    last = {end.leg.trial: end for end in state.ends}
    for number in sorted(last):
        if number not in state.points:
            continue
        point = state.points[number]
        kinds = {each.name: each for each in state.space.parameters()}
        study.add_trial(
            optuna.trial.create_trial(
                params={name: _param(kinds[name], place) for name, place in point.items()},
                distributions={name: _distribution(optuna, kinds[name]) for name in point},
                value=min(last[number].loss, _WORST),
                intermediate_values=_steps(state.curves.get(number, ())),
            )
        )
    return study


def _steps(curve: Sequence[float]) -> dict[int, float]:
    return {number: min(loss, _WORST) for number, loss in enumerate(curve, start=1)}


def _param(parameter: Parameter, place: float) -> float | int:
    return int(place) if isinstance(parameter, ChoiceParameter) else place


def _distribution(optuna: Any, parameter: Parameter) -> Any:
    if isinstance(parameter, ChoiceParameter):
        return optuna.distributions.CategoricalDistribution(range(len(parameter.options)))
    return optuna.distributions.FloatDistribution(0.0, 1.0)
