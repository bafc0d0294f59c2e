"""Networks over a table: linear, layers, both, and an ensemble; how they are saved, loaded and grouped."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from burnish.durable import read_json
from burnish.errors import CheckpointError
from burnish.models.tabular.models import Layered, TabM, inputs_of
from burnish.models.tabular.table_features_torch import FeatureLayers
from burnish.models.transformers.dropout_torch import LeanDropout
from burnish.spec.values import HeadSpec, TableInputs

_WEIGHTS, _SHAPE = "model.safetensors", "shape.json"


class TableNetwork(nn.Module):
    """A network that knows what it is fed; parameters under `wide` are its linear part."""

    rows_together: int = 64
    """Answers are computed in multiples of so many rows: kernels round a few rows otherwise than many, and a row that
    is served alone would differ in the last bits from the same row in a test set."""
    usual_rate: float = 2e-3
    """What `optimizer.learning_rate: auto` takes."""

    def __init__(self, head: HeadSpec) -> None:
        super().__init__()
        self.head = head

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Return the logits [n, size], or [n, members, size]."""
        raise NotImplementedError

    def parameter_groups(self, *, learning_rate: float, weight_decay: float) -> list[dict[str, Any]]:
        """Group what learns by part and by whether it decays: `params`, `lr`, `weight_decay`, `name`."""
        groups: dict[str, dict[str, Any]] = {}
        for name, param in self.named_parameters():
            decays = name.endswith("weight") and param.ndim > 1 and not name.startswith("features.")
            label = f"{'wide' if name.startswith('wide.') else 'deep'}, {'decay' if decays else 'no decay'}"
            decay = weight_decay if decays else 0.0
            empty = {"params": [], "lr": learning_rate, "weight_decay": decay, "name": label}
            groups.setdefault(label, empty)["params"].append(param)
        return list(groups.values())


def save_network(network: TableNetwork, directory: Path) -> None:
    """Write weights and the shape of what the network is fed."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    save_file(tensors, directory / _WEIGHTS)
    write_shape(network.head, directory)


def load_network(network: TableNetwork, directory: Path) -> TableNetwork:
    """Put saved weights into a network; refuse those of one that is fed otherwise."""
    check_shape(network.head, directory)
    try:
        network.load_state_dict(load_file(directory / _WEIGHTS))
    except (OSError, ValueError, SafetensorError) as error:
        raise CheckpointError(f"{directory} does not hold a network over a table: {error}") from error
    except RuntimeError as error:
        raise CheckpointError(f"{directory} holds weights of another network: {error}") from error
    return network


def write_shape(head: HeadSpec, directory: Path) -> None:
    """Write down what a network is fed."""
    (directory / _SHAPE).write_text(json.dumps(_shape(head), indent=1), encoding="utf-8")


def check_shape(head: HeadSpec, directory: Path) -> None:
    """Refuse a folder whose network is fed otherwise than this head says."""
    try:
        shape = dict(read_json(directory / _SHAPE))
    except (OSError, TypeError, ValueError) as error:
        raise CheckpointError(f"{directory} does not hold a network over a table: {error}") from error
    expected = json.loads(json.dumps(_shape(head)))
    odd = [name for name, value in expected.items() if shape.get(name) != value]
    if odd:
        raise CheckpointError(
            f"{directory} holds a network that is fed otherwise: {', '.join(odd)} differ from those of its profile"
        )


def _shape(head: HeadSpec) -> dict[str, Any]:
    assert head.inputs is not None, "a network over a table is fed a table"
    return {"size": head.size, **asdict(head.inputs)}


class LinearNetwork(TableNetwork):
    """Add up the weights of all that a row holds."""

    usual_rate = 2e-2  # one layer bears more than several: at 2e-3, 30 epochs of a small table end short of a ridge

    def __init__(self, head: HeadSpec) -> None:
        super().__init__(head)
        self.wide = Wide(inputs_of(head), size=head.size)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
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
        """Return the sums [n, size]."""
        sums = self.bias
        if self.name in batch and batch[self.name].shape[1]:
            ids = batch[self.name]
            # Summed apart: for so few numbers an id, torch's EmbeddingBag takes twice the time.
            sums = sums + self.ids(ids if self.name == "wide" else ids + self.offsets).sum(dim=1)
        if self.numbers is not None:
            sums = sums + self.numbers(batch["numbers"])
        return sums


class DeepNetwork(TableNetwork):
    """Embed, then layers, then logits."""

    def __init__(self, options: Layered, head: HeadSpec) -> None:
        super().__init__(head)
        self.features = FeatureLayers(options, inputs_of(head))
        widths = (sum(self.features.sizes), *options.widths())
        self.layers = layers(widths, batch_norm=options.batch_norm, dropout=options.dropout)
        self.output = nn.Linear(widths[-1], head.size)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        logits: Tensor = self.output(self.layers(self.features(batch)))
        return logits


class WideDeepNetwork(DeepNetwork):
    """Add the logits of a linear part to those of the layers."""

    def __init__(self, options: Layered, head: HeadSpec) -> None:
        super().__init__(options, head)
        self.wide = Wide(inputs_of(head), size=head.size)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
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
