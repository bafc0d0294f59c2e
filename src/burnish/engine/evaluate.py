"""Runs a network over a whole set of features and collects what it says."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from burnish.spec.values import Draw

if TYPE_CHECKING:
    from burnish.spec.values import Array, Batch

Collate = Callable[["Array", Draw], "Batch"]
Infer = Callable[["Batch"], "Array"]


def infer_all(
    infer: Infer,
    collate: Collate,
    plan: Sequence["Array"],
    *,
    draws: Sequence[Draw],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, "Array"]:
    """Give logits, rows, parts and labels of every feature, once for each draw; the order means nothing."""
    total = sum(len(indices) for indices in plan) * len(draws)
    pieces: list[dict[str, Array]] = []
    done = 0
    for draw in draws:
        for indices in plan:
            batch = collate(indices, draw)
            kept = {name: batch[name] for name in ("row", "label") if name in batch}
            # A part's number keeps windows and views of one row in one order, however batches were cut.
            parts = indices.astype(np.int64) + draw.view * total
            pieces.append({"logits": infer(batch), "part": parts, **kept})
            done += len(indices)
            progress(done, total)
    return _joined(pieces)


def _joined(pieces: Iterable[dict[str, "Array"]]) -> dict[str, "Array"]:
    columns: dict[str, list[Array]] = {}
    for piece in pieces:
        for name, values in piece.items():
            columns.setdefault(name, []).append(values)
    return {name: np.concatenate(values) for name, values in columns.items()}
