import io
import json
import re
from collections.abc import Callable

import pytest
from rich.console import Console as Terminal

from burnish.cli.console import Console, JsonConsole, Live, PlainLines, console_for, count_plainly, counting
from burnish.spec.events import Ended, Evaluated, Noted, Saved, Started, Stepped


class Clock:
    """Stand still until told to move."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


class FakeTimer:
    """Remember what would have happened later."""

    def __init__(self, seconds: float, action: Callable[..., None], arguments: tuple[str, ...]) -> None:
        self.fire = lambda: None if self.is_cancelled else action(*arguments)
        self.is_cancelled = False

    def start(self) -> None:
        FakeTimer.last = self

    def cancel(self) -> None:
        self.is_cancelled = True


def stepped(step: int) -> Stepped:
    return Stepped(step, 0.0, 0.5, 1e-4, 1.0, examples=32, tokens=9, fraction=step / 100)


def test_plain_lines_tell_of_steps_only_every_few_seconds() -> None:
    stream, clock = io.StringIO(), Clock()
    with PlainLines(stream, now=clock) as console:
        for step in range(1, 13):
            console.watch(stepped(step))
            clock.time += 1.0
    told = [re.search(r"step \d+", line)[0] for line in stream.getvalue().splitlines()]
    assert told == ["step 1", "step 6", "step 11"]


def test_plain_lines_hold_no_control_codes_and_always_tell_of_evaluations() -> None:
    stream, clock = io.StringIO(), Clock()
    with PlainLines(stream, now=clock) as console:
        for step in (1, 2, 3):
            console.watch(Evaluated(step, "validation", {"accuracy": 0.5}, is_best=False))
    assert stream.getvalue().count("accuracy 0.5000\n") == 3
    assert stream.getvalue().replace("\n", "").isprintable()


def test_starting_is_told_when_it_lasts() -> None:
    stream = io.StringIO()
    with PlainLines(stream, timer=FakeTimer):  # type: ignore[arg-type]
        FakeTimer.last.fire()
    assert stream.getvalue() == "starting\n"


def test_what_ends_or_begins_at_once_was_never_starting() -> None:
    stream = io.StringIO()
    with PlainLines(stream, timer=FakeTimer):  # type: ignore[arg-type]
        pass
    FakeTimer.last.fire()
    with PlainLines(stream, timer=FakeTimer) as console:  # type: ignore[arg-type]
        console.watch(Saved(1, "p"))
        FakeTimer.last.fire()
    assert stream.getvalue() == ""


def test_json_lines_are_the_events() -> None:
    stream = io.StringIO()
    with JsonConsole(stream) as console:
        console.watch(Noted(3, "n"))
        console.watch(Ended(4, "finished"))
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["noted", "ended"]


def test_the_live_bar_prints_lines_above_and_goes_away() -> None:
    stream = io.StringIO()
    terminal = Terminal(file=stream, force_terminal=True, width=120, no_color=True)
    with Live(terminal) as console:
        for event in (Started(0, 1, 100), stepped(1), stepped(50), Noted(50, "[bold] is kept"), Ended(50, "finished")):
            console.watch(event)
    drawn = stream.getvalue()
    assert "starting" in drawn
    assert "note: [bold] is kept" in drawn
    assert "trained to step 50" in drawn


@pytest.mark.parametrize(
    ("is_tty", "asked", "kind"),
    [
        (True, {}, Live),
        (False, {}, PlainLines),
        (True, {"is_json": True}, JsonConsole),
        (True, {"is_quiet": True}, Console),
    ],
)
def test_who_watches_depends_on_the_terminal_and_the_wish(
    monkeypatch: pytest.MonkeyPatch, is_tty: bool, asked: dict[str, bool], kind: type
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_tty)
    assert type(console_for(**asked)) is kind


def test_counting_in_plain_lines() -> None:
    stream, clock = io.StringIO(), Clock()
    advance = count_plainly("scoring", stream=stream, now=clock)
    for done in range(1, 1201, 100):
        advance(done, 1200)
        clock.time += 1.0
    advance(1200, 1200)
    assert stream.getvalue() == "scoring 501/1,200\nscoring 1,001/1,200\nscoring 1,200/1,200\n"


def test_counting_on_a_terminal_and_in_silence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with counting("x", is_silent=True) as advance:
        advance(1, 2)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with counting("x") as advance:
        advance(1, 2)
    assert capsys.readouterr().out == ""
