"""One turn of a contest over a table, in a process of its own: prints what it took as JSON.

python -m bench.table_turn {ours,trees,loop} FILE [MODEL]
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from burnish.commands.config import check
from burnish.run.machine import peak_memory
from burnish.spec.experiment import Experiment

BATCH = 1024
EXPERIMENT = f"""
name: synthetic
task: {{type: tabular, target: y, kind: binary}}
data: {{split: {{validation: 5%, test: 5%}}}}
optimizer: {{learning_rate: 2e-3}}
train: {{length: 1 epoch, batch: {BATCH}}}
runtime: {{threads: 1}}
"""


def main() -> None:
    """Take the turn that was asked for."""
    who, file, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(TURNS[who](Path(file), Path(folder), rest[0] if rest else "wide_deep")))


class Watch:
    """Tell the processor time of each stage, and how much memory came on top of what was there at the start."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self.memory: dict[str, int] = {}
        self._first_peak = peak_memory()
        self._began = time.process_time()

    def stage(self, name: str) -> None:
        """End a stage."""
        now = time.process_time()
        self.stages[name] = now - self._began
        self.memory[name] = peak_memory() - self._first_peak
        self._began = now

    def told(self, **facts: Any) -> dict[str, Any]:
        """Give all that was seen."""
        return {"stages": self.stages, "memory": self.memory, **facts}


def _experiment(file: Path, folder: Path, model: str) -> Experiment:
    written = folder / "synthetic.yaml"
    written.write_text(EXPERIMENT)
    plain = ["model.numbers=none"] if model == "wide_deep" else []  # bins cost more than all the rest of the network
    return check(str(written), overrides=[f"data.train={file}", f"model={model}", *plain]).experiment


def ours(file: Path, folder: Path, model: str) -> dict[str, Any]:
    """Read, look at and encode the file, train an epoch and score the test rows."""
    from burnish.dist.world import Solo
    from burnish.engine.device_torch import prepare as prepare_device
    from burnish.engine.evaluate import plainly
    from burnish.run.assemble import build_feed, build_learner, build_stream
    from burnish.run.directory import RunDirectory
    from burnish.run.prepare import prepare
    from burnish.run.scoring import Scorer

    experiment = _experiment(file, folder, model)
    prepare_device(experiment.runtime)  # imports what torch needs, as the other side has imported what it needs
    watch = Watch()
    prepared = prepare(experiment, RunDirectory(folder / "run"), tell=lambda _: None, is_recorded=False)
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


def trees(file: Path, _folder: Path, _model: str) -> dict[str, Any]:
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


def loop(file: Path, folder: Path, model: str) -> dict[str, Any]:
    """Train the same network with a Dataset that reads one row at a time and torch's own DataLoader."""
    from bench.table_loop_torch import epoch_by_rows

    return epoch_by_rows(_experiment(file, folder, model), folder, watch=Watch)


TURNS: Mapping[str, Callable[[Path, Path, str], dict[str, Any]]] = {"ours": ours, "trees": trees, "loop": loop}


if __name__ == "__main__":
    main()
