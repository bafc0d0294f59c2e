"""A task is its folder and a line of the catalog: installed as a plug-in instead, it trains to the same bits."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import burnish
from burnish.testing.exams import TRAINING
from tests.integration.tasks.multiple_choice.test_task import TestMultipleChoice as Choices

FOLDER = Path(burnish.__file__).parent / "tasks" / "multiple_choice"
WITHOUT_OURS = """\
from burnish import catalog
del catalog.CATALOG["tasks"]["multiple_choice"]
"""


@pytest.fixture
def experiment(tmp_path: Path, tiny: Callable[[str], Path]) -> Path:
    Choices.write(tmp_path)
    written = f"{Choices.sections.format(root=tmp_path)}model: {Choices.model.format(tiny=tiny('bert'))}\n{TRAINING}"
    (tmp_path / "experiment.yaml").write_text(written)
    return tmp_path / "experiment.yaml"


def install(site: Path) -> None:
    """Copy the task's folder into a package of another name that provides it by an entry point."""
    shutil.copytree(FOLDER, site / "their_choices", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (site / "their_choices").glob("*.py"):
        path.write_text(path.read_text().replace("burnish.tasks.multiple_choice", "their_choices"))
    about = site / "their_choices-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-choices\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[burnish.tasks]\nmultiple_choice = their_choices:MultipleChoice\n")
    (site / "sitecustomize.py").write_text(WITHOUT_OURS)


def trained(experiment: Path, name: str, **variables: str) -> tuple[list[Any], list[float]]:
    run = experiment.parent / name
    command = [sys.executable, "-m", "burnish", "train", str(experiment), "--dir", str(run)]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, cwd=run.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    steps = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines() if '"stepped"' in line]
    return pq.read_table(run / "predictions" / "validation.parquet").to_pylist(), [step["loss"] for step in steps]


def test_a_task_of_the_catalog_trains_to_the_same_bits_as_a_plug_in(experiment: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    install(site)
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", ""), str(Path(burnish.__file__).parents[1])])
    assert trained(experiment, "theirs", PYTHONPATH=path) == trained(experiment, "ours")
