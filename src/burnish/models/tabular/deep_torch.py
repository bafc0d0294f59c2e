"""Networks of layers over a table, alone and beside a linear part."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from torch import Tensor, nn

from burnish.models.tabular.linear_torch import Wide
from burnish.models.tabular.table import Layered, inputs_of
from burnish.models.tabular.table_features_torch import FeatureLayers
from burnish.models.tabular.table_torch import TableNetwork
from burnish.models.transformers.dropout_torch import LeanDropout
from burnish.spec.values import HeadSpec


class DeepNetwork(TableNetwork):
    """Embed, then layers, then logits."""

    def __init__(self, options: Layered, head: HeadSpec) -> None:
        super().__init__(head)
        self.features = FeatureLayers(options, inputs_of(head))
        widths = (sum(self.features.sizes), *options.widths())
        self.layers = layers(widths, batch_norm=options.batch_norm, dropout=options.dropout)
        self.output = nn.Linear(widths[-1], head.size)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Give the logits [n, size]."""
        logits: Tensor = self.output(self.layers(self.features(batch)))
        return logits


class WideDeepNetwork(DeepNetwork):
    """Add the logits of a linear part to those of the layers."""

    def __init__(self, options: Layered, head: HeadSpec) -> None:
        super().__init__(options, head)
        self.wide = Wide(inputs_of(head), size=head.size)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Give the logits [n, size]."""
        remembered: Tensor = self.wide(batch)
        return super().forward(batch) + remembered


def layers(widths: Sequence[int], *, batch_norm: bool, dropout: float) -> nn.Sequential:
    """Stack linear layers, each with norm, rectifier and dropout as asked."""
    stack: list[nn.Module] = []
    for before, after in pairwise(widths):
        stack.append(nn.Linear(before, after))
        if batch_norm:
            stack.append(RowNorm(after))
        stack.append(nn.ReLU())
        if dropout:
            stack.append(LeanDropout(dropout))
    return nn.Sequential(*stack)


class RowNorm(nn.BatchNorm1d):
    """Batch norm that takes a batch of one row, which has no spread, by what it has seen before."""

    def forward(self, input: Tensor) -> Tensor:
        """Give each column with mean 0 and spread 1, scaled and moved."""
        if self.training and len(input) == 1:
            running = (self.running_mean, self.running_var)
            return nn.functional.batch_norm(input, *running, self.weight, self.bias, training=False, eps=self.eps)
        return super().forward(input)
