"""One gradient and one set of digits, on one process and on two real ones."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from burnish.dist.world import Solo
from tests.integration.dist.cases import BUCKETS, CUTS, OBJECTIVES, PLANS, SIZES, STEPS, compute

ROOT = Path(__file__).parents[3]
Found = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def alone() -> Found:
    return compute(Solo())


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    folder = tmp_path_factory.mktemp("ranks")
    processes = start_ranks("tests.integration.dist.cases", str(folder))
    assert [process.wait(timeout=240) for process in processes] == [0, 0]
    return [dict(np.load(folder / f"rank{rank}.npz")) for rank in range(2)]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_loss_and_gradient_are_those_of_one_process(
    alone: Found, ranks: list[Found], name: str, size: int, cut: int
) -> None:
    for rank in ranks:
        for key in ("loss", "norm", "gradient"):
            place = f"{name}/{size}/{cut}/{key}"
            assert rank[place] == pytest.approx(alone[place], abs=1e-6)
        assert rank[f"{name}/{size}/{cut}/counts"].tolist() == alone[f"{name}/{size}/{cut}/counts"].tolist()
    assert alone[f"{name}/{size}/{cut}/counts"][0] == size


def test_both_processes_hold_the_same_gradient_to_the_bit(ranks: list[Found]) -> None:
    names = [name for name in ranks[0] if name.endswith("/gradient")]
    assert [name for name in names if not np.array_equal(ranks[0][name], ranks[1][name])] == []


def test_a_layer_that_nobody_uses_gets_no_gradient(ranks: list[Found]) -> None:
    assert {int(found["plain/11/1/counts"][2]) for found in ranks} == {4}


@pytest.mark.parametrize("size", BUCKETS)
@pytest.mark.parametrize("name", STEPS)
def test_sums_that_begin_during_the_backward_pass_are_whole(
    alone: Found, ranks: list[Found], name: str, size: int
) -> None:
    for rank in ranks:
        for key in ("loss", "gradients", "weights"):
            place = f"{size}/{name}/{key}"
            assert rank[place] == pytest.approx(alone[place], abs=1e-6, nan_ok=True)
            assert np.array_equal(rank[place], ranks[0][place], equal_nan=True)


def test_a_head_that_no_process_used_has_no_gradient(ranks: list[Found]) -> None:
    assert [int(np.isnan(ranks[0][f"40/{name}/gradients"]).sum()) for name in STEPS] == [4] * len(STEPS)


def test_sums_begin_before_the_backward_pass_is_over_once_it_is_known_what_is_used(ranks: list[Found]) -> None:
    early = [int(ranks[0][f"40/{name}/early"]) for name in STEPS]
    assert early[0] == 2  # the last layer; of three heads two are waited for in vain
    assert min(early[1:]) >= 4


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("key", ["rows", "outputs", "truth"])
def test_evaluation_gives_the_same_digits(alone: Found, ranks: list[Found], plan: str, key: str) -> None:
    for rank in ranks:
        assert rank[f"{plan}/{key}"].tolist() == alone[f"{plan}/{key}"].tolist()


def test_numbers_are_added_and_arrays_collected(ranks: list[Found]) -> None:
    for rank in ranks:
        assert rank["extra/sum"].tolist() == [2.0, pytest.approx(1.2)]
        assert (rank["extra/ids"].dtype, rank["extra/ids"].tolist()) == (np.int32, [0, 1, 2, 3, 4])


def test_when_one_process_lacks_memory_both_cut_alike_and_both_know(ranks: list[Found]) -> None:
    for rank in ranks:
        assert rank["extra/room 3/told"].tolist() == [[5, 48], [5, 24]]
        assert len(rank["extra/room 3/answers"]) == 8
    assert [rank["extra/room 3/seen"].tolist() for rank in ranks] == [[8, 4, 4, 2, 2, 2, 2], [8, 4, 2, 2, 2, 2]]


def test_an_example_that_does_not_fit_on_one_process_is_refused_on_both(ranks: list[Found]) -> None:
    for rank in ranks:
        assert "a single example does not fit into memory while predicting" in str(rank["extra/room 0/error"])


WAITING_SECONDS = 600
WAITING = """
import sys, time
from burnish.dist.world import LostPeer, world_from_environment
from burnish.run.worker import leave
world = world_from_environment()
if world.rank == 1:
    print("joined", flush=True)
    time.sleep(%d)
try:
    world.barrier()
except LostPeer as error:
    print(f"lost: {error}", file=sys.stderr)
    leave(1)  # a thread of gloo may still hold tensors, as in a worker
"""


def test_a_process_whose_peer_is_killed_says_so_at_once(tmp_path: Path) -> None:
    (tmp_path / "waiting.py").write_text(WAITING % WAITING_SECONDS)
    first, second = start_ranks(str(tmp_path / "waiting.py"), is_module=False)
    assert second.stdout is not None
    assert first.stderr is not None
    assert second.stdout.readline() == "joined\n"
    os.kill(second.pid, signal.SIGKILL)
    # The other one would wait for hours by its own patience, and the killed one for longer than this.
    assert first.wait(timeout=WAITING_SECONDS / 3) == 1
    assert "lost: the processes of this run could not add up" in first.stderr.read()
    second.wait()


def start_ranks(*argv: str, is_module: bool = True) -> "list[subprocess.Popen[str]]":
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [sys.executable, *(["-m"] if is_module else []), *argv]
    return [
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if not is_module else None,
            text=True,
        )
        for rank in range(2)
    ]
