"""Which of several cooperating processes this is, and how they add numbers up."""

import os
from collections.abc import Mapping
from typing import Any, Protocol


class World(Protocol):
    """The processes of one run, seen from one of them."""

    @property
    def rank(self) -> int:
        """This process, from 0."""
        ...

    @property
    def size(self) -> int:
        """All processes."""
        ...

    def sum(self, values: list[float]) -> list[float]:
        """Add numbers up over all processes; every process gets the totals."""
        ...

    def gather(self, value: Any) -> list[Any]:
        """Collect one JSON value from each process, in rank order."""
        ...

    def sum_gradients(self, parameters: list[Any]) -> None:
        """Add gradients up in place."""
        ...


class Solo:
    """A run of one process."""

    rank = 0
    size = 1

    def sum(self, values: list[float]) -> list[float]:
        """Give the numbers back."""
        return values

    def gather(self, value: Any) -> list[Any]:
        """Give the value alone."""
        return [value]

    def sum_gradients(self, parameters: list[Any]) -> None:
        """Leave the gradients: they are already whole."""


def available_cores(environment: Mapping[str, str] = os.environ) -> int:
    """Count the cores this process may use: affinity, cut by a cgroup quota."""
    if "BURNISH_CORES" in environment:
        return max(1, int(environment["BURNISH_CORES"]))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _quota() or cores))


def _quota(path: str = "/sys/fs/cgroup/cpu.max") -> int | None:
    try:
        with open(path) as stream:
            quota, period = stream.read().split()[:2]
    except (OSError, ValueError):
        return None
    return None if quota == "max" else max(1, round(int(quota) / int(period)))
