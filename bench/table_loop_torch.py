"""The habits: a Dataset that gives one row at a time, torch's DataLoader with its own collation, and a plain loop."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from burnish.tasks.tabular.plan import FIRST_ID, MISSING_ID, UNSEEN_ID, TablePlan

Item = dict[str, Tensor]


class DictRows(Dataset[Item]):
    """Keep rows as dicts; read numbers and look words up when a row is asked for."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], plan: TablePlan, labels: Sequence[str]) -> None:
        self._rows = rows
        self._numbers = [number.column for number in plan.numbers if number.part == "value"]
        self._flags = [number.column for number in plan.numbers if number.part == "missing"]
        self._words = [(column.name, vocabulary(column.vocabulary)) for column in plan.categories]
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


class FrameRows(Dataset[Item]):
    """Keep a data frame whose words are numbered already, target first, and take a row of it by its place."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], plan: TablePlan, labels: Sequence[str]) -> None:
        read = DictRows(rows, plan, labels)
        items = [read[at] for at in range(len(read))]
        columns = [torch.stack([item[name] for item in items]) for name in ("label", "numbers", "categories")]
        matrix = torch.cat([columns[0][:, None].double(), columns[1].double(), columns[2].double()], dim=1)
        self._frame = pd.DataFrame(matrix.numpy())
        self._num_numbers = columns[1].shape[1]

    def __len__(self) -> int:
        return len(self._frame)

    def __getitem__(self, at: int) -> Item:
        features = torch.tensor(self._frame.iloc[at, 1:].values)
        label = torch.tensor(self._frame.iloc[at, :1].values)
        words = features[self._num_numbers :].long()
        return {
            "numbers": features[: self._num_numbers].float(),
            "categories": words,
            "wide": words + 1,
            "label": label.long()[0],
        }


HABITS = {"rows as dicts": DictRows, "rows of a data frame": FrameRows}


def vocabulary(words: Sequence[str]) -> dict[str, int]:
    """Number words as the plan does."""
    return {word: at + FIRST_ID for at, word in enumerate(words)}


def epoch_by_rows(learner: Any, data: Dataset[Item], *, batch: int) -> None:
    """Train an epoch of the learner's network with its optimizer."""
    torch.manual_seed(0)
    for rows in DataLoader(data, batch_size=batch, shuffle=True):
        _step(learner, rows)


def _step(learner: Any, batch: Mapping[str, Tensor]) -> float:
    learner.network.train()
    learner.optimizer.zero_grad()
    label = batch["label"]
    logits = learner.network({name: tensor for name, tensor in batch.items() if name != "label"})
    loss = torch.nn.functional.cross_entropy(logits, label)
    loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    torch.nn.utils.clip_grad_norm_(learner.network.parameters(), 1.0)
    learner.optimizer.step()
    return float(loss.detach())
