"""A training process keeps the memory it frees, unless the user said otherwise."""

import subprocess
import sys

import pytest

from burnish.launch.local import allocator_settings

CHURN = """
import mmap, resource, ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
size = 64 * 2**20
def once():
    block = libc.malloc(size)
    ctypes.memset(block, 1, size)
    libc.free(block)
once()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    once()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_glibc_is_told_to_keep_memory() -> None:
    assert "mmap_max=0" in allocator_settings({}, libc="glibc")["GLIBC_TUNABLES"]


@pytest.mark.parametrize("name", ["GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_ARENA_MAX"])
def test_what_the_user_chose_is_left_alone(name: str) -> None:
    assert allocator_settings({name: "x"}, libc="glibc") == {}


def test_another_libc_is_told_nothing() -> None:
    assert allocator_settings({}, libc="") == {}


def test_a_process_with_it_does_not_fetch_the_same_pages_again() -> None:
    settings = allocator_settings({})
    if not settings:
        pytest.skip("this system has no glibc, or its allocator was chosen from outside")
    faults = [
        int(subprocess.run([sys.executable, "-c", CHURN], env=env, capture_output=True, check=True, text=True).stdout)
        for env in ({}, settings)
    ]
    assert faults[1] * 10 < faults[0]
