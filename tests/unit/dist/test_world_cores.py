"""Processes of one run on one machine keep out of each other's way."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.dist.world import share_of

ASK = """
import json, os
from burnish.dist.world import keep_to_own_cores
from burnish.dist.world import available_cores
keep_to_own_cores()
print(json.dumps([sorted(os.sched_getaffinity(0)), available_cores()]))
"""

cores_here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
needs_two = pytest.mark.skipif(cores_here < 2, reason="needs two cores that can be told apart")


@given(cores=st.lists(st.integers(0, 500), min_size=1, max_size=40, unique=True), size=st.integers(1, 40))
def test_every_core_belongs_to_one_process(cores: list[int], size: int) -> None:
    shares = [share_of(cores, rank=rank, size=size) for rank in range(size)]
    assert [core for share in shares for core in share] == cores
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def asked(**environment: str) -> tuple[list[int], int]:
    free = {name: value for name, value in os.environ.items() if name != "BURNISH_CORES"}
    done = subprocess.run(
        [sys.executable, "-c", ASK], env={**free, **environment}, capture_output=True, text=True, check=True
    )
    bound, cores = json.loads(done.stdout)
    return bound, cores


@needs_two
def test_two_processes_share_no_core_and_count_only_their_own() -> None:
    place = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    first, num_first = asked(RANK="0", LOCAL_RANK="0", **place)
    second, num_second = asked(RANK="1", LOCAL_RANK="1", **place)
    assert sorted(first + second) == sorted(os.sched_getaffinity(0))
    assert num_first == num_second <= len(first)


@needs_two
@pytest.mark.parametrize(
    "environment",
    [{}, {"BURNISH_CORES": "2", "LOCAL_WORLD_SIZE": "2", "RANK": "0", "WORLD_SIZE": "2"}, {"LOCAL_WORLD_SIZE": "9999"}],
    ids=["alone", "a number of cores was given", "more processes than cores"],
)
def test_otherwise_nothing_is_bound(environment: dict[str, str]) -> None:
    assert asked(**environment)[0] == sorted(os.sched_getaffinity(0))
