"""A column that alone tells the target is found; one that helps a lot is not."""

import numpy as np
import pyarrow as pa
import pytest

from burnish.tasks.labels import LabelColumns
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.leakage import giveaways


def rides(num_rows: int = 800) -> ColumnFrame:
    draw = np.random.default_rng(0)
    fare = draw.gamma(2, 6, num_rows).round(2)
    is_paid_by_card = draw.random(num_rows) < 0.5
    tips = np.where(is_paid_by_card & (draw.random(num_rows) < 0.8), 0.3 * fare, 0).round(2)
    return ColumnFrame(
        pa.table(
            {
                "fare": [None if at % 50 == 0 else str(each) for at, each in enumerate(fare)],
                "tips": tips,
                "pay": np.where(is_paid_by_card, "Card", "Cash"),
                "ride": [f"r{at}" for at in range(num_rows)],
                "total": fare * 1.1,
                "tipped": np.where(tips > 0, "yes", "no"),
                "mood": np.where(tips > 9, "glad", np.where(tips > 0, "fair", "sad")),
                "cost": fare,
            }
        )
    )


@pytest.mark.parametrize(
    ("target", "kind", "found"),
    [
        ("tipped", "binary", {"tips", "mood"}),
        ("mood", "multiclass", {"tips"}),
        ("cost", "regression", {"total"}),
        ("pay", "binary", set()),
    ],
)
def test_what_tells_the_target_is_found_and_nothing_else(target: str, kind: str, found: set[str]) -> None:
    frame = rides()
    names = [name for name in frame.table.column_names if name not in (target, "fare")]
    assert set(giveaways(frame, names, target=LabelColumns((target,)), kind=kind)) == found


def test_a_handful_of_rows_proves_nothing() -> None:
    assert giveaways(rides(60), ["tips"], target=LabelColumns(("tipped",)), kind="binary") == {}


@pytest.mark.parametrize("column", ["slip", "change"])
def test_a_gap_gives_away_what_it_stands_for(column: str) -> None:
    is_tipped = np.arange(200) % 3 == 0
    table = pa.table(
        {
            "slip": [f"no. {at % 7}" if tipped else None for at, tipped in enumerate(is_tipped)],
            "change": [str(at % 7) if tipped else "" for at, tipped in enumerate(is_tipped)],
            "tipped": np.where(is_tipped, "yes", "no"),
        }
    )
    assert set(giveaways(ColumnFrame(table), [column], target=LabelColumns(("tipped",)), kind="binary")) == {column}
