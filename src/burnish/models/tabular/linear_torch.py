"""The linear network over a table."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from burnish.models.tabular.table import inputs_of
from burnish.models.tabular.table_torch import TableNetwork
from burnish.spec.values import HeadSpec, TableInputs


class LinearNetwork(TableNetwork):
    """Add up the weights of all that a row holds."""

    usual_rate = 2e-2  # one layer bears more than several: at 2e-3, 30 epochs of a small table end short of a ridge

    def __init__(self, head: HeadSpec) -> None:
        super().__init__(head)
        self.wide = Wide(inputs_of(head), size=head.size)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Give the logits [n, size]."""
        logits: Tensor = self.wide(batch)
        return logits


class Wide(nn.Module):
    """One weight for each number and each id; where a table has no wide ids, for each category instead."""

    offsets: Tensor

    def __init__(self, inputs: TableInputs, *, size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))
        self.numbers = nn.Linear(len(inputs.numbers), size, bias=False) if inputs.numbers else None
        self.name = "wide" if inputs.wide_size else "categories"
        cardinalities = torch.tensor([0, *([] if inputs.wide_size else inputs.cardinalities)])
        self.register_buffer("offsets", cardinalities.cumsum(0)[:-1], persistent=False)
        total = inputs.wide_size or int(cardinalities.sum())
        # Of wide ids 0 is nothing; of categories it is a value like any other: a missing one.
        self.ids = nn.Embedding(total, size, padding_idx=0 if inputs.wide_size else None)
        for weight in self.parameters():
            nn.init.zeros_(weight)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Give the sums [n, size]."""
        sums = self.bias
        if self.name in batch and batch[self.name].shape[1]:
            ids = batch[self.name]
            # Summed apart: for so few numbers an id, torch's EmbeddingBag takes twice the time.
            sums = sums + self.ids(ids if self.name == "wide" else ids + self.offsets).sum(dim=1)
        if self.numbers is not None:
            sums = sums + self.numbers(batch["numbers"])
        return sums
