"""Which of several cooperating processes this is, how they add numbers up, and which cores each of them has."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from burnish.errors import LaunchError


class World(Protocol):
    """The processes of one run, seen from one of them. All of them call the same methods in the same order."""

    @property
    def rank(self) -> int:
        """Number of this process, from 0; process 0 is the one that writes."""
        ...

    @property
    def size(self) -> int:
        """All processes."""
        ...

    def sum(self, values: list[float]) -> list[float]:
        """Add numbers up over all processes; every process gets the totals."""
        ...

    def gather(self, value: Any) -> list[Any]:
        """Collect one value from each process, in rank order: JSON values, and arrays anywhere in them."""
        ...

    def gradients(self, network: Any) -> "Gradients":
        """Return what adds the gradients of a network up."""
        ...

    def barrier(self) -> None:
        """Wait until every process has come this far."""
        ...

    def close(self) -> None:
        """Leave; nothing can be asked afterwards."""
        ...


class Gradients(Protocol):
    """The gradients of a step, summed over the processes of a run."""

    def started(self) -> AbstractContextManager[Callable[[], None]]:
        """Give what to call before the last backward pass of a step; on leaving, all sums are under way."""
        ...

    def give_up(self) -> None:
        """Take part to the end in the sums of a pass that failed, for the sake of the others; nobody uses them."""
        ...

    def finish(self) -> None:
        """Wait for the sums; a parameter that has a gradient on some process has it on all of them afterwards."""
        ...


class WholeGradients:
    """Gradients of a run of one process, which lack nothing."""

    @contextmanager
    def started(self) -> Iterator[Callable[[], None]]:
        """Have nothing to begin."""
        yield lambda: None

    def give_up(self) -> None:
        """Have nobody who waits."""

    def finish(self) -> None:
        """Have nothing to wait for."""


class Solo:
    """A run of one process."""

    rank = 0
    size = 1

    def sum(self, values: list[float]) -> list[float]:
        """Return the numbers as they are."""
        return values

    def gather(self, value: Any) -> list[Any]:
        """Return the value alone."""
        return [value]

    def gradients(self, network: Any) -> Gradients:
        """Leave the gradients: they are already whole."""
        return WholeGradients()

    def barrier(self) -> None:
        """Wait for nobody."""

    def close(self) -> None:
        """Leave nobody."""


class LostPeer(LaunchError):
    """Say that another process of the run is gone, so that this one cannot go on either."""


@dataclass(frozen=True)
class Place:
    """A process's place among those of its run, as a launcher tells it."""

    rank: int
    size: int
    local_rank: int


def world_from_environment(environment: Mapping[str, str] | None = None) -> World:
    """Join the other processes that RANK, WORLD_SIZE and MASTER_* speak of; without them, be alone."""
    environment = os.environ if environment is None else environment
    place = place_of(environment)
    if place.size == 1:
        return Solo()
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if not environment.get(name)]
    if missing:
        raise LaunchError(
            f"WORLD_SIZE is {place.size} and {' and '.join(missing)} is not set, so the processes cannot meet; "
            "start them with `burnish train --processes`, or with torchrun, which sets both"
        )
    from burnish.dist.gloo_torch import TorchWorld

    return TorchWorld.join(place)


def place_of(environment: Mapping[str, str] | None = None) -> Place:
    """Read this process's place from RANK, WORLD_SIZE and LOCAL_RANK; alone when RANK is not set."""
    environment = os.environ if environment is None else environment
    if not environment.get("RANK"):
        return Place(rank=0, size=1, local_rank=0)
    rank = _number(environment, "RANK")
    size = _number(environment, "WORLD_SIZE", least=1)
    if rank >= size:
        raise LaunchError(f"RANK is {rank} and must be below WORLD_SIZE, which is {size}")
    return Place(rank, size, local_rank=_number(environment, "LOCAL_RANK", default=rank))


def available_cores(environment: Mapping[str, str] | None = None) -> int:
    """Count the cores this process may use: affinity, cut by a cgroup quota, shared with the ranks of this machine."""
    environment = os.environ if environment is None else environment
    return max(1, _cores(environment) // num_processes_here(environment))


def num_processes_here(environment: Mapping[str, str]) -> int:
    """Count the processes of the run on this machine, as torchrun states it."""
    return _number(environment, "LOCAL_WORLD_SIZE", least=1, default=1)


def _cores(environment: Mapping[str, str]) -> int:
    if "BURNISH_CORES" in environment:
        return _number(environment, "BURNISH_CORES", least=1)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _quota() or cores))


def _number(environment: Mapping[str, str], name: str, *, least: int = 0, default: int | None = None) -> int:
    text = environment.get(name, "")
    if not text and default is not None:
        return default
    # Python refuses to read thousands of digits.
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < least:
        raise LaunchError(f"the environment's {name} must be a whole number of at least {least}, got {text!r}")
    return int(text)


def _quota(path: str = "/sys/fs/cgroup/cpu.max") -> int | None:
    try:
        with open(path) as stream:
            quota, period = stream.read().split()[:2]
    except (OSError, ValueError):
        return None
    return None if quota == "max" else max(1, round(int(quota) / int(period)))


def keep_to_own_cores(environment: MutableMapping[str, str] | None = None) -> None:
    """Bind this process, and all threads it will start, to its share of the cores.

    Left to the system, threads of one process are moved onto cores that another is using, and every step waits for
    the slowest. A user who sets BURNISH_CORES speaks of a number and not of cores: nothing is bound then.
    """
    environment = os.environ if environment is None else environment
    here = num_processes_here(environment)
    if here == 1 or "BURNISH_CORES" in environment or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < here:
        return
    os.sched_setaffinity(0, share_of(cores, rank=place_of(environment).local_rank, size=here))
    # What is asked later must divide all cores and not this share once more.
    environment["BURNISH_CORES"] = str(len(cores))


def share_of(cores: list[int], *, rank: int, size: int) -> list[int]:
    """Give the cores of one of several processes: neighbours, which share caches; none is given twice or left over."""
    return cores[len(cores) * rank // size : len(cores) * (rank + 1) // size]
