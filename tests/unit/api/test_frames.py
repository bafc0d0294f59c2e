"""Rows from memory: the same rows make the same file, and what no table can hold is refused in a sentence."""

from datetime import datetime
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from burnish.api import frames
from burnish.api.frames import is_frame, like, store, table_of_frame, with_files
from burnish.data.readers.read import read_table
from burnish.errors import DataError

ROWS = {"area": [1.5, None, 3.0], "city": ["a", "b", None]}


def read(path: Path) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(ROWS, index=[7, 8, 9]),
        pl.DataFrame(ROWS),
        pa.table(ROWS),
        pa.table(ROWS).to_reader(max_chunksize=1),
        pa.RecordBatch.from_pydict(ROWS),
        datasets.Dataset.from_dict(ROWS),
    ],
    ids=lambda frame: type(frame).__module__,
)
def test_read_table_any_kind_become_an_arrow_file(frame: object) -> None:
    assert is_frame(frame)
    assert read(store(frame)).to_pydict() == ROWS


def test_the_file_is_named_by_the_rows_and_not_by_how_they_come() -> None:
    whole = pa.table({"n": range(200_000)})
    paths = {
        store(each) for each in (whole, whole.to_reader(max_chunksize=777), pa.concat_tables([whole[:5], whole[5:]]))
    }
    assert len(paths) == 1
    assert store(whole.slice(1)) not in paths


def test_a_file_that_is_there_is_not_replaced() -> None:
    path = store(pa.table({"n": [1, 2]}))
    before = path.stat()
    assert store(pa.table({"n": [1, 2]})) == path
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert not [*path.parent.glob(".*")]


def test_names_of_columns_become_text_and_the_index_is_left_out() -> None:
    frame = pd.DataFrame(np.eye(2), index=pd.Index([4, 5], name="row"))
    assert table_of_frame(frame).to_pydict() == {"0": [1.0, 0.0], "1": [0.0, 1.0]}


def test_types_that_arrow_lacks_are_read_as_people_write_them() -> None:
    frame = pd.DataFrame(
        {
            "month": pd.period_range("2020-01", periods=2, freq="M"),
            "range": pd.interval_range(0, 2),
            "kind": pd.Categorical(["u", None]),
            "when": pd.to_datetime(["2020-01-01", None]),
            "flag": pd.array([True, None], dtype="boolean"),
        }
    )
    assert table_of_frame(frame).to_pylist()[0] == {
        "month": "2020-01",
        "range": "(0, 1]",
        "kind": "u",
        "when": datetime(2020, 1, 1),
        "flag": True,
    }
    assert [*table_of_frame(frame).to_pylist()[1].values()][2:] == [None, None, None]


def test_categories_of_polars_are_text() -> None:
    frame = pl.DataFrame({"kind": pl.Series(["u", None], dtype=pl.Categorical)})
    assert table_of_frame(frame).to_pydict() == {"kind": ["u", None]}


def test_a_data_set_gives_the_names_of_its_classes() -> None:
    features = datasets.Features({"label": datasets.ClassLabel(names=["no", "yes"])})
    assert table_of_frame(datasets.Dataset.from_dict({"label": [1, 0]}, features=features))["label"].to_pylist() == [
        "yes",
        "no",
    ]


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (pd.DataFrame({"a": []}), "the DataFrame holds no rows"),
        (pd.DataFrame(index=[1, 2]), "the DataFrame has no columns"),
        (pa.table({}), "the Table has no columns"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the DataFrame names the column a more than once"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "the DataFrame names the column 1 more than once"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "columns of 2 levels"),
        (pd.DataFrame({"a": [1, "x"]}), r"column a of the DataFrame .* like df\['a'\] = df\['a'\]\.astype\(str\)"),
        (pd.DataFrame({"a": [1j]}), "column a of the DataFrame holds values that do not go together"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(frame: object, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        store(frame)
    with pytest.raises(DataError, match=sentence):
        table_of_frame(frame)


def test_a_cache_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(frames, "cache_root", lambda: tmp_path / "file")
    with pytest.raises(DataError, match=r"frames cannot be written .* set BURNISH_CACHE"):
        store(pa.table({"a": [1]}))


def test_tables_inside_of_options_become_paths() -> None:
    found = with_files({"data": {"train": [pa.table({"a": [1]})], "split": {"test": "10%"}}, "seed": 3})
    assert found["data"]["split"] == {"test": "10%"}
    assert found["seed"] == 3
    assert read(Path(found["data"]["train"][0])).to_pydict() == {"a": [1]}


def test_answers_become_what_the_rows_were() -> None:
    probabilities = pa.StructArray.from_arrays([pa.array([0.2, 0.9]), pa.array([0.8, 0.1])], names=["no", "yes"])
    answers = pa.table({"predicted": ["yes", "no"], "probabilities": probabilities})
    frame = like(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]), answers)
    assert [*frame.index] == ["x", "y"]
    assert [*frame.columns] == ["predicted", "probability_no", "probability_yes"]
    of_polars = like(pl.DataFrame({"a": [1, 2]}), answers)
    assert of_polars.columns == [*frame.columns]
    assert of_polars.row(0) == ("yes", 0.2, 0.8)
    assert like(pa.table({"a": [1, 2]}), answers) is answers


def test_a_table_in_memory_is_checked_as_a_file_is() -> None:
    with pytest.raises(DataError, match=r"there is no column `city`. Did you mean `citty`\?[^/]*in the DataFrame"):
        read_table(pa.table({"citty": ["a"]}), name="the DataFrame", columns=["city"])
