"""A worker is heard line by line, and its exit code is known."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from burnish.launch import local
from burnish.launch.local import run_worker, start_worker


def test_lines_and_exit_code_come_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "speaking.py").write_text("import sys\nprint('one')\nprint('zwei é')\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    lines: list[str] = []
    assert run_worker(["speaking"], on_line=lines.append, env={"PYTHONIOENCODING": "utf-8"}) == 3
    assert lines == ["one\n", "zwei é\n"]


def test_a_listener_that_fails_is_not_swallowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "speaking.py").write_text("print('one')\n")
    monkeypatch.syspath_prepend(tmp_path)

    def refuse(line: str) -> None:
        raise ValueError(line)

    with pytest.raises(ValueError, match="one"):
        run_worker(["speaking"], on_line=refuse)


def test_a_word_that_is_no_utf_8_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "speaking.py").write_text("import sys\nsys.stdout.buffer.write(b'gr\\xfcn\\n')\n")
    monkeypatch.syspath_prepend(tmp_path)
    lines: list[str] = []
    assert run_worker(["speaking"], on_line=lines.append) == 0
    assert lines == ["gr\ufffdn\n"]


def test_a_signal_that_comes_before_the_worker_is_there_reaches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "waiting.py").write_text("import time\ntime.sleep(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    asked: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: asked.append(number))

    def start_late(argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        os.kill(os.getpid(), signal.SIGTERM)
        return start_worker(argv, env=env)

    monkeypatch.setattr(local, "start_worker", start_late)
    try:
        assert run_worker(["waiting"], on_line=print) == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)
    assert asked == [signal.SIGTERM]
