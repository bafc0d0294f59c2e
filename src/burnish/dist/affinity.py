"""Keeps each process of a run to cores of its own, where one machine runs several."""

import os
from collections.abc import MutableMapping

from burnish.dist.world import num_processes_here, place_of


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
