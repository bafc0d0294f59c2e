"""Runs a network over a whole set of features and collects what it says."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from burnish.dist.world import Solo, World
from burnish.spec.values import Array, Batch, RandomKey

T = TypeVar("T")
Collate = Callable[["Array", RandomKey], "Batch"]
Infer = Callable[["Batch"], "Array"]


class Fitting(Protocol):
    """Compute with answers that fit into memory, on all processes alike."""

    def __call__(self, infer: Infer, compute: Callable[[Infer], T]) -> T:
        """Call `compute` with a way to answer, again with another when memory runs out."""
        ...


def plainly(infer: Infer, compute: Callable[[Infer], T]) -> T:
    """Answer each batch as it comes, and fail when it does not fit."""
    return compute(infer)


def infer_all(
    infer: Infer,
    collate: Collate,
    plan: Sequence["Array"],
    *,
    draws: Sequence[RandomKey],
    world: World | None = None,
    fitting: Fitting = plainly,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, "Array"]:
    """Give answers, rows, parts, labels and places of every feature, once for each draw; the order means nothing.

    An answer is that of a feature, or of one scored place in it, beside which the others are repeated.

    Processes take whole batches of the plan in turn, and each gets everything: the numbers are those of one process,
    for the rounding of a matrix product may depend on the batch it is computed in.
    """
    world = world or Solo()
    mine = plan[world.rank :: world.size]
    total = sum(len(indices) for indices in plan) * len(draws)
    todo = sum(len(indices) for indices in mine) * len(draws)

    def answers(infer: Infer) -> list[dict[str, "Array"]]:
        pieces: list[dict[str, Array]] = []
        done = 0
        for draw in draws:
            for indices in mine:
                pieces.append(infer_piece(infer, collate(indices, draw), indices.astype(np.int64) + draw.view * total))
                done += len(indices)
                progress(done, todo)
        return pieces

    return join_pieces(world.gather(join_pieces(fitting(infer, answers))))


def infer_piece(infer: Infer, batch: "Batch", parts: "Array") -> dict[str, "Array"]:
    """Return the answers to one batch, and beside them what decoding needs of its features."""
    kept = {name: batch[name] for name in batch if name in ("row", "label", "weight") or name.startswith("at_")}
    # A part's number keeps windows and views of one row in one order, however batches were cut.
    beside = {"part": parts, **kept}
    if "scored" in batch:
        beside = {name: _at_places(values, batch["scored"]) for name, values in beside.items()}
    return {"logits": infer(batch), **beside}


def _at_places(values: "Array", scored: "Array") -> "Array":
    if values.shape == scored.shape:
        return values[scored]
    return np.repeat(values, scored.sum(axis=1), axis=0)


def join_pieces(pieces: Iterable[dict[str, "Array"]]) -> dict[str, "Array"]:
    """Put the answers of several batches one after the other."""
    columns: dict[str, list[Array]] = {}
    for piece in pieces:
        for name, values in piece.items():
            columns.setdefault(name, []).append(values)
    return {name: np.concatenate(values) for name, values in columns.items()}
