"""Cuts batches smaller when memory runs out, on every process alike, and remembers what did not fit."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch

from burnish.dist.world import Solo, World
from burnish.engine.evaluate import Infer
from burnish.engine.recovery import Splits, size_limit
from burnish.errors import BurnishError
from burnish.spec.values import Array, Batch

T = TypeVar("T")

_WORDS = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "could not create a memory object",
    "storage size calculation overflowed",
)

Record = Callable[[int, int], None]


class DoesNotFit(Exception):
    """Say that a batch of some size ran out of memory."""

    def __init__(self, batch: "Batch") -> None:
        super().__init__()
        self.misfit = _Misfit(size_of(batch), _examples(batch))


@dataclass(frozen=True)
class _Misfit:
    size: int
    examples: int


class Memory:
    """Give batches that fit; `record` is told step and size of each that did not, before it is tried again.

    When one process runs out, all of them cut and begin anew: a limit that held for one alone could not be kept by a
    run that is resumed on another number of processes.
    """

    def __init__(
        self, splits: Splits = (), record: Record = lambda step, size: None, world: World | None = None
    ) -> None:
        self._splits = splits
        self._record = record
        self._world: World = world or Solo()

    def run(
        self,
        batches: "Sequence[Batch]",
        compute: "Callable[[Sequence[Batch]], T]",
        *,
        step: int,
        give_up: Callable[[], None] = lambda: None,
    ) -> T:
        """Compute over all micro-batches, each cut in two as often as it takes; `compute` begins anew every time.

        Before that, `give_up` does with the other processes what they expect, when all the memory of the failed
        computation is free again.
        """
        when = f"in step {step + 1}"
        return self._until_it_fits(
            lambda limit: compute(cut_to_fit(batches, limit)), step=step, when=when, give_up=give_up
        )

    def answer(self, infer: Infer, compute: Callable[[Infer], T], *, step: int) -> T:
        """Compute with answers to batches that are cut to fit; `compute` begins anew every time, and asks no peer."""
        return self._until_it_fits(
            lambda limit: compute(lambda batch: _answer(infer, cut_to_fit([batch], limit))),
            step=step,
            when="while predicting",
        )

    def _until_it_fits(
        self,
        compute: Callable[[int | None], T],
        *,
        step: int,
        when: str,
        give_up: Callable[[], None] = lambda: None,
    ) -> T:
        while True:
            # Not in a handler: until it is left, its traceback keeps the activations alive.
            result = _tried(compute, size_limit(self._splits, step))
            misfit = result if isinstance(result, _Misfit) else None
            if misfit is not None:
                _let_go()
                give_up()
            if not self._world.sum([float(misfit is not None)])[0]:
                assert not isinstance(result, _Misfit)
                return result
            self._make_smaller(self._agreed(misfit, when=when), step=step)

    def _agreed(self, mine: _Misfit | None, *, when: str) -> int:
        told = self._world.gather(None if mine is None else [mine.size, mine.examples])
        misfits = [_Misfit(*each) for each in told if each is not None]
        hopeless = [misfit.size for misfit in misfits if misfit.examples == 1]
        if hopeless:
            raise BurnishError(
                f"a single example does not fit into memory {when} ({hopeless[0]:,} tokens or numbers); "
                "shorten the examples (task.max_length), use a smaller model or a machine with more memory"
            )
        return min(misfit.size for misfit in misfits)

    def _make_smaller(self, size: int, *, step: int) -> None:
        self._splits = (*self._splits, (step, size))
        self._record(step, size)


@contextmanager
def fitting(batch: "Batch") -> Iterator[None]:
    """Turn an error of memory into `DoesNotFit`, which knows the batch."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if is_out_of_memory(error):
            raise DoesNotFit(batch) from None
        raise


def is_out_of_memory(error: BaseException) -> bool:
    """Check whether an error says that memory ran out, on whatever device."""
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


def _tried(compute: Callable[[int | None], T], limit: int | None) -> T | _Misfit:
    try:
        return compute(limit)
    except DoesNotFit as error:
        return error.misfit


def _let_go() -> None:
    """Free what a failed pass leaves: torch's engine keeps what it had not come to until its thread passes again."""
    with torch.enable_grad():
        torch.zeros((), requires_grad=True).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _answer(infer: Infer, pieces: "Sequence[Batch]") -> "Array":
    answers = []
    for piece in pieces:
        with fitting(piece):
            answers.append(infer(piece))
    return answers[0] if len(answers) == 1 else np.concatenate(answers)


def _pieces(batch: "Batch", limit: int) -> "list[Batch]":
    count = _examples(batch)
    if size_of(batch) < limit or count == 1:
        return [batch]
    half = (count + 1) // 2
    halves = ({name: array[part] for name, array in batch.items()} for part in (slice(half), slice(half, None)))
    return [piece for each in halves for piece in _pieces(each, limit)]


def _examples(batch: "Batch") -> int:
    return len(next(iter(batch.values())))
