"""Several processes as one, by torch.distributed: gloo between CPUs, NCCL between GPUs."""

from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from burnish.dist.gradients_torch import GradientSum, talking
from burnish.dist.packing import pack, unpack
from burnish.dist.world import Place

# The others wait while process 0 encodes a corpus or writes an artifact. A process that dies is noticed at once, by its
# closed connection; this only ends the wait for a machine that vanished from the network.
_PATIENCE = timedelta(hours=6)


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
        with talking("meet"):
            dist.init_process_group(backend, rank=place.rank, world_size=place.size, timeout=_PATIENCE)
        return cls(place.rank, place.size)

    def sum(self, values: list[float]) -> list[float]:
        """Add numbers up over all processes, in float64."""
        total = torch.tensor(values, dtype=torch.float64)
        with talking("add up"):
            dist.all_reduce(total)
        return [float(value) for value in total]

    def gather(self, value: Any) -> list[Any]:
        """Collect one value from each process, in rank order."""
        mine = torch.frombuffer(bytearray(pack(value)), dtype=torch.uint8)
        sizes = [int(size) for size in self._all(torch.tensor([len(mine)]))]
        padded = torch.zeros(max(sizes), dtype=torch.uint8)  # every process must send as many bytes as the others
        padded[: len(mine)] = mine
        parts = self._all(padded)
        return [unpack(part[:size].numpy().tobytes()) for part, size in zip(parts, sizes, strict=True)]

    def gradients(self, network: nn.Module) -> GradientSum:
        """Sum the gradients of a network while its backward pass goes on."""
        return GradientSum(network)

    def barrier(self) -> None:
        """Wait until every process has come this far."""
        self.sum([0.0])

    def close(self) -> None:
        """Leave the group."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def _all(self, mine: Tensor) -> list[Tensor]:
        parts = [torch.empty_like(mine) for _ in range(self.size)]
        with talking("gather"):
            dist.all_gather(parts, mine)
        return parts
