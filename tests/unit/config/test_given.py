"""An experiment given as values of Python: what it means, and what is said of what it cannot mean."""

from pathlib import Path

import pytest

from burnish.config import Given, Origin, from_values, load
from burnish.errors import ConfigError

HERE = Origin("walk.py", 12)
TABLE = {"task": {"type": "tabular", "target": "price"}, "data": {"train": "prices.csv"}, "model": "linear"}


def given(options: dict[str, object], *overrides: dict[str, object]) -> tuple[Given, list[object]]:
    layers = [layer for each in overrides for layer in from_values(each, origin=HERE)]
    return Given("prices", tuple(from_values(options, origin=HERE))), layers


def test_a_mapping_means_what_the_same_yaml_means(tmp_path: Path) -> None:
    text = "task: {type: tabular, target: price}\ndata: {train: prices.csv}\nmodel: linear\ntrain: {batch: 16}\n"
    (tmp_path / "prices.yaml").write_text(text)
    experiment, _ = given({**TABLE, "train": {"batch": 16}})
    written = load(str(tmp_path / "prices.yaml")).experiment
    assert load(experiment).experiment.model_copy(update={"name": written.name}) == written


def test_keys_may_be_dotted_and_values_of_any_plain_kind() -> None:
    experiment, overrides = given(
        TABLE,
        {"train.length": "2 epochs", "train.clip": None, "train": {"batch": 16}, "optimizer.learning_rate": 1e-3},
        {"data.train": [Path("a.csv"), "b.csv"], "runtime.deterministic": False},
    )
    found = load(experiment, overrides=overrides).experiment
    assert str(found.train.length) == "2 epochs"
    assert found.train.clip is None
    assert found.train.batch.examples == 16
    assert found.optimizer.learning_rate == 1e-3
    assert found.data.train == ("a.csv", "b.csv")
    assert found.runtime.deterministic is False


def test_a_number_of_numpy_is_a_number() -> None:
    numpy = pytest.importorskip("numpy")
    experiment, overrides = given(TABLE, {"runtime.seed": numpy.int64(7), "train.clip": numpy.float32(0.5)})
    found = load(experiment, overrides=overrides).experiment
    assert (found.runtime.seed, found.train.clip) == (7, 0.5)


def test_a_value_knows_the_call_that_set_it() -> None:
    experiment, overrides = given(TABLE, {"train.length": "2 epochs"})
    assert str(load(experiment, overrides=overrides).origin("train.length")) == "set by walk.py:12"
    experiment, overrides = given(TABLE, {"train.lenght": "2 epochs"})
    with pytest.raises(ConfigError, match=r"Did you mean `train.length`\?\n  set by walk.py:12"):
        load(experiment, overrides=overrides)


def test_all_that_no_option_can_be_is_refused_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        from_values({"train.clip": object(), 3: "x", "task": {"target": {1, 2}}}, origin=HERE)
    assert len(refused.value.problems) == 3
    assert "train.clip must be text, a number, a list or a mapping, got object" in str(refused.value)
    assert "set by walk.py:12" in str(refused.value)
