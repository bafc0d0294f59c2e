"""The habit: a Dataset that makes tensors of one row at a time, torch's DataLoader, and a plain loop."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from burnish.dist.world import Solo
from burnish.run.assemble import build_learner
from burnish.run.directory import RunDirectory
from burnish.run.prepare import prepare
from burnish.spec.experiment import Experiment
from burnish.tasks.table_plan import FIRST_ID, MISSING_ID, UNSEEN_ID, TablePlan

if TYPE_CHECKING:
    from bench.table_turn import Watch

Item = dict[str, Tensor]


class PerRow(Dataset[Item]):
    """Look words up and scale numbers when a row is asked for."""

    def __init__(self, rows: list[dict[str, Any]], plan: TablePlan, labels: tuple[str, ...]) -> None:
        self._rows = rows
        self._numbers = [number.column for number in plan.numbers if number.part == "value"]
        self._flags = [number.column for number in plan.numbers if number.part == "missing"]
        self._words = [
            (column.name, {word: at + FIRST_ID for at, word in enumerate(column.vocabulary)})
            for column in plan.categories
        ]
        self._labels = {label: at for at, label in enumerate(labels)}

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: int) -> Item:
        row = self._rows[at]
        numbers = [float(row[name]) if row[name] else 0.0 for name in self._numbers]
        numbers += [float(not row[name]) for name in self._flags]
        words = [known.get(row[name], UNSEEN_ID) if row[name] else MISSING_ID for name, known in self._words]
        return {
            "numbers": torch.tensor(numbers),
            "categories": torch.tensor(words),
            "wide": torch.tensor(words) + 1,
            "label": torch.tensor(self._labels[str(row["y"])]),
        }


def epoch_by_rows(experiment: Experiment, folder: Path, *, watch: "Callable[[], Watch]") -> dict[str, Any]:
    """Train an epoch of the same network, with the same batches and optimizer."""
    prepared = prepare(experiment, RunDirectory(folder / "run"), tell=lambda _: None, is_recorded=False)
    plan = TablePlan.from_json(prepared.profile.facts["table"])
    learner = build_learner(experiment, prepared, Solo())
    data = PerRow(prepared.rows["train"].table.to_pylist(), plan, prepared.profile.labels)
    torch.manual_seed(0)
    loader = DataLoader(data, batch_size=experiment.train.batch.examples, shuffle=True)
    clock = watch()
    losses = [_step(learner, batch) for batch in loader]
    clock.stage("train")
    return clock.told(rows=len(data), loss=float(np.mean(losses)))


def _step(learner: Any, batch: Mapping[str, Tensor]) -> float:
    learner.network.train()
    learner.optimizer.zero_grad()
    label = batch["label"]
    logits = learner.network({name: tensor for name, tensor in batch.items() if name != "label"})
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), _repeated(label, logits))
    loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    torch.nn.utils.clip_grad_norm_(learner.network.parameters(), 1.0)
    learner.optimizer.step()
    return float(loss.detach())


def _repeated(label: Tensor, logits: Tensor) -> Tensor:
    return label if logits.ndim == 2 else label.repeat_interleave(logits.shape[1])
