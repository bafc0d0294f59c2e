"""Settings of the memory allocator that a training process must be born with."""

import platform
from collections.abc import Mapping

_TUNABLES = "GLIBC_TUNABLES"
_KEEP = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184"
"""Take all memory from the heap and keep what is freed for the next step.

By default glibc gives every large block back to the system when it is freed, and each step of training pays for
fetching the same pages again: some 15,000 page faults a step for a network of 22 million parameters.
"""


def allocator_settings(environment: Mapping[str, str], *, libc: str | None = None) -> dict[str, str]:
    """Give the variables to add; none where the user chose an allocator or its settings, or the libc is another."""
    chosen = {_TUNABLES, "LD_PRELOAD", *(name for name in environment if name.startswith("MALLOC_"))}
    if (libc if libc is not None else platform.libc_ver()[0]) != "glibc" or chosen & environment.keys():
        return {}
    return {_TUNABLES: _KEEP}
