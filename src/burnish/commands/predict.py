"""`burnish predict`: rows in, predictions out."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.artifact.locate import find_artifact
from burnish.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.artifact.predictor import Prediction
    from burnish.spec.values import Outcome

FORMATS = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow")


def predict(target: str, rows: Sequence[Mapping[str, Any]]) -> "list[Prediction]":
    """Predict rows given as mappings from column to value; `text` and `pair` may stand for the model's own columns."""
    from burnish.artifact.predictor import Predictor

    predictor = Predictor.load(find_artifact(target))
    return predictor.predict([_renamed(row, predictor.input_columns) for row in rows])


def predict_file(
    target: str,
    *,
    source: str,
    out: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Predict every row of a file and write it with the predictions beside its own columns; tell how many."""
    from burnish.artifact.predictor import Predictor
    from burnish.data.read_one import read_file

    if out.suffix not in FORMATS:
        raise DataError(f"{out} must end in one of {', '.join(FORMATS)}, which says how to write it")
    predictor = Predictor.load(find_artifact(target))
    rows = read_file(source, columns=predictor.input_columns)
    table = _beside(rows.table, predictor.outcome(rows.table, progress=progress))
    _write(table, out)
    return int(table.num_rows)


def _renamed(row: Mapping[str, Any], columns: Sequence[str]) -> Mapping[str, Any]:
    if set(columns) <= set(row):
        return row
    own = dict(zip(("text", "pair"), columns, strict=False))
    return {own.get(name, name): value for name, value in row.items()}


def _beside(table: "pa.Table", outcome: "Outcome") -> "pa.Table":
    from burnish.artifact.tables import prediction_columns

    taken = set(table.column_names)
    for name, column in prediction_columns(outcome).items():
        table = table.append_column(name if name not in taken else f"burnish_{name}", column)
    return table


def _write(table: "pa.Table", out: Path) -> None:
    from burnish.artifact.tables import write_table
    from burnish.storage.durable import replace_durably

    out.parent.mkdir(parents=True, exist_ok=True)
    replace_durably(out, lambda temporary: write_table(table, temporary, suffix=out.suffix))
