"""What this machine has for a run: memory that a process may take, and room on a disk."""

import ctypes
import shutil
import sys
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup/memory.max")
_MEMINFO = Path("/proc/meminfo")
_STATUS = Path("/proc/self/status")


def memory_limit(*, cgroup: Path = _CGROUP, meminfo: Path = _MEMINFO) -> int | None:
    """Tell the bytes that all processes here may hold: the machine's memory, cut by a container's limit."""
    found = [limit for limit in (_cgroup_limit(cgroup), _total(meminfo)) if limit is not None]
    return min(found, default=None)


def peak_memory() -> int:
    """Tell the most bytes that this process has held at once."""
    own = _kilobytes(_STATUS, "VmHWM:")
    if own is not None:
        return own * 1024
    import resource  # which begins with the peak of the parent, where the system tells nothing better

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def give_back_memory() -> None:
    """Give the system what the allocators keep of memory that nobody uses: Arrow's own and, where it can, C's."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc alone
    if trim is not None:
        trim(0)


def disk_free(path: Path) -> int:
    """Tell the free bytes of the disk that a path, which need not exist yet, would be on."""
    here = path.absolute()
    while not here.exists():
        here = here.parent
    return shutil.disk_usage(here).free


def _cgroup_limit(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def _total(path: Path) -> int | None:
    kilobytes = _kilobytes(path, "MemTotal:")
    return None if kilobytes is None else kilobytes * 1024


def _kilobytes(path: Path, name: str) -> int | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), None)
