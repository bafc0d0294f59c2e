"""Contestants are processes of their own, and what goes wrong in one is told."""

import os

import pytest

from bench.harness.contest import Entrant, started
from burnish.errors import DataError, LaunchError
from burnish.launch.local import allocator_settings

HERE = "tests.unit.bench.contestants"


def test_two_processes_work_in_turn_and_what_they_print_does_no_harm() -> None:
    entrants = {
        "ours": Entrant(f"{HERE}:counting", {"seconds": 1.0}),
        "peer": Entrant(f"{HERE}:counting", {"seconds": 2.0}, is_ours=False, env={"MARK": "7"}),
    }
    with started(entrants) as contestants:
        blocks = [contestants[name]() for name in ("ours", "peer", "peer", "ours")]
    assert [(block.seconds, block.examples) for block in blocks] == [(1.0, 1), (2.0, 1), (2.0, 2), (1.0, 2)]
    assert [block.flops for block in blocks] == [0, 7, 7, 0]


def test_processes_that_work_as_one_know_their_places_and_the_slowest_counts() -> None:
    with started({"both": Entrant(f"{HERE}:placed", {}, processes=2)}) as contestants:
        block = contestants["both"]()
    assert (block.seconds, block.examples) == (2.0, 2)
    assert block.tokens > 0


def test_only_our_own_processes_get_what_the_launcher_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("MALLOC_", "GLIBC_", "LD_PRELOAD"))]:
        monkeypatch.delenv(name)
    entrants = {
        name: Entrant(f"{HERE}:counting", {"seconds": 1.0}, is_ours=is_ours)
        for name, is_ours in (("ours", True), ("peer", False))
    }
    with started(entrants) as contestants:
        settings = [contestants[name]().tokens for name in entrants]
    assert settings == [sum(map(len, allocator_settings(os.environ).values())), 0]


def test_a_refusal_comes_out_as_it_was() -> None:
    with pytest.raises(DataError, match=r"^there are no rows$"), started({"x": Entrant(f"{HERE}:refusing", {})}):
        pass


def test_a_process_that_dies_is_named() -> None:
    with started({"Trainer": Entrant(f"{HERE}:dying", {})}) as contestants:
        with pytest.raises(LaunchError, match="Trainer died"):
            contestants["Trainer"]()
        with pytest.raises(LaunchError, match="Trainer died"):
            contestants["Trainer"]()
