"""What `burnish runs` says when there is little to say."""

from pathlib import Path

import pytest

from burnish.cli.main import run
from burnish.run.record.directory import write_json
from tests.unit.commands.run_maker import make_run


def test_a_named_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "ls", str(tmp_path / "absent")]) == 5
    assert "there is no folder" in capsys.readouterr().err


def test_the_tail_of_a_failed_run_ends_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = make_run(tmp_path / "a", story=())
    write_json(directory.exit, {"reason": "failed", "message": "3 of 9 rows cannot be used"})
    assert run(["runs", "tail", str(directory.path)]) == 0
    assert capsys.readouterr().out == "failed: 3 of 9 rows cannot be used\n"


def test_all_kinds_may_be_asked_for_by_that_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "all"]) == 0
    named = capsys.readouterr().out
    assert run(["list"]) == 0
    assert capsys.readouterr().out == named
