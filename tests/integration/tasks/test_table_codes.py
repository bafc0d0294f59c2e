"""A word has one id in training, validation, test and serving, and the order of a file's columns changes no bit."""

import csv
import json
import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from burnish.artifact.predictor import Predictor
from burnish.commands.config import check
from burnish.data.batching.ragged import read_column
from burnish.run.attempt import Trained
from burnish.run.finish import finish
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan
from tests.training import train_here

TOWNS = ("Ayr", "Bath", "Cork", "Deal", "Ely")
FAVOURITE = {"train": 0, "validation": 3, "test": 4}
"""In each split another town comes first and most often, so ids by order or by count would differ."""
SPLITS = tuple(FAVOURITE)
ORDERS = {"plain": ("town", "shop", "size", "is_open", "sold"), "turned": ("sold", "is_open", "size", "shop", "town")}


def _write(path: Path, split: str, columns: tuple[str, ...]) -> None:
    draw = random.Random(split)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        for number in range(300):
            town = TOWNS[FAVOURITE[split]] if number % 3 == 0 else draw.choice(TOWNS)
            size = draw.randint(1, 99)
            sold = int(size > 50 or town == "Cork")
            row = {"town": town, "shop": f"s{draw.randint(0, 40)}", "size": size, "is_open": number % 2, "sold": sold}
            writer.writerow(row)


def _trained(folder: Path, columns: tuple[str, ...]) -> Trained:
    folder.mkdir()
    for split in SPLITS:
        _write(folder / f"{split}.csv", split, columns)
    experiment = folder / "towns.yaml"
    experiment.write_text(
        "name: towns\ntask: {type: tabular, target: sold, kind: binary, importance: 0,"
        " columns: {shop: {kind: hash, buckets: 20}}, crosses: [[town, is_open]]}\n"
        f"data: {{dir: {folder}, {', '.join(f'{split}: {split}.csv' for split in SPLITS)}}}\n"
        "model: wide_deep\ntrain: {length: 2 epochs, batch: 64}\nruntime: {threads: 1}\n"
    )
    run = RunDirectory(folder / "run")
    settle_plan(run, check(str(experiment)))
    trained = train_here(run)
    finish(trained)
    trained.run.sinks.close()
    return trained


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[Path, Trained]]:
    root = tmp_path_factory.mktemp("towns")
    return {name: (root / name, _trained(root / name, columns)) for name, columns in ORDERS.items()}


def _codes(words: list[object], ids: np.ndarray) -> dict[object, set[int]]:  # type: ignore[type-arg]  # any whole number
    return {word: set(ids[[at for at, other in enumerate(words) if other == word]].tolist()) for word in TOWNS}


def test_a_category_has_one_id_everywhere(both: Mapping[str, tuple[Path, Trained]]) -> None:
    folder, trained = both["plain"]
    prepared = trained.prepared
    inputs = trained.experiment.task.head(prepared.profile).inputs
    assert inputs is not None
    at = inputs.categories.index("town")
    found = [
        _codes(
            prepared.rows[split].table["town"].to_pylist(), read_column(prepared.features[split]["categories"])[:, at]
        )
        for split in SPLITS
    ]
    predictor = Predictor.load(folder / "run" / "artifact")
    served = predictor.encoder.encode(pa.table({"town": list(reversed(TOWNS))}))
    found.append(_codes(list(reversed(TOWNS)), read_column(served["categories"])[:, at]))
    assert all(codes == found[0] for codes in found)
    assert sorted(next(iter(codes)) for codes in found[0].values()) == [2, 3, 4, 5, 6]
    assert all(len(codes) == 1 for codes in found[0].values())


def test_the_order_of_columns_in_the_files_changes_no_bit(both: Mapping[str, tuple[Path, Trained]]) -> None:
    (plain, first), (turned, second) = both["plain"], both["turned"]
    profiles = [json.loads((folder / "run/profile.json").read_text()) for folder in (plain, turned)]
    orders = [profile["facts"].pop("order") for profile in profiles]
    assert orders[0] == orders[1][::-1]  # the one thing that follows the file: how rows without names are read
    assert profiles[0] == profiles[1]
    weights = first.learner.network.state_dict()
    assert all(bool((weights[name] == other).all()) for name, other in second.learner.network.state_dict().items())
    said = [pq.read_table(folder / "run/predictions/test.parquet") for folder in (plain, turned)]
    assert said[0].equals(said[1])
