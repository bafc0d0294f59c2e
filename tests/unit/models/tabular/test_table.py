"""Options of networks over a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

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


@pytest.mark.parametrize("bad", [{"dropout": 1.0}, {"layers": 0}, {"hidden": (0,)}, {"numbers": {"kind": "sines"}}])
def test_options_out_of_range_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Deep(**bad)  # type: ignore[arg-type]
