"""A job is followed to its end, whatever its service does meanwhile: errors that pass, lines that come late."""

from collections.abc import Iterator
from typing import Any

import pytest

from burnish.commands.elsewhere import jobs
from burnish.commands.elsewhere.launching import follow
from burnish.errors import LaunchError, StorageError
from burnish.launch.records import JobRecord
from burnish.spec.launcher import JobStatus, LogLine

RECORD = JobRecord("train-a", "vertex", ("train", "x"), "7", "link", "memory://nowhere/train-a", 0.0, {})


class Service:
    """Answers each question with the next of its answers; an error is raised."""

    def __init__(self, *answers: object) -> None:
        self.answers = [*answers]
        self.since: list[str] = []

    def logs(self, id: str, *, after: str = "") -> Iterator[LogLine]:
        self.since.append(after)
        answer = self._next()
        for each in answer:
            if isinstance(each, Exception):
                raise each
            yield LogLine(*each.split("|"))

    def status(self, id: str) -> JobStatus:
        return JobStatus(self._next())

    def _next(self) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def read(service: Any, said: list[str] | None = None, slept: list[float] | None = None) -> list[str]:
    slept, said = [] if slept is None else slept, [] if said is None else said
    return list(follow(RECORD, service, sleep=slept.append, tell=said.append))


def test_errors_that_pass_are_told_and_borne_with_longer_waits() -> None:
    away = LaunchError("the service answered 503")
    first, last = [["1|a"], "running"], [["2|b"], "finished", away, []]
    service = Service(*first, away, away, [], StorageError("the bucket is away"), *last)
    said: list[str] = []
    slept: list[float] = []
    assert read(service, said, slept) == ["a", "b"]
    assert [each.rpartition("; ")[2] for each in said] == [
        *("asking again in 5 s", "asking again in 10 s", "asking again in 20 s"),
        "asking again in 5 s",  # it had answered
    ]
    assert said[0].startswith("the service answered 503; ")
    assert 20.0 in slept


def test_who_gives_up_says_how_to_come_back() -> None:
    service = Service(*[LaunchError("the service answered 503")] * 100)
    slept: list[float] = []
    with pytest.raises(LaunchError, match="`burnish jobs logs -f train-a` follows it") as refused:
        read(service, slept=slept)
    assert "answered 503" in str(refused.value)
    assert sum(slept) > 600


def test_what_will_not_change_is_refused_at_once() -> None:
    with pytest.raises(LaunchError, match="no such job"):
        read(Service(LaunchError("no such job", is_final=True)))


def test_lines_that_come_late_and_again_are_printed_once() -> None:
    service = Service(["1|a", "3|c"], "running", ["1|a", "2|b", "3|c", "4|d"], "finished", ["3|c", "4|d", "5|e"])
    assert read(service) == ["a", "c", "b", "d", "e"]
    assert service.since == ["", "3", "4"]


def test_a_read_that_broke_off_is_gone_on_with() -> None:
    service = Service(["1|a", LaunchError("reset")], ["1|a", "2|b"], "finished", [])
    assert read(service) == ["a", "b"]


def test_waiting_bears_errors_that_pass_too(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(LaunchError("reset"), "running", LaunchError("503"), "finished")
    monkeypatch.setattr(jobs, "find_record", lambda name: RECORD)
    monkeypatch.setattr(JobRecord, "launcher", lambda self: service)
    said: list[str] = []
    assert jobs.wait("train-a", sleep=lambda seconds: None, tell=said.append).exit_code == 0
    assert len(said) == 2
