"""Spaces: what ranges and choices mean, and what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.config.nodes import Branch
from burnish.config.reader import read_text
from burnish.spec.search import Coordinates
from burnish.tuning.space import RangeParameter, Space, read_space

SPACE = """
optimizer.learning_rate: {type: log, min: 1e-5, max: 1e-3, count: 3}
train.batch: [16, 32]
task:
  truncation:
    - head
    - {type: head_tail, head: {type: int, min: 32, max: 64, count: 2}, tail: 192}
"""


def space_of(text: str) -> Space:
    node = read_text(text, source="space.yaml")
    assert isinstance(node, Branch)
    space, problems = read_space(node)
    assert problems == []
    return space


def grid_of(space: Space) -> list[Coordinates]:
    return [space.grid_point(number) for number in range(space.grid_size)]


def test_long_options_that_are_alike_at_first_are_two() -> None:
    long = "a text that is so long that no message would ever show the whole of it, ending in "
    space = space_of(f"task.prompt:\n  - {long} one\n  - {long} two")
    assert len(grid_of(space)) == 2
    node = read_text("a: [{type: x, y: 1}, 3, {y: 1, type: x}, 3, 3]", source="space.yaml")
    assert isinstance(node, Branch)
    assert [problem.message for problem in read_space(node)[1]] == [
        "tune.space.a lists {y: 1, type: x} twice; keep one",
        "tune.space.a lists 3 twice; keep one",
    ]


def test_a_grid_is_exactly_the_product_with_what_stands_under_a_choice() -> None:
    space = space_of(SPACE)
    found = [tuple(map(str, space.at(point).values.values())) for point in grid_of(space)]
    rates, batches = ("1e-05", "0.0001", "0.001"), ("16", "32")
    cuts = ["head", *(str({"type": "head_tail", "head": head, "tail": 192}) for head in (32, 64))]
    assert found == [(rate, batch, cut) for rate in rates for batch in batches for cut in cuts]


def test_a_key_under_a_choice_is_only_there_if_it_was_chosen() -> None:
    space = space_of(SPACE)
    assert "task.truncation[1].head" not in space.settle(lambda parameter: 0.0).point
    assert "task.truncation[1].head" in space.settle(lambda parameter: 1.0).point


def test_a_choice_of_a_whole_component_becomes_a_layer_with_its_origin() -> None:
    (layer,) = space_of("task.truncation:\n  - {type: head_tail, head: 8}").settle(lambda parameter: 0.0).layers
    task = layer.nodes["task"]
    assert isinstance(task, Branch)
    assert task.nodes["truncation"].origin.place == "space.yaml:2"


RANGES = st.builds(
    lambda kind, low, width, step: RangeParameter("x", kind, low, low + width, None, step=step),  # type: ignore[arg-type]
    st.sampled_from(["double", "log", "reverse_log"]),
    st.floats(1e-6, 10),
    st.floats(1e-3, 100),
    st.none(),
)


@given(RANGES, st.floats(0, 1))
def test_every_place_of_a_range_lies_in_it_and_is_found_again(each: RangeParameter, place: float) -> None:
    text = each.text_at(place)
    assert each.low <= float(text) <= each.high
    found = each.place_of(text)
    assert found is not None
    assert float(each.text_at(found)) == pytest.approx(float(text), rel=1e-4, abs=1e-4 * (each.high - each.low))


@given(st.integers(-5, 5), st.integers(1, 20), st.sampled_from([None, 1, 2, 3]), st.floats(0, 1))
def test_whole_numbers_are_uniform_over_their_steps_and_both_ends_are_reached(
    low: int, width: int, step: int | None, place: float
) -> None:
    each = RangeParameter("x", "int", low, low + width, None, step=step)  # type: ignore[arg-type]
    values = [int(each.text_at(at)) for at in map(each.grid_place, range(each.grid_size))]
    assert values == list(range(low, low + width + 1, step or 1))
    assert int(each.text_at(place)) in values


def test_points_of_an_int_grid_are_rounded_and_a_count_of_one_is_the_middle() -> None:
    def points(count: int) -> list[str]:
        each = RangeParameter("x", "int", 0, 10, None, count=count)  # type: ignore[arg-type]
        return [each.text_at(place) for place in map(each.grid_place, range(each.grid_size))]

    assert points(3) == ["0", "5", "10"]
    assert points(4) == ["0", "3", "7", "10"]
    assert points(1) == ["5"]
    assert len(points(99)) == 11


def test_a_reverse_log_scale_is_fine_near_its_top() -> None:
    each = RangeParameter("x", "reverse_log", 0.9, 0.999, None)  # type: ignore[arg-type]
    gaps = [0.999 - float(each.text_at(place)) for place in (0.0, 0.5, 1.0)]
    assert gaps[0] > gaps[1] > gaps[2] == 0
    wide = RangeParameter("x", "reverse_log", 0.001, 1.0, None)  # type: ignore[arg-type]
    assert math.isclose(1.001 - float(wide.text_at(0.5)), math.sqrt(0.001), rel_tol=1e-3)


def test_values_of_another_run_are_found_in_a_space() -> None:
    space = space_of(SPACE)
    for point in grid_of(space):
        values = space.at(point).values
        found = space.find(values)
        assert found is not None
        assert space.at(found).values == values
    assert space.find({"optimizer.learning_rate": 1.0}) is None
