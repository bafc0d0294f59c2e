"""ASHA against tables computed by hand, and against random search on a toy objective."""

from dataclasses import replace

import pytest

from burnish.config.nodes import Branch
from burnish.config.reader import read_text
from burnish.spec.search import Leg, LegEnd, Searcher, SearchState
from burnish.tuning.asha import AdaptiveAsha, Asha, Bracket, run_brackets, rung_lengths, share_concurrency, share_trials
from burnish.tuning.searchers import Random
from burnish.tuning.space import Space, read_space


def bracket(**options: int | float | bool) -> Bracket:
    lengths = rung_lengths(9, divisor=3, num_rungs=3)
    known = {"divisor": 3, "max_trials": 9, "max_concurrent": 3, **options}
    return Bracket(lengths, **known)  # type: ignore[arg-type]


def told(*results: tuple[int, int | None, float]) -> list[LegEnd]:
    return [LegEnd(Leg(trial, until), loss) for trial, until, loss in results]


def test_rungs_are_cumulative_and_the_top_one_is_the_end() -> None:
    assert rung_lengths(9, divisor=3, num_rungs=3) == [1, 4, None]
    assert rung_lengths(16, divisor=4, num_rungs=3) == [1, 5, None]
    assert rung_lengths(16, divisor=2, num_rungs=5) == [1, 3, 7, 15, None]
    assert rung_lengths(5, divisor=4, num_rungs=1) == [None]


def test_promotions_are_those_of_a_table_computed_by_hand() -> None:
    # Three begin. Of results 5, 4, 3 the third is the best of three (rank 0 < 1): it goes on at once.
    # 1 then 2 come as 4th and 5th: 1 has rank 0 < int(4/3) and goes on; 2 has rank 1, no.
    # The 6th, of 9, makes int(6/3) = 2 of int(5/3) = 1: the trial now at rank 1, which is 2, goes on after all.
    # The 7th of 0.5 has rank 0 < 2 and goes on.
    table = [
        ((0, 1, 5.0), Leg(3, 1)),
        ((1, 1, 4.0), Leg(4, 1)),
        ((2, 1, 3.0), Leg(2, 4)),
        ((3, 1, 1.0), Leg(3, 4)),
        ((4, 1, 2.0), Leg(5, 1)),
        ((5, 1, 9.0), Leg(4, 4)),
        ((2, 4, 3.0), Leg(6, 1)),
        ((6, 1, 0.5), Leg(6, 4)),
        ((3, 4, 0.9), Leg(7, 1)),
        ((4, 4, 0.8), Leg(4, None)),
        ((7, 1, 7.0), Leg(8, 1)),
        ((8, 1, 8.0), None),
        ((6, 4, 0.7), Leg(6, None)),
        ((4, None, 0.7), None),
        ((6, None, 0.6), None),
    ]
    legs = [Leg(0, 1), Leg(1, 1), Leg(2, 1)]
    for number, (_, leg) in enumerate(table, start=1):
        legs += [leg] if leg else []
        assert run_brackets([bracket()], told(*(each for each, _ in table[:number]))) == legs, number


def test_a_tie_is_no_reason_to_promote_the_newcomer() -> None:
    legs = run_brackets([bracket()], told((0, 1, 1.0), (1, 1, 1.0), (2, 1, 1.0)))
    assert legs[-1] == Leg(0, 4)


def test_stop_once_closes_a_trial_for_good() -> None:
    results = told((0, 1, 5.0), (1, 1, 4.0), (2, 1, 6.0), (3, 1, 7.0))
    legs = run_brackets([bracket(stop_once=True)], results)
    # The first always goes on, then whoever is among max(1, int((n + 1) / 3)).
    assert legs[3:] == [Leg(0, 4), Leg(1, 4), Leg(3, 1), Leg(4, 1)]


def test_a_failed_trial_counts_as_the_worst_and_is_replaced_as_often_as_allowed() -> None:
    failed = [LegEnd(Leg(number, 1), float("inf"), is_failed=True) for number in range(3)]
    legs = run_brackets([bracket(max_trials=3)], failed, max_failed=2)
    assert legs == [Leg(number, 1) for number in range(5)]


def test_brackets_are_shared_out_as_adaptive_search_does() -> None:
    state = SearchState(None, 0, 100, 64)
    assert AdaptiveAsha(divisor=4, mode="standard").bracket_sizes(state) == [4, 3, 2]
    assert AdaptiveAsha(divisor=4, mode="aggressive").bracket_sizes(state) == [4]
    assert AdaptiveAsha(divisor=4, mode="conservative").bracket_sizes(state) == [4, 3, 2, 1]
    assert AdaptiveAsha(bracket_rungs=(2, 3)).bracket_sizes(state) == [3, 2]
    # weights 64/4, 16/3, 4/2 of 100 trials: 68.57, 22.86, 8.57; what is left goes to the first
    assert share_trials(100, divisor=4, rungs=[4, 3, 2]) == [70, 22, 8]
    assert share_concurrency(16, divisor=4, trials=[70, 22, 8]) == [6, 5, 5]
    assert share_concurrency(0, divisor=4, trials=[70, 22, 8]) == [8, 8, 8]
    assert share_concurrency(1, divisor=4, trials=[70, 22, 8]) == [1, 1, 1]
    assert Asha(divisor=3).usable_rungs(SearchState(None, 0, 9, 9)) == 3
    assert Asha(divisor=3).usable_rungs(SearchState(None, 0, 8, 9)) == 2


def test_trials_of_all_brackets_have_numbers_of_their_own() -> None:
    searcher = AdaptiveAsha(divisor=3, max_concurrent_trials=4)
    _, legs, _ = simulate(searcher, seed=0, num_trials=30)
    assert {leg.trial for leg in legs} == set(range(30))
    assert len(set(legs)) == len(legs)


def end_all(searcher: Searcher, state: SearchState) -> SearchState:
    """End every leg that is called for, the later trials being the better."""
    while legs := [leg for leg in searcher.legs(state) if leg not in {end.leg for end in state.ends}]:
        state = replace(state, ends=[*state.ends, LegEnd(legs[0], -float(legs[0].trial))])
    return state


@pytest.mark.parametrize(("first", "later"), [(12, 20), (10_000, 40), (12, 4), (3, 400)])
def test_a_study_that_is_extended_keeps_its_rungs_and_what_it_knows(first: int, later: int) -> None:
    searcher = Asha(divisor=4)
    begun = SearchState(None, 0, min(first, 12), 64, num_trials_at_first=first)
    done = end_all(searcher, begun)
    extended = end_all(searcher, replace(done, num_trials=later))
    assert extended.ends[: len(done.ends)] == done.ends
    assert {end.leg.until for end in extended.ends} <= {*searcher.brackets(begun)[0].lengths}
    assert len({end.leg.trial for end in extended.ends}) == max(later, min(first, 12))


def loss_after(point: dict[str, float], evaluations: int) -> float:
    """A toy objective that falls towards a floor that the point decides; some learn faster, so that curves cross."""
    floor = 1 + (point["rate"] - 0.37) ** 2 + 0.5 * (point["decay"] - 0.8) ** 2
    return floor + 0.5 * (0.65 + 0.15 * point["decay"]) ** evaluations


def toy_space() -> Space:
    node = read_text("{rate: {type: double, min: 0, max: 1}, decay: {type: double, min: 0, max: 1}}", source="toy")
    assert isinstance(node, Branch)
    return read_space(node)[0]


def simulate(searcher: Searcher, *, seed: int, num_trials: int, length: int = 27) -> tuple[float, list[Leg], int]:
    """Run a search over the toy objective: the best loss at full length, its legs, and the evaluations spent."""
    space, points, ends, reached, best = toy_space(), {}, [], {}, float("inf")
    while True:
        state = SearchState(space, seed, num_trials, length, points=points, ends=ends)
        legs = searcher.legs(state)
        if len(ends) == len(legs):
            return best, list(legs), sum(reached.values())
        leg = legs[len(ends)]
        points.setdefault(leg.trial, searcher.sample(state, leg.trial) if leg.trial not in points else None)
        end = leg.until or length
        reached[leg.trial] = end
        loss = loss_after(points[leg.trial], end)
        best = min(best, loss) if leg.until is None else best
        ends.append(LegEnd(leg, loss))


def test_asha_finds_the_best_of_random_for_less_than_half() -> None:
    shares = []
    for seed in range(20):
        of_random, _, spent_by_random = simulate(Random(), seed=seed, num_trials=40)
        of_asha, _, spent = simulate(Asha(divisor=3), seed=seed, num_trials=40)
        assert of_asha <= of_random * 1.01
        shares.append(spent / spent_by_random)
    assert max(shares) <= 0.4, shares
