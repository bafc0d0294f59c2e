"""The driver of a job on Ray: what becomes of workers that do not stop, and of errors in its own actors."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from burnish.launch.ray import group
from burnish.launch.ray.group import GroupPlan, NodeGroup


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class FakeRay(ModuleType):
    """As much of Ray as a driver uses: one worker whose stream says nothing, or fails with an error."""

    def __init__(self, fault: Exception | None = None) -> None:
        super().__init__("ray")
        self.fault = fault
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        self.killed = 0

    def wait(self, streams: list[Any], **_options: object) -> tuple[list[Any], list[Any]]:
        return (streams, []) if self.fault else ([], streams)

    def get(self, _reference: object) -> object:
        assert self.fault is not None
        raise self.fault


class Worker:
    """Streams something, and does not heed a request to stop."""

    def __init__(self) -> None:
        self.run = self.stop = SimpleNamespace(remote=lambda *_words: iter(["reference"]))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "_SECONDS_TO_SAVE", 0.01)


def run(ray: FakeRay, monkeypatch: pytest.MonkeyPatch, *, is_stopping: bool = False) -> int:
    monkeypatch.setitem(sys.modules, "ray", ray)
    driver = NodeGroup("/jobs/a/job.json", GroupPlan("1", {"CPU": 1}, max_restarts=1))
    driver.is_stopping = is_stopping
    monkeypatch.setattr(driver, "_attempt", lambda: driver._follow([Worker()]))
    return driver.run(sleep=lambda seconds: None)


def test_workers_that_do_not_stop_end_the_job_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(FakeRay(), monkeypatch, is_stopping=True) == 6
    assert "error: the workers were asked to stop and did not" in capsys.readouterr().out


def test_an_error_in_an_actor_ends_the_job_with_its_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = RayTaskError("\x1b[36mray::run()\x1b[39m\n  File x\nOSError: no space left on device")
    assert run(FakeRay(fault), monkeypatch) == 6
    said = capsys.readouterr().out
    assert "error: a worker could not be run: OSError: no space left on device" in said
    assert "start 2" not in said


def test_a_job_that_waits_for_nodes_ends_when_it_is_asked_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def wait(_seconds: float) -> bool:
        looks.append(1)
        (tmp_path / "STOP").touch()
        assert len(looks) < 5, "it waits for ever"
        return False

    ray = FakeRay()
    ray.nodes = list
    monkeypatch.setitem(sys.modules, "ray", ray)
    util = ModuleType("ray.util")
    util.placement_group = lambda bundles, strategy: SimpleNamespace(wait=wait, bundle_count=1)
    util.remove_placement_group = lambda placed: None
    monkeypatch.setitem(sys.modules, "ray.util", util)
    driver = NodeGroup(f"{tmp_path}/job.json", GroupPlan("2", {"GPU": 8}, max_restarts=1))
    assert driver.run(sleep=lambda seconds: None) == 75
