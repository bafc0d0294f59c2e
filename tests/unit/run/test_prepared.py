"""A folder of prepared data is believed only as it was written."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.errors import DataError
from burnish.run.preparation.read_prepared import read_features, refuse_misfit
from burnish.run.preparation.write_prepared import shards
from burnish.run.prepared import PreparedFolder
from burnish.spec.values import Splits
from burnish.storage import manifest
from tests.data_request import Asked

ROWS = pa.table({"text": ["a", "b", "c"], "label": ["0", "1", "0"]})
FEATURES = pa.table({"length": pa.array([1, 1, 1], pa.int32()), "row": pa.array([0, 1, 2], pa.int64())})
SIZES = {"rows": 3, "features": 3, "rows_shards": 1, "features_shards": 1}


def write(folder: Path, **changes: Any) -> Path:
    content = {
        "rows": ROWS,
        "features": FEATURES,
        "format": "burnish prepared data 1",
        "encoder": {"policy": "head"},
        "profile": {},
        "splits": {"train": SIZES, "validation": SIZES},
        **changes,
    }
    for kind in ("rows", "features"):
        (folder / kind).mkdir(parents=True)
        table = content.pop(kind)
        for split in ("train", "validation"):
            path = str(folder / kind / f"{split}-00000.arrow")
            with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
    manifest.commit(folder, content)
    return folder


class Lengths:
    """Encode a row as its number."""

    key: ClassVar = {"policy": "head"}

    def encode(self, table: pa.Table) -> pa.Table:
        return FEATURES.slice(0, len(table))

    def limits(self, features: pa.Table, *, num_rows: int) -> tuple[()]:
        return ()


def load(folder: Path) -> Splits:
    return PreparedFolder(dir=str(folder)).load(Asked(columns=("text", "label")))


def test_rows_and_features_come_back(tmp_path: Path) -> None:
    splits = load(write(tmp_path / "a"))
    assert splits.train.table.equals(ROWS)
    assert splits.train.places.describe(1).endswith("a [train] row 2")
    stored = read_features(str(tmp_path / "a"), "train", encoder=Lengths(), rows=splits.train)
    assert stored.table.equals(FEATURES)


@pytest.mark.parametrize(
    ("splits", "said"),
    [
        ({"train": SIZES}, "has no manifest of prepared data"),
        (
            {"train": SIZES, "validation": SIZES, "../../etc": SIZES},
            r"describes a split '\.\./\.\./etc' that cannot be",
        ),
        ({"train": SIZES, "validation": {**SIZES, "rows": -1}}, "describes a split 'validation' that cannot be"),
        ({"train": SIZES, "validation": {**SIZES, "rows_shards": "9"}}, "describes a split 'validation'"),
        ({"train": SIZES, "validation": {**SIZES, "rows_shards": 2}}, "does not list rows/validation-00001.arrow"),
        ({"train": SIZES, "validation": {**SIZES, "rows": 4}}, "holds 3 rows of validation, and 4 are listed"),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(tmp_path: Path, splits: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        load(write(tmp_path / "a", splits=splits))


def test_a_changed_byte_is_told(tmp_path: Path) -> None:
    shard = write(tmp_path / "a") / "features" / "train-00000.arrow"
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    with pytest.raises(DataError, match=r"features/train-00000\.arrow was changed after it was written"):
        load(tmp_path / "a")


def test_a_manifest_that_points_elsewhere_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "a")
    content = json.loads((folder / manifest.NAME).read_text())
    del content["digest"]
    content["files"]["../secret"] = {"bytes": 1, "sha256": ""}
    (folder / manifest.NAME).write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"\.\./secret points outside the folder"):
        load(folder)


def test_another_format_and_no_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no manifest of prepared data that this version"):
        load(write(tmp_path / "a", format="burnish prepared data 9"))
    with pytest.raises(DataError, match="is not a complete folder of prepared data: MANIFEST"):
        load(tmp_path / "none")


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (FEATURES.append_column("more", FEATURES["row"]), "train-00000.arrow has other columns"),
        (FEATURES.set_column(1, "row", pa.array([0, 1, 7])), "`row` holds 7, and this experiment has 0 to 2 there"),
        (FEATURES.set_column(1, "row", pa.array([0, -1, 2])), "`row` holds -1, and this experiment has 0 to 2 there"),
        (FEATURES.set_column(1, "row", pa.array([0, None, 2])), "`number of empty cells in row` holds 1"),
    ],
)
def test_features_of_other_rows_are_refused(tmp_path: Path, features: pa.Table, said: str) -> None:
    splits = load(write(tmp_path / "a", features=features))
    with pytest.raises(DataError, match=said):
        read_features(str(tmp_path / "a"), "train", encoder=Lengths(), rows=splits.train)


def test_what_differs_is_named(tmp_path: Path) -> None:
    folder = str(write(tmp_path / "a"))
    refuse_misfit(folder, Lengths())
    with pytest.raises(DataError, match='; its features differ: policy is "tail" here and "head" there'):
        refuse_misfit(folder, SimpleNamespace(key={"policy": "tail"}))


@given(st.lists(st.integers(0, 200), min_size=1, max_size=40), st.integers(1, 400))
def test_shards_are_bounded_and_together_the_table(lengths: list[int], most: int) -> None:
    table = pa.table({"ids": [np.arange(length) for length in lengths]})
    found = list(shards(table, most))
    assert pa.concat_tables(found).equals(table)
    assert all(each.nbytes <= most or len(each) == 1 for each in found)
