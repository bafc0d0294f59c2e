from typing import Annotated, Literal

import pytest

from burnish.config.locate import experiments
from burnish.config.nodes import write_path
from burnish.config.render import document, leaves
from burnish.config.resolve import load
from burnish.config.shape import describe_fields
from burnish.config.sources import read_value
from burnish.config.suggest import KnownOption, every_option
from burnish.spec.component import Component, Slot
from burnish.spec.experiment import Experiment
from tests.unit.config.fakes import Bundle, Cut, Guess, Net, Table, given_to


def test_the_slots_of_an_experiment_are_seen() -> None:
    shapes = describe_fields(Experiment)
    kinds = {name: (shape.slot.kind, shape.is_many) for name, shape in shapes.items() if shape.slot}
    assert kinds["task"] == ("tasks", False)
    assert kinds["metrics"] == ("metrics", True)
    assert kinds["track"] == ("trackers", True)
    assert shapes["name"].is_plain


def test_sections_and_lists_of_sections_are_seen() -> None:
    shapes = describe_fields(Table)
    assert (shapes["cut"].component, shapes["cut"].is_many) == (Cut, False)
    assert (shapes["cuts"].component, shapes["cuts"].is_many) == (Cut, True)
    assert shapes["filter"].is_plain


def test_a_slot_inside_a_union_or_a_component_is_seen() -> None:
    assert describe_fields(Net)["fallback"].slot == Slot("truncations")
    assert describe_fields(Guess)["truncation"].slot == Slot("truncations", default="front")


def test_a_list_of_plain_values_is_told_from_a_choice_of_forms() -> None:
    class Sample(Component):
        names: tuple[str, ...] | None = None
        weights: Literal["none"] | tuple[float, ...] = "none"
        marked: Annotated[frozenset[int], "why"] = frozenset()

    shapes = describe_fields(Sample)
    assert [shapes[name].wants_list for name in ("names", "weights", "marked")] == [True, False, True]


def test_slots_by_name_are_told_from_plain_sections() -> None:
    tasks, scores = (describe_fields(Bundle)[name] for name in ("tasks", "scores"))
    assert [(each.is_named, each.is_many) for each in (tasks, scores, tasks.each)] == [
        (True, False),
        (True, True),
        (False, False),
    ]
    assert not describe_fields(Table)["filter"].is_named


@pytest.mark.parametrize("name", [each.name for each in experiments()])
def test_every_option_accepts_the_value_it_has(name: str) -> None:
    resolved = load(name, overrides=given_to(name))
    options: dict[str, list[KnownOption]] = {}
    for option in every_option(resolved.registry):
        options.setdefault(option.path, []).append(option)
    values = {
        write_path(path): value for path, value in leaves(document(resolved.experiment, registry=resolved.registry))
    }
    scalars = {
        path: str(value) for path, value in values.items() if isinstance(value, str | int | float) and value != ""
    }
    refused = [
        path
        for path, text in scalars.items()
        if path in options
        and not any(each.accepts(read_value(text, source=""), registry=resolved.registry) for each in options[path])
    ]
    assert refused == []
