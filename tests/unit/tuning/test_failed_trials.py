"""A trial that ends in a traceback says so in the files of its run, where its study looks."""

import json
import os
from pathlib import Path

import pytest

from burnish.run.record.directory import RunDirectory
from burnish.tuning import forks


def test_an_exception_of_the_users_code_is_the_ending_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_argv: list[str]) -> int:
        raise ValueError("no such column")

    monkeypatch.setattr("burnish.run.worker.main", fail)
    run = RunDirectory(tmp_path)
    assert forks.main(["trial.log", str(tmp_path), "--as-trial"]) == os.EX_SOFTWARE
    ending = json.loads(run.exit.read_text())
    assert ending["reason"] == "failed"
    assert ending["message"] == "ValueError: no such column; the traceback is in trial.log"
    assert "Traceback" in capsys.readouterr().err
