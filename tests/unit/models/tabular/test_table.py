"""Options of networks over a table."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from burnish.errors import ConfigError
from burnish.models.tabular.models import Deep, Linear, TabM, WideDeep
from burnish.spec.protocols import Architecture, Assets
from burnish.spec.values import TableInputs


@pytest.mark.parametrize("model", [Linear(), Deep(), WideDeep(), TabM()], ids=lambda model: type(model).__name__)
def test_models_over_tables_load_nothing(model: Architecture) -> None:
    assets: Assets = model.assets()
    assert model.heads == ("tabular",)
    assert model.max_positions() is None
    assert assets.digest == model.assets().digest


@given(st.integers(1, 500), st.floats(0.1, 2), st.integers(1, 6))
def test_layers_grow_or_shrink_by_a_factor(first: int, scale: float, layers: int) -> None:
    widths = Deep(first=first, scale=scale, layers=layers).widths()
    assert widths == tuple(max(2, int(first * scale**number)) for number in range(layers))


def test_widths_can_be_listed() -> None:
    assert Deep(hidden=(30, 20), first=7).widths() == (30, 20)


def test_a_category_becomes_the_square_root_of_its_ids_rounded_up() -> None:
    inputs = TableInputs(categories=("a", "b", "c", "d"), cardinalities=(2, 9, 10, 1_000_000))
    assert Deep().category_sizes(inputs) == (2, 3, 4, 64)
    assert Deep(category_size=5).category_sizes(inputs) == (5, 5, 5, 5)
    assert Deep(category_size={"c": "one_hot", "b": 7}).category_sizes(inputs) == (2, 7, None, 64)


def test_one_hot_takes_4096_ids_and_no_more() -> None:
    inputs = TableInputs(categories=("a", "b"), cardinalities=(4000, 96))
    assert Deep(category_size="one_hot").category_sizes(inputs) == (None, None)
    more = TableInputs(categories=("a", "b", "c"), cardinalities=(96, 4000, 1))
    words = r"make 4,097 numbers of each row, and 4,096 is the most \(widest: b 4,000, a 96, c 1\);.* {c: one_hot}"
    with pytest.raises(ConfigError, match=words):
        Deep(category_size="one_hot").category_sizes(more)
    assert Deep(category_size={"a": "one_hot", "c": "one_hot"}).category_sizes(more) == (None, 64, None)


def test_a_size_for_what_is_no_category_is_refused() -> None:
    inputs = TableInputs(numbers=("n",), edges=((0.0, 1.0),), categories=("a", "b"), cardinalities=(2, 5000))
    words = "model.category_size.n: there is no category of this name; there are a, b"
    with pytest.raises(ConfigError, match=re.escape(words)) as caught:
        Deep(category_size={"n": 3, "b": "one_hot"}).category_sizes(inputs)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    "bad",
    [
        {"dropout": 1.0},
        {"layers": 0},
        {"hidden": (0,)},
        {"numbers": {"kind": "sines"}},
        {"category_size": "two_hot"},
        {"category_size": {"a": 0}},
    ],
)
def test_options_out_of_range_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Deep(**bad)  # type: ignore[arg-type]
