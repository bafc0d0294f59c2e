"""Cuts micro-batches smaller when memory runs out, and remembers what did not fit."""

import gc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from burnish.engine.recovery import NO_REPAIRS, Repairs
from burnish.errors import BurnishError

if TYPE_CHECKING:
    from burnish.spec.values import Batch

_WORDS = ("can't allocate memory", "not enough memory", "out of memory", "could not create a memory object")

Record = Callable[[int, int], None]


class DoesNotFit(Exception):
    """Say that a micro-batch of some size ran out of memory."""

    def __init__(self, batch: "Batch") -> None:
        super().__init__()
        self.size = size_of(batch)
        self.examples = _examples(batch)


class Memory:
    """Give micro-batches that fit; `record` is told step and size of each that did not, before it is tried again."""

    def __init__(self, repairs: Repairs = NO_REPAIRS, record: Record = lambda step, size: None) -> None:
        self._repairs = repairs
        self._record = record

    def run(self, batches: "Sequence[Batch]", compute: "Callable[[Sequence[Batch]], float]", *, step: int) -> float:
        """Compute over all micro-batches, each cut in two as often as it takes; `compute` begins anew every time."""
        while True:
            try:
                return compute(cut_to_fit(batches, self._repairs.size_limit(step)))
            except DoesNotFit as error:
                failed = (error.size, error.examples)
            # Outside the handler: until here its traceback kept the activations alive.
            self._make_smaller(step, *failed)

    def _make_smaller(self, step: int, size: int, examples: int) -> None:
        if examples == 1:
            raise BurnishError(
                f"a single example does not fit into memory (step {step + 1}, {size:,} tokens or numbers); "
                "shorten the examples (task.max_length), take a smaller model, or a machine with more memory"
            )
        self._repairs = self._repairs.with_split(step, size)
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self._record(step, size)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error says that memory ran out, on whatever device."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _WORDS)


def cut_to_fit(batches: "Sequence[Batch]", limit: int | None) -> "list[Batch]":
    """Halve every micro-batch until it is smaller than the limit or one example."""
    if limit is None:
        return list(batches)
    return [piece for batch in batches for piece in _pieces(batch, limit)]


def size_of(batch: "Batch") -> int:
    """Measure a micro-batch by its largest array: padded tokens, or numbers."""
    return max(int(array.size) for array in batch.values())


def _pieces(batch: "Batch", limit: int) -> "list[Batch]":
    count = _examples(batch)
    if size_of(batch) < limit or count == 1:
        return [batch]
    half = (count + 1) // 2
    halves = ({name: array[part] for name, array in batch.items()} for part in (slice(half), slice(half, None)))
    return [piece for each in halves for piece in _pieces(each, limit)]


def _examples(batch: "Batch") -> int:
    return len(next(iter(batch.values())))
