"""Many networks over a table that share their matrices, computed together."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from burnish.models.tab_m import TabM
from burnish.models.tabular.deep_torch import RowNorm
from burnish.models.tabular.table import inputs_of
from burnish.models.tabular.table_features_torch import FeatureLayers
from burnish.models.tabular.table_torch import TableNetwork
from burnish.models.transformers.dropout_torch import LeanDropout
from burnish.spec.values import HeadSpec


class TabMNetwork(TableNetwork):
    """Embed once, then see the row as each member does, then one output a member."""

    def __init__(self, options: TabM, head: HeadSpec) -> None:
        super().__init__(head)
        self.features = FeatureLayers(options, inputs_of(head))
        widths = (sum(self.features.sizes), *options.widths())
        self.layers = nn.ModuleList(
            MemberLinear(before, after, members=options.members, is_adapted=options.adapters == "every_layer")
            for before, after in pairwise(widths)
        )
        first = self.layers[0]
        assert isinstance(first, MemberLinear), "there is at least one layer"
        first.r = nn.Parameter(_views(options, self.features.sizes))
        self.norms = nn.ModuleList(_MemberNorm(width) for width in widths[1:] if options.batch_norm)
        self.dropout = LeanDropout(options.dropout)
        self.output = MemberOutput(widths[-1], head.size, members=options.members)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Give the logits [n, members, size]."""
        hidden: Tensor = self.features(batch)
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden)
            if len(self.norms):
                hidden = self.norms[number](hidden)
            hidden = self.dropout(hidden.relu_())
        logits: Tensor = self.output(hidden)
        return logits.transpose(0, 1)


class MemberLinear(nn.Module):
    """A linear layer whose matrix all members share; each may scale what goes in (r) and out (s), and add its own."""

    def __init__(self, before: int, after: int, *, members: int, is_adapted: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(_uniform(before, after, fan=before))
        self.bias = nn.Parameter(_uniform(members if is_adapted else 1, after, fan=before))
        self.r: nn.Parameter | None = nn.Parameter(torch.ones(members, before)) if is_adapted else None
        self.s: nn.Parameter | None = nn.Parameter(torch.ones(members, after)) if is_adapted else None

    def forward(self, hidden: Tensor) -> Tensor:
        """Map [members, n, before], or [n, before] that all members share, to [members, n, after]."""
        if self.r is None:
            return hidden @ self.weight + self.bias[:, None]
        # Scaling the matrix for each member costs less than scaling every row that goes in and comes out.
        weight = self.weight * self.r[:, :, None]
        if self.s is not None:
            weight = weight * self.s[:, None, :]
        if hidden.ndim == 2:
            hidden = hidden.expand(len(self.r), -1, -1)
        bias = self.bias.expand(len(self.r), -1)
        return torch.baddbmm(bias[:, None], hidden, weight)


class MemberOutput(nn.Module):
    """An output of its own for each member."""

    def __init__(self, before: int, size: int, *, members: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(_uniform(members, before, size, fan=before))
        self.bias = nn.Parameter(_uniform(members, size, fan=before))

    def forward(self, hidden: Tensor) -> Tensor:
        """Map [members, n, before] to [members, n, size]."""
        return torch.baddbmm(self.bias[:, None], hidden, self.weight)


class _MemberNorm(nn.Module):
    """Batch norm over the rows of all members alike."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = RowNorm(width)

    def forward(self, hidden: Tensor) -> Tensor:
        normed: Tensor = self.norm(hidden.flatten(0, 1))
        return normed.view_as(hidden)


def _views(options: TabM, sizes: Sequence[int]) -> Tensor:
    """Draw how each member sees the inputs: random signs, or a random factor for the whole vector of a column."""
    if options.numbers.kind == "none":
        return torch.randint(0, 2, (options.members, sum(sizes))) * 2.0 - 1.0
    return torch.randn(options.members, len(sizes)).repeat_interleave(torch.tensor(sizes), dim=1)


def _uniform(*shape: int, fan: int) -> Tensor:
    return torch.empty(shape).uniform_(-(fan**-0.5), fan**-0.5)
