"""What a verb may be given, and what is said of what it may not."""

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import burnish
from burnish.api.inputs import as_experiment, as_layers, experiment_for_rows, find_caller, is_rows
from burnish.config import Given, Origin, load
from burnish.errors import BurnishError, ConfigError, DataError

HERE = Origin("walk.py", 12)
PRICES = pd.DataFrame({"area": range(40), "city": ["a", "b"] * 20, "price": [n * 3.5 for n in range(40)]})
TABLE = {"task": {"type": "tabular", "target": "price"}, "data": {"train": "prices.csv"}, "model": "linear"}


def proposed(source: object, **given: object) -> Given:
    options = {"splits": {}, "target": "price", "text": None, **given}
    return experiment_for_rows(source, **options, origin=HERE, tell=lambda _: None)  # type: ignore[arg-type]  # as given


@pytest.mark.parametrize("source", [PRICES, "prices.csv", Path("prices.parquet"), {"train": PRICES, "test": PRICES}])
def test_rows_are_told_from_experiments(source: object) -> None:
    assert is_rows(source)


@pytest.mark.parametrize("source", ["demo/reviews", Path("mine.yaml"), TABLE, {}, PRICES["price"], 3])
def test_experiments_are_told_from_rows(source: object) -> None:
    assert not is_rows(source)


def test_an_experiment_comes_back_as_it_was() -> None:
    first = load(as_experiment({**TABLE, "name": "prices"}, origin=HERE)).experiment  # type: ignore[arg-type]
    again = as_experiment(first, origin=HERE)
    assert isinstance(again, Given)
    assert again.name == "prices"
    assert load(again).experiment == first


def test_rows_inside_of_a_mapping_are_stored() -> None:
    given = as_experiment({**TABLE, "data": {"train": PRICES}}, origin=HERE)
    (path,) = load(given).experiment.data.train  # type: ignore[arg-type,attr-defined]
    assert path.endswith(".arrow")


def test_rows_alone_make_the_experiment_that_new_proposes(tmp_path: Path) -> None:
    given = proposed(PRICES)
    written = burnish.new(PRICES, target="price", out=tmp_path / "price.yaml")
    assert given.name == "price"
    assert load(given).experiment == load(str(written.path)).experiment
    assert str(load(given).origin("task.target")).startswith("set by what `burnish new` proposes for the rows:")


def test_further_rows_take_the_place_of_parts_of_train() -> None:
    found = load(proposed(PRICES, splits={"validation": PRICES[:20]})).experiment.data
    assert len(found.validation) == 1  # type: ignore[attr-defined]
    assert found.split.validation is None  # type: ignore[attr-defined]
    assert str(found.split.test) == "10%"  # type: ignore[attr-defined]
    assert load(proposed({"train": PRICES, "test": PRICES[:20]})).experiment.data.test  # type: ignore[attr-defined]


def test_a_column_may_be_named_by_a_number() -> None:
    frame = PRICES.set_axis([0, 1, 2], axis="columns")
    assert load(proposed(frame, target=2)).experiment.task.target == "2"  # type: ignore[attr-defined]


def test_overrides_are_a_mapping_or_words_of_the_command_line() -> None:
    base = as_experiment(TABLE, origin=HERE)
    for overrides in ({"train.batch": 16}, ["train.batch=16"], "train.batch=16"):
        found = load(base, overrides=as_layers(overrides, origin=HERE))  # type: ignore[arg-type]
        assert found.experiment.train.batch.examples == 16
        assert "walk.py:12" in str(found.origin("train.batch.examples"))


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        (PRICES, {"target": "prise"}, r"there is no column `prise`. Did you mean `price`\?"),
        (PRICES.head(0), {"target": "price"}, "the DataFrame holds no rows"),
        (PRICES["price"], {"target": "price"}, "an experiment is a name, .* got Series"),
        (PRICES.columns, {}, "an experiment is a name, .* got Index"),
        (None, {}, "an experiment is a name, .* got NoneType"),
        (pl.LazyFrame({"a": [1]}), {"target": "a"}, "got LazyFrame; collect it"),
        ("demo/reviews", {"target": "x", "test": PRICES}, "target and test: only for rows"),
        ({"trian": PRICES}, {"target": "price"}, "rows are for train, and may be for validation and test; got trian"),
        (
            TABLE,
            {"overrides": {"train.lenght": "2 epochs"}},
            r"Did you mean `train.length`\?\n  set by .*test_inputs.py:\d+",
        ),
        (TABLE, {"overrides": ["train.batch"]}, "'train.batch' is not an override"),
        (TABLE, {"overrides": {"train.clip": PRICES["price"]}}, "train.clip must be text, .* got Series"),
        ("nothing.csv", {"target": "price"}, "nothing.csv"),
        (PRICES, {"target": "price", "test": PRICES.drop(columns="price")}, "there is no column `price`"),
    ],
)
def test_a_mistake_gets_a_sentence(
    source: object, options: dict[str, object], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ConfigError, DataError), match=sentence):
        burnish.train(source, **options, progress=False)
    assert not [*tmp_path.iterdir()]


def test_the_caller_is_the_line_outside_of_burnish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "walk.py"
    script.write_text("\n\nfound = find_caller()\n")
    globals_ = {"find_caller": find_caller, "__name__": "__main__"}
    exec(compile(script.read_text(), str(script), "exec"), globals_)
    assert globals_["found"] == Origin("walk.py", 3)


def test_in_a_notebook_the_caller_is_a_line_of_a_cell() -> None:
    class Shell:
        execution_count = 5

    globals_ = {"find_caller": find_caller, "__name__": "__main__", "get_ipython": Shell}
    exec(compile("\nfound = find_caller()", "/tmp/ipykernel_1/2.py", "exec"), globals_)
    assert globals_["found"].place == "In [5]:2"  # type: ignore[attr-defined]


def test_a_run_that_is_not_there_is_named() -> None:
    with pytest.raises(BurnishError, match="nowhere is neither a run nor an artifact"):
        burnish.load("nowhere")
    with pytest.raises(BurnishError, match="nowhere is not a run"):
        burnish.resume("nowhere")
