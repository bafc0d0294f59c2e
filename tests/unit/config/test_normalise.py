import pytest

from burnish.config.layering import normalise
from burnish.config.nodes import Branch, plain
from burnish.config.origins import DEFAULT
from burnish.spec.experiment import Experiment
from tests.unit.config.fakes import HERE, fake_registry, layer

NOTHING = Branch({}, DEFAULT)


def normal(text: str, below: Branch = NOTHING) -> Branch:
    return normalise(layer(text), below, root=Experiment, registry=fake_registry())


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("task: guess", {"task": {"type": "guess"}}),
        ("task: g", {"task": {"type": "g"}}),
        (f"task: {HERE}:Guess", {"task": {"type": f"{HERE}:Guess"}}),
        ("task: unheard_of", {"task": {"type": "unheard_of"}}),
        ("model: package:weights/model", {"model": {"name": "package:weights/model"}}),
        ("model: line", {"model": {"type": "line"}}),
        ("data: rows.csv", {"data": {"path": "rows.csv"}}),
        ("schedule: liner", {"schedule": {"type": "liner"}}),
        ("train: {batch: 32}", {"train": {"batch": {"examples": "32"}}}),
        ("train: {select: f1, ema: 0.9}", {"train": {"select": {"score": "f1"}, "ema": {"decay": "0.9"}}}),
        ("train: {keep: 3}", {"train": {"keep": {"last": "3"}}}),
        ("metrics: right", {"metrics": [{"type": "right"}]}),
        ("metrics: {type: mean}", {"metrics": [{"type": "mean"}]}),
        ("metrics: [right, {average: macro}]", {"metrics": [{"type": "right"}, {"average": "macro"}]}),
        ("metrics: null", {"metrics": None}),
        ("task: {type: guess, truncation: ends}", {"task": {"type": "guess", "truncation": {"type": "ends"}}}),
        ("data: {cut: 3}", {"data": {"cut": {"rows": "3"}}}),
        ("data: {cuts: [3, {rows: 4}]}", {"data": {"cuts": [{"rows": "3"}, {"rows": "4"}]}}),
        ("train: {ema: null}", {"train": {"ema": None}}),
        ("tasks: guess", {"tasks": "guess"}),
    ],
)  # fmt: skip
def test_a_short_form_is_written_out(short: str, long: object) -> None:
    assert plain(normal(short)) == long


def test_a_bare_scalar_fills_the_shorthand_of_the_lower_layers_type() -> None:
    below = normal("task: {type: guess, truncation: ends}")
    assert plain(normal("task: {truncation: 0.3}", below)) == {"task": {"truncation": {"share": "0.3"}}}


def test_options_without_a_type_belong_to_the_type_below() -> None:
    below = normal("data: {type: named, set: sst2}")
    section = normal("data: {dir: here}", below).nodes["data"]
    assert isinstance(section, Branch)
    assert section.type == "named"


def test_a_written_out_value_keeps_the_origin_of_the_short_one() -> None:
    section = normal("\n\nmodel: tiny").nodes["model"]
    assert isinstance(section, Branch)
    assert section.nodes["name"].origin.place == "base.yaml:3"
