"""Searchers repeat with their seed, and learn from what is recorded."""

import sys
from dataclasses import replace

import pytest

from burnish.errors import MissingExtra
from burnish.spec.search import Leg, LegEnd, Searcher, SearchState
from burnish.tuning.searchers import CmaEs, Gp, Grid, Random, Single, Tpe
from tests.unit.tuning.test_asha import loss_after, toy_space
from tests.unit.tuning.test_space import SPACE, grid_of, space_of

MODELLED = [Tpe(first_random=5), Gp(first_random=5), CmaEs()]
QUICK = [MODELLED[0], MODELLED[2]]  # a Gaussian process takes seconds to fit


def search(searcher: Searcher, *, seed: int, num_trials: int, start: SearchState | None = None) -> SearchState:
    state = start or SearchState(toy_space(), seed, num_trials, 1)
    for number in range(len(state.ends), num_trials):
        point = searcher.sample(state, number)
        end = LegEnd(Leg(number, None), loss_after(dict(point), 5))
        state = replace(state, points={**state.points, number: point}, ends=[*state.ends, end])
    return state


@pytest.mark.parametrize("searcher", [Random(), *MODELLED], ids=lambda each: type(each).__name__)
def test_a_search_repeats_with_its_seed_also_from_the_middle(searcher: Searcher) -> None:
    whole = search(searcher, seed=3, num_trials=8)
    half = search(searcher, seed=3, num_trials=6)
    assert search(searcher, seed=3, num_trials=8, start=half).points == whole.points
    assert search(searcher, seed=4, num_trials=8).points != whole.points


@pytest.mark.parametrize("searcher", QUICK, ids=lambda each: type(each).__name__)
def test_a_model_does_better_than_chance(searcher: Searcher) -> None:
    num_trials = 60 if isinstance(searcher, CmaEs) else 25
    seeds = range(3)
    of_model = [search(searcher, seed=seed, num_trials=num_trials) for seed in seeds]
    of_chance = [search(Random(), seed=seed, num_trials=num_trials) for seed in seeds]
    late = [[end.loss for end in state.ends[-10:]] for state in of_model]
    others = [[end.loss for end in state.ends[-10:]] for state in of_chance]
    assert sum(map(sum, late)) < sum(map(sum, others)) - 0.5


@pytest.mark.parametrize("searcher", [Random(), *MODELLED], ids=lambda each: type(each).__name__)
def test_choices_and_what_stands_under_them_are_sampled(searcher: Searcher) -> None:
    state = SearchState(space_of(SPACE), 0, 14, 1)
    for number in range(14):
        point = searcher.sample(state, number)
        assert state.space.at(point).point == point
        end = LegEnd(Leg(number, None), float(number % 5))
        state = replace(state, points={**state.points, number: point}, ends=[*state.ends, end])


def test_a_grid_takes_its_points_in_order_and_no_others() -> None:
    state = SearchState(space_of(SPACE), 0, 3, 1)
    assert [leg.trial for leg in Grid().legs(state)] == list(range(18))
    assert [Grid().sample(state, number) for number in range(18)] == grid_of(state.space)
    assert Grid().problems(toy_space()) != {}
    assert len(Single().legs(state)) == 1


def test_a_grid_of_more_points_than_anybody_trains_is_refused_at_once() -> None:
    space = space_of("a: {type: int, min: 0, max: 1_000_000_000}\nb: [1, 2]".replace("_", ""))
    assert Grid().problems(space) == {
        "a": "has 1,000,000,001 points, and the whole grid 2,000,000,002; a grid may have 10,000: take fewer with "
        "`count`, or another searcher"
    }
    wide = space_of("\n".join(f"option{number}: [1, 2, 3, 4]" for number in range(40)))
    assert [*Grid().problems(wide)] == ["option0"]
    point = Grid().sample(SearchState(wide, 0, 3, 1), 4**40 - 2)
    assert [*point.values()] == [3.0] * 39 + [2.0]


@pytest.mark.parametrize("stopper", ["median", "hyperband"])
def test_a_stopper_gives_up_a_bad_trial_and_keeps_a_good_one(stopper: str) -> None:
    searcher = Random(stopper=stopper, warmup=1 if stopper == "median" else 0)  # type: ignore[arg-type]
    num_told = 2 if stopper == "median" else 1
    curves = {number: [1.0 + number, 0.9 + number, 0.8 + number] for number in range(9)}
    points = {number: {"rate": 0.5, "decay": 0.5} for number in range(11)}
    ends = [LegEnd(Leg(number, None), curve[-1]) for number, curve in curves.items()]
    state = SearchState(toy_space(), 0, 20, 3, points=points, ends=ends, curves=curves)
    bad = [searcher.should_stop(replace(state, curves={**curves, n: [99.0, 98.0][:num_told]}), n) for n in range(9, 15)]
    good = [searcher.should_stop(replace(state, curves={**curves, n: [0.1, 0.1][:num_told]}), n) for n in range(9, 15)]
    assert any(bad)
    assert not any(good)
    assert not searcher.should_stop(replace(state, curves={**curves, 9: [99.0] * 3}), 9)


def test_the_generations_of_cmaes_leave_out_the_experiment_as_it_was_written() -> None:
    state = SearchState(toy_space(), 3, 20, 1, ends=[LegEnd(Leg(0, None), 0.5)])  # trial 0 has no place in the space
    for number in range(1, 10):
        point = CmaEs(population=4).sample(state, number)
        end = LegEnd(Leg(number, None), loss_after(dict(point), 5))
        state = replace(state, points={**state.points, number: point}, ends=[*state.ends, end])
    without = search(CmaEs(population=4), seed=3, num_trials=9)
    assert [*state.points.values()] == [*without.points.values()]


@pytest.mark.parametrize(("searcher", "module"), [(Tpe(), "optuna"), (Gp(), "optuna"), (CmaEs(), "cmaes")])
def test_what_a_searcher_comes_to_need_is_asked_for_before_the_first_trial(
    searcher: Searcher, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"{module} is not installed.*burnish\[tune\]"):
        searcher.check_installed(20)
    Random().check_installed(20)
    Tpe().check_installed(10)  # which are drawn evenly
