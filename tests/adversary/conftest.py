"""A small model over a table, trained once, of which each test damages a copy; and code that must never run."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.commands.train import train
from tests.adversary.judge import Canary, plant

ROW = '{"a": 0.9, "b": 0.8, "c": "red"}'


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has ended, with checkpoints and an artifact; read it, never write to it."""
    root = tmp_path_factory.mktemp("original")
    draw = random.Random(0)
    rows = [(draw.random(), draw.random(), draw.choice(("red", "green"))) for _ in range(120)]
    lines = [f"{a:.3f},{b:.3f},{c},{'yes' if a + b > 1 else 'no'}" for a, b, c in rows]
    (root / "rows.csv").write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    (root / "config.yaml").write_text(
        f"task: {{type: tabular, target: y}}\n"
        f"data: {{train: {root / 'rows.csv'}, split: {{validation: 20, test: 20}}}}\n"
        "model: linear\n"
        "optimizer: {learning_rate: 0.1}\n"
        "train: {length: 8 steps, batch: 20, checkpoint_every: 4 steps, evaluate_every: 4 steps, keep: {last: 2}}\n"
        "runtime: {threads: 1, precision: fp32}\n"
    )
    return train(root / "config.yaml", directory=root / "run").directory


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Callable[..., Path]:
    """Gives a fresh copy of the run, or of one of its folders, to damage, in the place of the one before."""

    def fresh(folder: str = ".") -> Path:
        target = tmp_path / "stranger"
        shutil.rmtree(target, ignore_errors=True)
        return Path(shutil.copytree(original / folder, target))

    return fresh


@pytest.fixture(scope="session")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Canary:
    """Code on the path that no test here trusts."""
    folder = tmp_path_factory.mktemp("strange")
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(folder)
    return plant(folder)
