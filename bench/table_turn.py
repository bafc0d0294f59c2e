"""One turn of a contest over a table, in a process of its own: prints what it took as JSON.

python -m bench.table_turn {ours,trees} FILE [NETWORK]
"""

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from bench.table_synthetic import write_table
from burnish.commands.config import check
from burnish.run.machine import peak_memory
from burnish.spec.experiment import Experiment

BATCH = 1024
SMALL_ROWS = 10_000
_LOOK_EVERY_SECONDS = 0.02
EXPERIMENT = """
name: synthetic
task: {type: tabular, target: y, kind: binary}
data: {split: {validation: 5%, test: 5%}}
optimizer: {learning_rate: 2e-3}
train: {length: 1 epoch}
runtime: {threads: 1}
"""
NETWORKS = {
    "linear": ["model=linear"],
    # Bins would cost more than all the rest of the network.
    "wide_deep": ["model=wide_deep", "model.numbers=none"],
    # Layers of 30, 21, 14 and 10, which is what the well-known sample over taxi rides has.
    "small wide_deep": [
        "model=wide_deep",
        "model.numbers=none",
        "model.first=30",
        "model.scale=0.7",
        "model.layers=4",
    ],
}


def main() -> None:
    """Take the turn that was asked for, after one with few rows: only what more rows take is then counted."""
    who, file, *rest = sys.argv[1:]
    network = rest[0] if rest else "wide_deep"
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        TURNS[who](write_table(Path(other, "small.csv"), rows=SMALL_ROWS), Path(other), network)
        print(json.dumps(TURNS[who](Path(file), Path(folder), network)))


class Watch:
    """Tell the processor time of each stage, and how much memory came on top of what was there at the start."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self.memory: dict[str, int] = {}
        self._first_peak = peak_memory()
        self._first_anonymous = self._most_anonymous = _anonymous()
        self._is_over = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()
        self._began = time.process_time()

    def stage(self, name: str) -> None:
        """End a stage."""
        now = time.process_time()
        self.stages[name] = now - self._began
        self.memory[name] = peak_memory() - self._first_peak
        self._began = now

    def told(self, **facts: Any) -> dict[str, Any]:
        """Give all that was seen."""
        self._is_over.set()
        anonymous = self._most_anonymous - self._first_anonymous
        return {"stages": self.stages, "memory": self.memory, "base": self._first_peak, "anonymous": anonymous, **facts}

    def _look(self) -> None:
        while not self._is_over.wait(_LOOK_EVERY_SECONDS):
            self._most_anonymous = max(self._most_anonymous, _anonymous())


def _anonymous() -> int:
    """Tell the bytes that this process holds and no file could give back; the system tells no peak of it."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon:"))


def experiment_of(file: Path, folder: Path, network: str, *, batch: int = BATCH) -> Experiment:
    """Give the experiment of a network over a file."""
    written = folder / "synthetic.yaml"
    written.write_text(EXPERIMENT)
    options = [f"data.train={file}", f"train.batch={batch}", *NETWORKS[network]]
    return check(str(written), overrides=options).experiment


def ours(file: Path, folder: Path, network: str) -> dict[str, Any]:
    """Read, look at and encode the file, train an epoch and score the test rows."""
    from burnish.dist.world import Solo
    from burnish.engine.device_torch import prepare as prepare_device
    from burnish.engine.evaluate import plainly
    from burnish.run.build import build_feed, build_learner, build_stream
    from burnish.run.predicting.scoring import Scorer
    from burnish.run.preparation.prepare import prepare

    experiment = experiment_of(file, folder, network)
    prepare_device(experiment.runtime)  # imports what torch needs, as the other side has imported what it needs
    watch = Watch()
    prepared = prepare(experiment)
    watch.stage("read")
    learner = build_learner(experiment, prepared, Solo())
    stream = build_stream(experiment, prepared, Solo())
    scorer = Scorer(experiment, prepared)
    watch.stage("build")
    feed = build_feed(scorer, learner, stream=stream)  # type: ignore[arg-type]  # a network learns from batches
    for step in range(stream.batches_in(0)):
        feed.advance(step, 1.0)
    feed.close()
    watch.stage("train")
    scores = scorer.scores("test", learner.infer, fitting=plainly)
    watch.stage("evaluate")
    weights = sum(parameter.numel() * 4 for parameter in learner.network.parameters())
    return watch.told(score=scores["roc_auc"], model_bytes=weights, rows=len(prepared.rows["train"]))


def trees(file: Path, _folder: Path, _network: str) -> dict[str, Any]:
    """Read the file with Arrow, grow LightGBM's hundred trees with its defaults, and score the last 5% of the rows."""
    import lightgbm

    watch = Watch()
    table = pyarrow.csv.read_csv(file, read_options=pyarrow.csv.ReadOptions(use_threads=False))
    columns = {name: _column(table[name]) for name in table.column_names if name != "y"}
    matrix, target = np.column_stack(list(columns.values())), table["y"].to_numpy()
    watch.stage("read")
    cut = int(len(matrix) * 0.95)
    words = [at for at, name in enumerate(columns) if table[name].type == pa.string()]
    data = lightgbm.Dataset(matrix[:cut], target[:cut], categorical_feature=words)
    settings = {"objective": "binary", "num_threads": 1, "verbosity": -1}
    model = lightgbm.train(settings, data, 100)
    watch.stage("train")
    said = model.predict(matrix[cut:], num_threads=1)
    score = _area(said, target[cut:])
    watch.stage("evaluate")
    return watch.told(score=score, table_bytes=table.nbytes)


def _column(column: pa.ChunkedArray) -> "np.ndarray[Any, Any]":
    if column.type == pa.string():
        return np.asarray(column.combine_chunks().dictionary_encode().indices.to_numpy(), np.float32)
    return np.asarray(column.to_numpy(), np.float32)


def _area(said: "np.ndarray[Any, Any]", truth: "np.ndarray[Any, Any]") -> float:
    ranks = np.empty(len(said))
    ranks[np.argsort(said)] = np.arange(1, len(said) + 1)
    num_ones = truth.sum()
    return float((ranks[truth == 1].sum() - num_ones * (num_ones + 1) / 2) / (num_ones * (len(truth) - num_ones)))


TURNS: Mapping[str, Callable[[Path, Path, str], dict[str, Any]]] = {"ours": ours, "trees": trees}


if __name__ == "__main__":
    main()
