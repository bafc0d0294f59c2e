"""Measures studies: two trials at once against one, and trials a minute beside Optuna's `n_jobs` driving a Trainer.

python -m bench.tuning parallel            a table, `--parallel 1` and 2, with the same trials
python -m bench.tuning peer                a tiny transformer: Burnish, then Optuna with transformers' Trainer
python -m bench.tuning quality EXPERIMENT --minutes N     the default space beside the shipped defaults
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.project import make_project
from tests.studies import make_study

_TRIALS = 12
_TEXT_SPACE = """\
tune:
  searcher: random
  trials: {trials}
  space:
    optimizer.learning_rate: {{type: log, min: 1e-4, max: 1e-2}}
    train.batch: [8, 16]
"""


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.tuning")
    parser.add_argument("what", choices=["parallel", "peer", "quality"])
    parser.add_argument("experiment", nargs="?")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--trials", type=int, default=_TRIALS)
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        if asked.what == "parallel":
            return _parallel(Path(folder), asked.trials)
        if asked.what == "peer":
            return _peer(Path(folder), asked.trials)
        return _quality(asked.experiment, Path(folder), asked.minutes)


def _parallel(folder: Path, trials: int) -> int:
    experiment, space = make_study(folder, trials=trials)
    seconds = {}
    for parallel in (1, 2):
        argv = [str(experiment), "-c", str(space), "train.length=60 epochs", "--parallel", str(parallel)]
        seconds[parallel] = _timed(lambda argv=argv, at=parallel: _tune([*argv, "--dir", str(folder / f"by-{at}")]))
    print(f"{trials} trials: one at a time {seconds[1]:.1f} s, two {seconds[2]:.1f} s: {seconds[2] / seconds[1]:.2f}")
    return 0


def _peer(folder: Path, trials: int) -> int:
    from burnish.testing.tiny_torch import tiny_model

    project = make_project(folder, model=tiny_model(folder / "bert"))
    space = folder / "space.yaml"
    space.write_text(_TEXT_SPACE.format(trials=trials))
    argv = [str(project.config), "-c", str(space), "--parallel", "2", "--dir", str(folder / "study")]
    ours = _timed(lambda: _tune(argv))
    script = [sys.executable, "-m", "bench.peers.optuna_trainer", str(folder / "bert"), str(project.data), str(trials)]
    said: list[str] = []
    theirs = _timed(lambda: said.append(subprocess.run(script, check=True, capture_output=True, text=True).stdout))
    done = int(said[0].split()[-1])
    print(
        f"burnish {60 * trials / ours:.1f} trials a minute, Optuna with Trainer {60 * done / theirs:.1f} ({done} done)"
    )
    return 0


def _quality(experiment: str, folder: Path, minutes: float) -> int:
    table = _tune([experiment, "--minutes", str(minutes), "--parallel", "2", "--dir", str(folder / "study")])
    for row in (table["trials"][0], table["best"]):
        print({name: row[name] for name in ("number", "values", "score", "low", "high", "test")})
    return 0


def _tune(argv: Sequence[str]) -> Any:
    done = subprocess.run([sys.executable, "-m", "burnish", "tune", *argv, "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
