"""Features are kept in few bytes, and a batch made of them is, bit for bit, what the plan encodes."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.spec.values import RandomKey, RowOrigins, Rows
from burnish.tasks.tabular import Tabular
from burnish.tasks.tabular.encoder import TableEncoder
from burnish.tasks.tabular.features import Compact, FrameEncoder, fewest_bytes
from burnish.tasks.tabular.frame import ColumnFrame

DRAW = RandomKey(seed=0, epoch=0, is_training=False)
OPTIONS: dict[str, Any] = {
    "target": "late",
    "columns": {"fare": {"kind": "number", "boundaries": [5, 10]}, "town": {"kind": "hash", "buckets": 300}},
    "crosses": [{"columns": ["pay", "fare"], "buckets": 70_000}],
}


def trips(num_rows: int, seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "fare": [
                "" if gap else f"{fare:.2f}" for gap, fare in draw.random((num_rows, 2)) * 20 // [10, 1e-2] * 1e-2
            ],
            "miles": [f"{miles:.1f}" for miles in draw.gamma(2, 2, num_rows)],
            "pay": [("cash", "card", "")[at] for at in draw.integers(0, 3, num_rows)],
            "town": [f"town {at}" for at in draw.integers(0, 50, num_rows)],
            "late": [str(at % 2) for at in range(num_rows)],
        }
    )


def encoder_of(table: pa.Table) -> TableEncoder:
    task = Tabular.model_validate(OPTIONS)
    rows = Rows(table, RowOrigins(("t.csv",), np.zeros(len(table), np.int32), np.arange(len(table)), (2,)))
    found = task.encoder(task.profile(rows), None)  # type: ignore[arg-type]  # no assets needed
    assert isinstance(found, TableEncoder)
    return found


def plainly(encoder: TableEncoder, table: pa.Table) -> dict[str, Any]:
    """Encode without anything compact."""
    features = FrameEncoder(encoder.plan, ColumnFrame(table))
    return {
        "numbers": features.numbers(),
        "categories": features.categories().astype(np.int64),
        "wide": features.wide(encoder.plan.wide).astype(np.int64),
    }


def test_a_batch_is_what_the_plan_encodes_and_keeps_the_types_of_a_network() -> None:
    table = trips(80)
    encoder = encoder_of(table)
    places = np.array([7, 3, 3, 79, 0])
    batch = encoder.collate(encoder.encode(table), places, DRAW)
    for name, expected in plainly(encoder, table).items():
        np.testing.assert_array_equal(batch[name], expected[places], err_msg=name)
        assert batch[name].dtype == expected.dtype
    assert batch["label"].dtype == np.int64
    assert "flags" not in batch


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=5), st.data())
def test_chunks_do_not_show(sizes: list[int], data: st.DataObject) -> None:
    table = trips(sum(sizes))
    encoder = encoder_of(trips(120, seed=1))
    whole = encoder.encode(table)
    starts = np.cumsum([0, *sizes])
    parts = pa.concat_tables([whole.slice(start, size) for start, size in zip(starts, sizes, strict=False)])
    places = np.array(data.draw(st.lists(st.integers(0, sum(sizes) - 1), max_size=40)), dtype=np.int64)
    one, several = (encoder.collate(features, places, DRAW) for features in (whole, parts))
    for name in one:
        np.testing.assert_array_equal(one[name], several[name], err_msg=name)


def test_a_row_takes_few_bytes() -> None:
    features = encoder_of(trips(80)).encode(trips(80))
    kinds = {name: features[name].type for name in features.column_names}
    assert kinds["numbers"] == pa.list_(pa.float32(), 2)  # of fare and miles; whether fare is missing is a flag
    assert kinds["flags"] == pa.list_(pa.uint8(), 1)
    assert kinds["categories"] == pa.list_(pa.uint16(), 2)  # 302 ids of towns
    assert kinds["wide"] == pa.list_(pa.uint32(), 2)  # buckets and the cross; the others are told by the categories
    assert kinds["label"] == pa.uint8()


@pytest.mark.parametrize(("count", "kind"), [(1, "uint8"), (256, "uint8"), (257, "uint16"), (65_537, "uint32")])
def test_the_smallest_type_holds_all_numbers_below_a_count(count: int, kind: str) -> None:
    assert fewest_bytes(count) == np.dtype(kind)


def test_a_table_of_categories_alone_has_no_numbers() -> None:
    table = trips(60).select(["pay", "town", "late"])
    task = Tabular.model_validate({"target": "late"})
    rows = Rows(table, RowOrigins(("t.csv",), np.zeros(60, np.int32), np.arange(60), (2,)))
    encoder = task.encoder(task.profile(rows), None)  # type: ignore[arg-type]  # no assets needed
    assert isinstance(encoder, TableEncoder)
    assert "numbers" not in Compact(encoder.plan).unpacked({"row": np.arange(0)} | {"categories": np.zeros((0, 2))})
    assert set(encoder.collate(encoder.encode(table), np.arange(5), DRAW)) == {"row", "categories", "wide", "label"}
