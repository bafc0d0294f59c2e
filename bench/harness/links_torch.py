"""How long it takes two processes to add up so many bytes."""

from collections.abc import Mapping
from itertools import cycle
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist

from bench.harness.blocks import Block
from bench.harness.contestant import Referee
from burnish.dist.world import keep_to_own_cores, world_from_environment


def add_up(request: Mapping[str, Any], referee: Referee) -> None:
    """Add up tensors of the next size each turn, some times, and report the fastest."""
    keep_to_own_cores()
    torch.set_num_threads(1)
    world = world_from_environment()
    tensors = cycle(torch.zeros(size // 4) for size in request["sizes"])
    referee.ready()
    while referee.turn():
        tensor = next(tensors)
        referee.report(Block(min(_seconds(tensor) for _ in range(request["times"])), tokens=tensor.nbytes))
    world.close()


def _seconds(tensor: torch.Tensor) -> float:
    dist.barrier()
    began = perf_counter()
    dist.all_reduce(tensor)
    return perf_counter() - began
