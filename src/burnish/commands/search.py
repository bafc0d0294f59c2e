"""`burnish search`: the passages of a file that are nearest to a query, by the embeddings of a retrieval run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from burnish.artifact.locate import find_artifact
from burnish.data.sources.address import find
from burnish.errors import DataError
from burnish.spec.values import Array, MemoryMapped, Rows

if TYPE_CHECKING:
    from burnish.artifact.predictor import Predictor

_DIGITS = 6


@dataclass(frozen=True)
class Hit:
    """A passage that was found."""

    score: float
    """The product of its embedding and the query's: the cosine, unless the run has `task.normalise: false`."""
    row: int
    """Its row in the file, from 1."""
    place: str
    text: str


def search(
    target: str,
    queries: Sequence[str],
    *,
    source: str,
    column: str | None = None,
    top: int = 5,
    task: str | None = None,
    trust_code: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[list[Hit]]:
    """Find the nearest passages to each query, best first; `column` is theirs, by default that of training."""
    find(source, option="the input")  # refuses a file that is not there before the model is loaded
    import numpy as np
    import pyarrow as pa

    from burnish.artifact.predictor import Predictor
    from burnish.tasks.embedding.task import Retrieval

    predictor = Predictor.load(find_artifact(target), task=task, trust_code=trust_code)
    asked = predictor.task
    if not isinstance(asked, Retrieval):
        raise DataError(
            f"{target} did not learn to search: its task is not retrieval, which trains embeddings for that"
        )
    name = column or asked.passage
    rows = _read(predictor, source, name)
    # By the column, too: the same file may be embedded by another one, and what is kept of that must not be taken.
    held = rows.held and replace(rows.held, digest=f"{rows.held.digest} {name}")
    passages = _embed(predictor, rows.table[name], held=held, progress=progress)
    found = _embed(predictor, pa.chunked_array([queries], pa.string())) @ passages.T
    nearest = np.argsort(-np.round(found, _DIGITS), axis=1, kind="stable")[:, :top]
    texts = rows.table[name]
    return [
        [Hit(float(scores[row]), int(row) + 1, rows.places.describe(row), texts[row].as_py() or "") for row in best]
        for scores, best in zip(found, nearest.tolist(), strict=True)
    ]


def _read(predictor: "Predictor", source: str, column: str) -> Rows:
    from burnish.data.readers.read import read_file

    try:
        return read_file(source, columns=(column,), like=predictor.experiment.data)
    except DataError as error:
        hint = "\n  say with --column which one holds the passages" if "no column" in str(error) else ""
        raise DataError(f"{error}{hint}") from error


def _embed(
    predictor: "Predictor",
    texts: object,
    *,
    held: MemoryMapped | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Array:
    import pyarrow as pa

    (column,) = predictor.input_columns
    return predictor.outcome(pa.table({column: texts}), held=held, progress=progress).outputs
