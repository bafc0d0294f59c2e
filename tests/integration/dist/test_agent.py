"""What the parent of several processes makes of their ends."""

import logging
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure
from torch.distributed.elastic.rendezvous import RendezvousError
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler

from burnish.launch import agent_torch
from burnish.launch.agent_torch import first_to_fail
from burnish.launch.group import Group
from tests.harness.places import free_port


def failure(rank: int, exitcode: int) -> ProcessFailure:
    return ProcessFailure(local_rank=rank, pid=100 + rank, exitcode=exitcode, error_file="")


@pytest.mark.parametrize(
    ("codes", "rank"),
    [
        ([6, -9], 1),  # the other one lost its peer
        ([-15, 4], 1),  # the other one was told to end
        ([-15, -9], 1),
        ([75, 75], 0),
        ([-15, -15], 0),
    ],
)
def test_the_process_that_took_the_others_with_it_is_found(codes: list[int], rank: int) -> None:
    failures = {number: failure(number, code) for number, code in enumerate(codes)}
    assert first_to_fail(failures)[0] == rank


ASKED = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the last words of processes go; signals and logs are as before in the end."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = {number: signal.getsignal(number) for number in ASKED}
    yield tmp_path
    logging.disable(logging.NOTSET)
    for number, handler in before.items():
        signal.signal(number, handler)


def stop_soon(number: signal.Signals) -> None:
    threading.Timer(0.2, os.kill, (os.getpid(), number)).start()


@pytest.mark.parametrize("number", ASKED)
def test_a_node_that_waits_for_others_can_be_stopped_and_they_go_on_meeting(
    number: signal.Signals, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[object] = []
    monkeypatch.setattr(DynamicRendezvousHandler, "_close", closed.append)
    wait = agent_torch._run

    def wait_and_be_stopped(*given: Any, **named: Any) -> int:
        stop_soon(number)
        return wait(*given, **named)

    monkeypatch.setattr(agent_torch, "_run", wait_and_be_stopped)
    group = Group(1, 2, 2, f"127.0.0.1:{free_port()}")
    assert agent_torch.main([group.write(), "never"]) == os.EX_TEMPFAIL
    assert [*words.iterdir()] == []
    assert closed == []


def test_a_node_that_looks_for_the_others_again_can_be_stopped(words: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def part(*_: object, **__: object) -> int:
        stop_soon(signal.SIGTERM)
        raise RendezvousError("gone")

    monkeypatch.setattr(agent_torch, "_run", part)
    group = Group(1, 2, 2, f"127.0.0.1:{free_port()}", 3)
    assert agent_torch.main([group.write(), "never"]) == os.EX_TEMPFAIL
    assert [*words.iterdir()] == []
