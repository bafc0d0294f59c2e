"""News of a run reaches notifiers, and none of them reaches the run."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from burnish.errors import BurnishError
from burnish.run import announce as module
from burnish.run.announce import Announcer, announce_failure
from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import EventsFile
from burnish.spec.events import Ended, Evaluated, Started, Stepped
from burnish.spec.news import News, Notifier, Occasion

EVERY: tuple[Occasion, ...] = ("start", "best", "end", "preemption", "failure")


class Listener(Notifier):
    heard: list[News]

    def send(self, news: News) -> None:
        self.heard.append(news)


class Broken(Notifier):
    def send(self, news: News) -> None:
        raise BurnishError("nobody is there")


class Leaking(Notifier):
    def send(self, news: News) -> None:
        raise ValueError("https://hooks/TOKEN")


GATE = threading.Event()


class Slow(Notifier):
    def send(self, news: News) -> None:
        GATE.wait(20)


def announce(tmp_path: Path, *notifiers: Notifier, last_seconds: float = 5.0) -> tuple[Announcer, list[str]]:
    notes: list[str] = []
    run = RunDirectory(tmp_path / "run")
    return Announcer(notifiers, run, name="reviews", note=notes.append, last_seconds=last_seconds), notes


def best(step: int) -> Evaluated:
    return Evaluated(step, "validation", {"accuracy": step / 10}, is_best=True)


def test_each_occasion_is_told_once_and_in_order(tmp_path: Path) -> None:
    heard: list[News] = []
    announcer, notes = announce(tmp_path, Listener(heard=heard, on=EVERY))
    listener = announcer._posts[0].notifier
    for event in (Started(0, 1, 10), best(3), Evaluated(4, "validation", {}, is_best=False), Ended(5, "preempted")):
        announcer.emit(event)
    announcer.close()
    told = [(each.occasion, each.step, dict(each.scores)) for each in listener.heard]  # type: ignore[attr-defined]
    assert told == [("start", 0, {}), ("best", 3, {"accuracy": 0.3}), ("preemption", 5, {"accuracy": 0.3})]
    assert notes == []


def test_by_default_only_endings_are_told(tmp_path: Path) -> None:
    announcer, _ = announce(tmp_path, Listener(heard=[]))
    for event in (Started(0, 1, 10), best(3), Ended(5, "finished")):
        announcer.emit(event)
    announcer.close()
    listener = announcer._posts[0].notifier
    assert [each.occasion for each in listener.heard] == ["end"]  # type: ignore[attr-defined]


def test_a_failing_notifier_is_noted_once_and_without_what_it_said(tmp_path: Path) -> None:
    announcer, notes = announce(tmp_path, Broken(on=EVERY), Leaking(on=EVERY))
    for step in range(5):
        announcer.emit(best(step))
    announcer.emit(Ended(5, "finished"))
    announcer.close()
    assert sorted(notes) == [
        "Broken could not be notified: nobody is there; the run goes on",
        "Leaking could not be notified: ValueError; the run goes on",
    ]


def test_a_slow_notifier_delays_neither_the_run_nor_another(tmp_path: Path) -> None:
    GATE.clear()
    announcer, notes = announce(tmp_path, Slow(on=EVERY), Listener(heard=[], on=EVERY), last_seconds=0.2)
    began = time.monotonic()
    for step in range(100):
        announcer.emit(best(step))
    assert time.monotonic() - began < 0.2
    announcer.close()
    GATE.set()
    assert time.monotonic() - began < 1.0
    assert notes == ["Slow could not be notified: it took too long; the run goes on"]
    assert len(announcer._posts[1].notifier.heard) == 100  # type: ignore[attr-defined]


def test_a_secret_that_is_missing_is_noted_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from burnish.notify.notifiers import Slack

    monkeypatch.delenv("SLACK_WEBHOOK_URL", raising=False)
    announcer, notes = announce(tmp_path, Slack())
    announcer.emit(Started(0, 1, 10))
    assert "the environment has no variable SLACK_WEBHOOK_URL" in notes[0]


@pytest.mark.parametrize(("written", "step"), [(None, 12), (b"{}\n", 0)])
def test_a_failure_says_how_long_and_how_far_the_run_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bytes | None, step: int
) -> None:
    run, listener = RunDirectory(tmp_path), Listener(heard=[])
    monkeypatch.setattr(module, "read_plan", lambda _run: SimpleNamespace(notify=[listener], name="reviews"))
    events = EventsFile(run.events)
    for number in (11, 12):
        events.append(Stepped(number, 1.0, 0.5, 0.1, 1.0, 8, 80, 0.5), time=1000.0, attempt=1)
    if written is not None:
        run.events.write_bytes(b'{"event": "stepped"' + written)  # what is no event delays no news
    announce_failure(run, BurnishError("enough"), began=400.0, note=print, now=lambda: 1000.0)
    (news,) = listener.heard
    assert (news.minutes, news.step, news.message) == (10.0, step, "enough")
