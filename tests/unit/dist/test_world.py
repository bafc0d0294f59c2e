"""What a process reads from its environment about the others, and how many cores it may use."""

import os

import pytest

from burnish.dist.world import keep_to_own_cores
from burnish.dist.world import Place, Solo, available_cores, place_of, world_from_environment
from burnish.errors import LaunchError


def test_without_a_rank_a_process_is_alone() -> None:
    assert place_of({}) == Place(rank=0, size=1, local_rank=0)
    assert isinstance(world_from_environment({}), Solo)


def test_a_launcher_that_starts_one_process_makes_it_alone_too() -> None:
    assert isinstance(world_from_environment({"RANK": "0", "WORLD_SIZE": "1"}), Solo)


def test_a_place_is_read_from_what_launchers_set() -> None:
    assert place_of({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}) == Place(rank=3, size=4, local_rank=1)
    assert place_of({"RANK": "3", "WORLD_SIZE": "4"}).local_rank == 3


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"RANK": "first", "WORLD_SIZE": "2"}, "RANK must be a whole number of at least 0, got 'first'"),
        ({"RANK": "0"}, "WORLD_SIZE must be a whole number of at least 1, got ''"),
        ({"RANK": "-1", "WORLD_SIZE": "2"}, "RANK must be a whole number of at least 0, got '-1'"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK is 2 and must be below WORLD_SIZE, which is 2"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, "MASTER_ADDR and MASTER_PORT is not set"),
        ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}, "MASTER_PORT is not set"),
    ],
)
def test_an_environment_that_cannot_be_right_is_refused(environment: dict[str, str], sentence: str) -> None:
    with pytest.raises(LaunchError, match=sentence):
        world_from_environment(environment)


def test_alone_everything_is_already_whole() -> None:
    world = Solo()
    assert (world.sum([1.0, 2.0]), world.gather({"a": 1})) == ([1.0, 2.0], [{"a": 1}])
    with world.gradients(None).started() as begin:
        begin()
    world.gradients(None).finish()
    world.barrier()
    world.close()


@pytest.mark.parametrize(("here", "share"), [(None, 8), ("1", 8), ("2", 4), ("3", 2), ("16", 1)])
def test_cores_are_shared_by_the_processes_of_a_machine(here: str | None, share: int) -> None:
    environment = {"BURNISH_CORES": "8"} | ({"LOCAL_WORLD_SIZE": here} if here else {})
    assert available_cores(environment) == share


def test_without_a_word_the_cores_are_those_of_the_machine() -> None:
    assert 1 <= available_cores({}) <= (os.cpu_count() or 1)


def test_a_number_of_cores_that_is_none_is_refused() -> None:
    with pytest.raises(LaunchError, match="BURNISH_CORES must be a whole number of at least 1, got 'all'"):
        available_cores({"BURNISH_CORES": "all"})


@pytest.mark.parametrize("odd", ["①", "--1", "2.0", "1_0", "nan", "\uff12", "9" * 5001])
def test_numbers_of_the_environment_that_are_none_are_refused(odd: str) -> None:
    with pytest.raises(LaunchError, match="WORLD_SIZE must be a whole number"):
        place_of({"RANK": "0", "WORLD_SIZE": odd})
    with pytest.raises(LaunchError, match="LOCAL_WORLD_SIZE must be a whole number"):
        keep_to_own_cores({"LOCAL_WORLD_SIZE": odd})
