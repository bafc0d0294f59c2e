"""Adds gradients up over processes while the backward pass still goes on, in the same order on all of them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import Tensor, nn

from burnish.dist.world import LostPeer

_BUCKET_BYTES = 8 * 2**20
_MOST_ROWS = 0.5
"""Of a table of embeddings, only the rows that some process used are sent, unless they are more than this share."""


@dataclass(eq=False)
class _Bucket:
    """Neighbours of one type that are sent together; which ones follows from the network alone."""

    parameters: list[nn.Parameter]
    awaited: int = 0
    work: "dist.Work | None" = None
    flat: Tensor | None = None
    is_stale: bool = False
    """Whether a gradient came after its bucket had been sent."""


@dataclass
class GradientSum:
    """Sum the gradients of a network over all processes: `started` around the last pass of a step, then `finish`."""

    network: nn.Module
    _buckets: list[_Bucket] = field(default_factory=list)
    _num_sent: int = 0
    _is_early: bool = False

    def __post_init__(self) -> None:
        embeddings = {each.weight for each in self.network.modules() if isinstance(each, nn.Embedding)}
        trained = [each for each in self.network.parameters() if each.requires_grad]
        self._tables = [each for each in trained if each in embeddings and _num_bytes(each) > _BUCKET_BYTES]
        self._others = [each for each in reversed(trained) if each not in {*self._tables}]
        self._buckets = [_Bucket(each) for each in _cut(self._others)]
        self._expected = {*self._others}
        self._used: set[nn.Parameter] = set()
        for bucket in self._buckets:
            for parameter in bucket.parameters:
                parameter.register_post_accumulate_grad_hook(self._hook(bucket))  # type: ignore[no-untyped-call]  # torch leaves it untyped

    @contextmanager
    def started(self) -> Iterator[Callable[[], None]]:
        """Give what to call before the last backward pass of a step; on leaving, all sums are under way."""
        self._forget()
        try:
            yield self._begin
        finally:
            self._is_early = False
        self._send_rest()

    def give_up(self) -> None:
        """Send zeros for what a pass that failed left unsent: the others wait for it, and nobody will use the sums."""
        for each in [*self._others, *self._tables]:
            each.grad = None  # makes room
        self._send_rest()

    @torch.no_grad()
    def finish(self) -> None:
        """Wait for the sums; a parameter that has a gradient on some process has it on all of them afterwards."""
        used, stale, touched = self._agree()
        for bucket, is_stale in zip(self._buckets, stale, strict=True):
            if is_stale:
                _wait(bucket)
                bucket.work, bucket.flat = _send(bucket.parameters)
        for bucket in self._buckets:
            _wait(bucket)
            assert bucket.flat is not None
            parts = torch.split(bucket.flat, [each.numel() for each in bucket.parameters])
            for parameter, part in zip(bucket.parameters, parts, strict=True):
                # An optimizer would decay a parameter for a gradient of zero: who was not used keeps none.
                parameter.grad = part.view_as(parameter) if parameter in used else None
        for table, rows in zip(self._tables, touched, strict=True):
            _sum_rows(table, rows)
        self._used |= used
        self._expected = self._used
        self._forget()

    def _hook(self, bucket: _Bucket) -> Callable[[Tensor], None]:
        def arrived(parameter: Tensor) -> None:
            if not self._is_early:
                return
            if bucket.flat is not None:
                bucket.is_stale = True
            elif parameter in self._expected:
                bucket.awaited -= 1
                self._send_complete()

        return arrived

    def _begin(self) -> None:
        self._is_early = True
        for bucket in self._buckets:
            bucket.awaited = sum(each in self._expected for each in bucket.parameters)

    def _send_complete(self) -> None:
        while self._num_sent < len(self._buckets) and self._buckets[self._num_sent].awaited <= 0:
            self._send_next()

    def _send_rest(self) -> None:
        while self._num_sent < len(self._buckets):
            self._send_next()

    def _send_next(self) -> None:
        bucket = self._buckets[self._num_sent]  # in the same order everywhere, whatever that in which gradients come
        bucket.work, bucket.flat = _send(bucket.parameters)
        self._num_sent += 1  # only now: one for which there was no memory is still to be sent

    def _forget(self) -> None:
        for bucket in self._buckets:
            _wait(bucket)
            bucket.flat, bucket.is_stale = None, False
        self._num_sent = 0

    def _agree(self) -> tuple[set[nn.Parameter], list[bool], list[Tensor]]:
        """Tell one another which parameters were used, which buckets were sent too early, and what rows of tables."""
        flags = [torch.tensor([each.grad is not None for each in self._others], dtype=torch.uint8)]
        flags += [torch.tensor([each.is_stale for each in self._buckets], dtype=torch.uint8)]
        flags += [_touched(table) for table in self._tables]
        together = torch.cat(flags)
        with talking("add up"):
            dist.all_reduce(together, dist.ReduceOp.MAX)
        used, stale, *touched = torch.split(together, [len(each) for each in flags])
        is_used = used.tolist()
        return (
            {each for each, is_it in zip(self._others, is_used, strict=True) if is_it},
            stale.bool().tolist(),
            touched,
        )


def _cut(parameters: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Put neighbours of one type together, up to a size: few messages, and the same cut on every process."""
    bucket: list[nn.Parameter] = []
    size = 0
    for parameter in parameters:
        num_bytes = _num_bytes(parameter)
        is_full = size + num_bytes > _BUCKET_BYTES
        if bucket and (is_full or (parameter.dtype, parameter.device) != (bucket[0].dtype, bucket[0].device)):
            yield bucket
            bucket, size = [], 0
        bucket.append(parameter)
        size += num_bytes
    if bucket:
        yield bucket


def _num_bytes(parameter: nn.Parameter) -> int:
    return parameter.numel() * parameter.element_size()


@torch.no_grad()
def _send(parameters: Sequence[nn.Parameter]) -> "tuple[dist.Work | None, Tensor]":
    """Begin to add up; a process that had no share of the batch, or no use for a parameter, adds nothing."""
    parts = [torch.zeros_like(each) if each.grad is None else each.grad for each in parameters]
    flat = torch.cat([part.reshape(-1) for part in parts])
    with talking("add up"):
        return dist.all_reduce(flat, async_op=True), flat


def _wait(bucket: _Bucket) -> None:
    if bucket.work is not None:
        with talking("add up"):
            bucket.work.wait()
        bucket.work = None


def _touched(table: nn.Parameter) -> Tensor:
    """Say of each row whether its gradient is anything, and at the end whether there is a gradient at all."""
    if table.grad is None:
        return torch.zeros(len(table) + 1, dtype=torch.uint8)
    rows = torch.linalg.vector_norm(table.grad, torch.inf, dim=1) != 0
    return nn.functional.pad(rows.to("cpu", torch.uint8), (0, 1), value=1)


def _sum_rows(table: nn.Parameter, touched: Tensor) -> None:
    if not touched[-1]:
        return
    gradient = torch.zeros_like(table) if table.grad is None else table.grad
    rows = touched[:-1].nonzero()[:, 0].to(table.device)
    is_most = len(rows) > _MOST_ROWS * len(table)
    part = gradient if is_most else gradient.index_select(0, rows)
    with talking("add up"):
        dist.all_reduce(part)
    table.grad = part if is_most else gradient.index_copy_(0, rows, part)


@contextmanager
def talking(what: str) -> Iterator[None]:
    """Say what could not be done together, when another process is gone."""
    try:
        yield
    except RuntimeError as error:
        first = str(error).strip().splitlines()[0]
        raise LostPeer(
            f"the processes of this run could not {what}, most likely because one of them ended ({first}); "
            "`burnish resume` continues from the newest good checkpoint, on any number of processes"
        ) from error
