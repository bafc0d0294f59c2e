"""Runs a network over a whole set of features and collects what it says."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from burnish.dist.world import Solo, World
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
    world: World | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, "Array"]:
    """Give logits, rows, parts and labels of every feature, once for each draw; the order means nothing.

    Processes take whole batches of the plan in turn, and each gets everything: the numbers are those of one process,
    for the rounding of a matrix product may depend on the batch it is computed in.
    """
    world = world or Solo()
    mine = plan[world.rank :: world.size]
    total = sum(len(indices) for indices in plan) * len(draws)
    todo = sum(len(indices) for indices in mine) * len(draws)
    pieces: list[dict[str, Array]] = []
    done = 0
    for draw in draws:
        for indices in mine:
            batch = collate(indices, draw)
            kept = {name: batch[name] for name in ("row", "label") if name in batch}
            # A part's number keeps windows and views of one row in one order, however batches were cut.
            parts = indices.astype(np.int64) + draw.view * total
            pieces.append({"logits": infer(batch), "part": parts, **kept})
            done += len(indices)
            progress(done, todo)
    return _joined(world.gather(_joined(pieces)))


def _joined(pieces: Iterable[dict[str, "Array"]]) -> dict[str, "Array"]:
    columns: dict[str, list[Array]] = {}
    for piece in pieces:
        for name, values in piece.items():
            columns.setdefault(name, []).append(values)
    return {name: np.concatenate(values) for name, values in columns.items()}
