"""How much training slows down with a checkpoint every 50 steps: blocks of steps with and without, taken in turn.

By the wall clock on a quiet machine; by processor time also where others are at work, with the writer's share counted
as if it had taken the time from the steps.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification

from burnish.engine.infer_torch import Autocast
from burnish.engine.learner_torch import Learner
from burnish.engine.snapshot_torch import snapshot
from burnish.run.saving import CheckpointContent, Saver
from burnish.spec.experiment import Keep
from burnish.spec.values import Objective
from burnish.storage.checkpoints import CheckpointStore
from burnish.storage.room import DiskSpace

BATCH, LENGTH = 32, 24


class Network(nn.Module):
    """A BERT of random weights; MiniLM's shape unless told otherwise."""

    def __init__(self, hidden: int, layers: int) -> None:
        super().__init__()
        shape = {"num_attention_heads": hidden // 32, "intermediate_size": 4 * hidden}
        self.bert = BertForSequenceClassification(BertConfig(hidden_size=hidden, num_hidden_layers=layers, **shape))

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return self.bert(**batch).logits  # type: ignore[no-any-return]  # transformers leaves it untyped


class Bench:
    """One learner that trains on, whatever is measured."""

    def __init__(self, folder: Path, *, hidden: int, layers: int) -> None:
        torch.manual_seed(0)
        network = Network(hidden, layers)
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-5)
        cpu = Autocast(torch.device("cpu"))
        self.learner = Learner(network, optimizer, Objective("cross_entropy"), precision=cpu, seed=0)
        store = CheckpointStore(folder / "checkpoints", folder / "quarantine", tell=print)
        events = folder / "events.jsonl"
        events.touch()
        self.saver = Saver(store, DiskSpace(folder, 0, lambda: True), Keep(), events, lambda event: None)
        self.batches = _batches()
        self.step = 0

    def block(self, steps: int, *, is_saving: bool) -> tuple[float, float]:
        """Take steps, with a checkpoint at the first one or without; give wall and processor seconds."""
        began, spent = time.perf_counter(), time.process_time()
        if is_saving:
            self.save()
        for _ in range(steps):
            self.learner.step([next(self.batches)], step=self.step, factor=1.0)
            self.step += 1
            self.saver.tell()
        self.saver.finish()
        return time.perf_counter() - began, time.process_time() - spent

    def save(self) -> float:
        """Begin a checkpoint; give the seconds that the step waits."""
        began = time.perf_counter()
        copy = snapshot(self.learner)
        position = {"step": self.step, "epochs": 0.0, "examples": 0, "minutes": 0.0}
        self.saver.begin(
            CheckpointContent(self.step, {"train": {"position": position}}, copy.write, copy.num_bytes, None)
        )
        return time.perf_counter() - began


def _batches() -> Iterator[dict[str, np.ndarray]]:
    random = np.random.default_rng(0)
    while True:
        yield {
            "input_ids": random.integers(0, 30_000, (BATCH, LENGTH)),
            "attention_mask": np.ones((BATCH, LENGTH), dtype=np.int64),
            "label": random.integers(0, 2, BATCH),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--hidden", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), hidden=options.hidden, layers=options.layers)
        bench.block(5, is_saving=True)
        ratios = []
        for number in range(options.pairs):
            # The order alternates, so that a machine that warms up or slows down favours neither.
            order = (False, True) if number % 2 else (True, False)
            seconds = {is_saving: bench.block(options.every, is_saving=is_saving) for is_saving in order}
            ratios.append([without / with_ for without, with_ in zip(seconds[False], seconds[True], strict=True)])
        waits = bench.save()
        bench.saver.finish()
    wall, processor = (sorted(each) for each in zip(*ratios, strict=True))
    print(
        f"checkpoints every {options.every} steps: throughput {statistics.median(wall):.3f} of none "
        f"({wall[0]:.3f} to {wall[-1]:.3f} in {options.pairs} pairs), by processor time "
        f"{statistics.median(processor):.3f} ({processor[0]:.3f} to {processor[-1]:.3f}); "
        f"a save holds up the step for {waits * 1000:.0f} ms"
    )


if __name__ == "__main__":
    main()
