import io
import json
import os
import re
import signal
import sys
from collections.abc import Callable

import pytest
from rich.console import Console as Terminal

from burnish.cli.console import Console, JsonConsole, Live, PlainLines, console_for, count_plainly, counting
from burnish.engine.stop import StopRequest
from burnish.launch.local import run_worker
from burnish.spec.events import Ended, Evaluated, Noted, Saved, Started, Stepped
from tests.harness.terminal import run_in_terminal


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


LONG_RUN = """
from burnish.cli.console import Live
from burnish.spec.events import Evaluated, Noted, Started, Stepped
from unittest.mock import patch

clock = iter(range(0, 100_000, 50))
with patch("burnish.cli.console.monotonic", lambda: next(clock)), Live() as console:
    console.watch(Started(0, 1, 123_456, {"select": "accuracy"}))
    console.watch(Noted(0, "many words of a long note " * 8))
    scores = {"accuracy": 0.9123, "macro_f1": 0.9, "calibration_error": 0.1, "log_loss": 0.3}
    console.watch(Evaluated(1, "validation", scores, is_best=True))
    for step in range(1, 9):
        console.watch(Stepped(step, 0.0, 0.51234, 1e-4, 1.0, examples=32, tokens=9, fraction=step / 123_456))
        console._bar.refresh()
"""


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_a_terminal_of_any_width_shows_the_time_left_on_one_line(columns: int) -> None:
    lines = run_in_terminal([sys.executable, "-c", LONG_RUN], columns=columns).lines
    status = [line for line in lines if "% " in line]
    assert all(line.rstrip().endswith(" left") for line in status[1:])  # the first step only starts the clock
    assert len(status) >= 8
    assert ("examples/s" in status[-1]) == (columns == 140)
    assert max(len(line.rstrip()) for line in lines) <= columns
    assert next(line for line in lines if "★ best" in line).startswith("step 1  validation  accuracy 0.9123")
    note = next(number for number, line in enumerate(lines) if line.startswith("note: many words"))
    assert lines[note + 1].startswith("      ")


def test_ctrl_c_is_answered_while_a_worker_finishes_its_step(capfd: pytest.CaptureFixture[str]) -> None:
    waits = ["timeit", "-n1", "-r1", "-s", "import time", "print('training', flush=True); time.sleep(60)"]
    with Console():
        run_worker(waits, on_line=lambda line: os.kill(os.getpid(), signal.SIGINT))
    assert "stopping after this step" in capfd.readouterr().err


def test_ctrl_c_is_answered_while_a_study_waits_for_its_trials(capfd: pytest.CaptureFixture[str]) -> None:
    request = StopRequest()
    with Console():
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        request.listen()
        os.kill(os.getpid(), signal.SIGINT)
        for number, handler in before.items():
            signal.signal(number, handler)
    assert request.reason == "interrupted"
    assert capfd.readouterr().err.count("stopping after this step") == 1


def test_ctrl_c_ends_a_command_that_has_nothing_to_save() -> None:
    with pytest.raises(KeyboardInterrupt), Console():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


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
