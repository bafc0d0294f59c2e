"""Several processes as one, by torch.distributed: gloo between CPUs, NCCL between GPUs."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from burnish.dist.packing import pack, unpack
from burnish.dist.world import LostPeer, Place

# The others wait while process 0 encodes a corpus or writes an artifact. A process that dies is noticed at once, by its
# closed connection; this only ends the wait for a machine that vanished from the network.
_PATIENCE = timedelta(hours=6)
_BUCKET_BYTES = 32 * 2**20


class TorchWorld:
    """The processes of one run, joined by torch.distributed."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size

    @classmethod
    def join(cls, place: Place) -> "TorchWorld":
        """Meet the other processes at MASTER_ADDR and MASTER_PORT."""
        if place.local_rank < torch.cuda.device_count():
            torch.cuda.set_device(place.local_rank)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        with _together("meet"):
            dist.init_process_group(backend, rank=place.rank, world_size=place.size, timeout=_PATIENCE)
        return cls(place.rank, place.size)

    def sum(self, values: list[float]) -> list[float]:
        """Add numbers up over all processes, in float64."""
        total = torch.tensor(values, dtype=torch.float64)
        _add_up(total)
        return [float(value) for value in total]

    def gather(self, value: Any) -> list[Any]:
        """Collect one value from each process, in rank order."""
        mine = torch.frombuffer(bytearray(pack(value)), dtype=torch.uint8)
        sizes = [int(size) for size in self._all(torch.tensor([len(mine)]))]
        padded = torch.zeros(max(sizes), dtype=torch.uint8)  # every process must send as many bytes as the others
        padded[: len(mine)] = mine
        parts = self._all(padded)
        return [unpack(part[:size].numpy().tobytes()) for part, size in zip(parts, sizes, strict=True)]

    @torch.no_grad()
    def sum_gradients(self, parameters: list[nn.Parameter]) -> None:
        """Add gradients up in place, in buckets of the parameters' own order."""
        for bucket in _buckets(self._with_gradients(parameters)):
            gradients = [_gradient(parameter) for parameter in bucket]
            flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
            _add_up(flat)
            for gradient, part in zip(gradients, torch.split(flat, [each.numel() for each in gradients]), strict=True):
                gradient.copy_(part.view_as(gradient))

    def barrier(self) -> None:
        """Wait until every process has come this far."""
        self.sum([0.0])

    def close(self) -> None:
        """Leave the group."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def _all(self, mine: Tensor) -> list[Tensor]:
        parts = [torch.empty_like(mine) for _ in range(self.size)]
        with _together("gather"):
            dist.all_gather(parts, mine)
        return parts

    def _with_gradients(self, parameters: list[nn.Parameter]) -> list[nn.Parameter]:
        # A parameter that no process used keeps no gradient at all: an optimizer would decay it for a zero one.
        used = torch.tensor([parameter.grad is not None for parameter in parameters], dtype=torch.int32)
        _add_up(used)
        return [parameter for parameter, count in zip(parameters, used.tolist(), strict=True) if count]


def _gradient(parameter: nn.Parameter) -> Tensor:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)  # this process had no share of the batch, and adds nothing
    return parameter.grad


def _buckets(parameters: list[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Put neighbours of one type together, up to a size: few messages, and the same cut on every process."""
    bucket: list[nn.Parameter] = []
    size = 0
    for parameter in parameters:
        num_bytes = parameter.numel() * parameter.element_size()
        is_full = size + num_bytes > _BUCKET_BYTES
        if bucket and (is_full or (parameter.dtype, parameter.device) != (bucket[0].dtype, bucket[0].device)):
            yield bucket
            bucket, size = [], 0
        bucket.append(parameter)
        size += num_bytes
    if bucket:
        yield bucket


def _add_up(tensor: Tensor) -> None:
    with _together("add up"):
        dist.all_reduce(tensor)


@contextmanager
def _together(what: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        first = str(error).strip().splitlines()[0]
        raise LostPeer(
            f"the processes of this run could not {what}, most likely because one of them ended ({first}); "
            "`burnish resume` continues from the newest good checkpoint, on any number of processes"
        ) from error
