"""Real runs with notifiers and an outer tuner: they are told, and no token is left anywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.notify.conftest import Inbox, inbox  # noqa: F401  # a fixture

TOKEN = "XOXB-TOKEN"
MINE = """
task: {type: tabular, target: y}
data: {dir: '${env:FOLDER}', train: rows.csv}
model: linear
train: {length: 2 epochs, batch: 16}
notify:
  - {type: slack, mention: '<!here>', on: [start, best, end, failure]}
  - {type: webhook, url: '${env:DEAD}', on: [start]}
  - {type: webhook, url: '${env:HOOK}', key: 'file:key.txt', on: [end, failure]}
"""
KILLER = """
import os, signal
from burnish.spec.component import Component
class Killer(Component):
    def open(self, directory, *, name):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    rows = [f"{number % 7},{number % 3},{'yes' if number % 7 > 3 else 'no'}" for number in range(120)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    (tmp_path / "mine.yaml").write_text(MINE)
    (tmp_path / "key.txt").write_text(f"{TOKEN}-KEY\n")
    (tmp_path / "killer.py").write_text(KILLER)
    return tmp_path


def train(project: Path, *words: str, url: str) -> subprocess.CompletedProcess[str]:
    trial = {"CLOUD_ML_TRIAL_ID": "7", "CLOUD_ML_HP_METRIC_FILE": str(project / "trial" / "metrics")}
    secrets = {
        "SLACK_WEBHOOK_URL": url,
        "HOOK": f"{url}?hook",
        "DEAD": f"http://127.0.0.1:1/{TOKEN}",
        "FOLDER": str(project),
        **trial,
    }
    command = [sys.executable, "-m", "burnish", "train", "mine.yaml", "--dir", "run", *words]
    return subprocess.run(
        command, cwd=project, env={**os.environ, **secrets}, capture_output=True, text=True, timeout=200, check=False
    )


def said(inbox: Inbox) -> list[str]:  # noqa: F811
    return [json.loads(body)["text"] for _, body in inbox.requests]


def test_a_run_is_announced_through_a_server_that_is_busy(project: Path, inbox: Inbox) -> None:  # noqa: F811
    inbox.answers = [(429, {"Retry-After": "0"}), (503, {"Retry-After": "0"})]
    done = train(project, "--learning-rate=0.01", "--json", url=inbox.url)
    assert done.returncode == 0, done.stderr
    texts = said(inbox)
    assert any("mine started" in text for text in texts)
    assert any("mine has a new best" in text and "accuracy" in text for text in texts)
    last = [text for text in texts if "mine is done" in text and "validation/accuracy" in text]
    assert len(last) == 2
    assert str(project / "run") in last[0]
    assert any(headers.get("X-Burnish-Signature") for headers, _ in inbox.requests)
    notes = [line for line in done.stdout.splitlines() if "could not be notified" in line]
    assert len(notes) == 1
    refuse_token(project, done)
    plan = (project / "run" / "plan.yaml").read_text()
    assert f"dir: {project}" in plan
    assert "set by mine.yaml:3 from ${env:FOLDER}" in plan
    assert "learning_rate: 0.01 " in plan
    lines = [json.loads(line) for line in (project / "trial" / "metrics").read_text().splitlines()]
    assert {line["trial"] for line in lines} == {"7"}
    assert {"accuracy", "loss", "train_loss"} <= {tag for line in lines for tag in line}


def test_a_killed_worker_is_announced(project: Path, inbox: Inbox) -> None:  # noqa: F811
    killed = train(project, "track=killer:Killer", url=inbox.url)
    assert killed.returncode == 6
    assert any("mine failed" in text and "died with signal 9" in text for text in said(inbox))
    refuse_token(project, killed)


def refuse_token(project: Path, done: subprocess.CompletedProcess[str]) -> None:
    assert TOKEN not in done.stdout + done.stderr
    for path in (project / "run").rglob("*"):
        assert path.is_dir() or TOKEN.encode() not in path.read_bytes(), path
