"""A worker is heard line by line, and its exit code is known."""

from pathlib import Path

import pytest

from burnish.launch.local import run_worker


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
