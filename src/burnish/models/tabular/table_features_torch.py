"""Turns the numbers and categories of rows into one vector a row, without a loop over columns."""

import math
from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from burnish.models.tabular.models import Layered, NumberEmbedding
from burnish.spec.values import TableInputs


class FeatureLayers(nn.Module):
    """Embed numbers and categories side by side."""

    def __init__(self, options: Layered, inputs: TableInputs) -> None:
        super().__init__()
        self.parts = nn.ModuleDict()
        if inputs.numbers:
            self.parts["numbers"] = _numbers(options.numbers, inputs)
        sizes = options.category_sizes(inputs)
        if any(sizes):
            self.parts["categories"] = Categories(inputs.cardinalities, sizes)
        if not all(sizes):
            self.parts["one_hot"] = OneHot(inputs.cardinalities, [at for at, size in enumerate(sizes) if not size])
        self.sizes = tuple(size for part in self.parts.values() for size in cast(Sequence[int], part.sizes))
        """How many numbers each column becomes, in the order they stand in."""

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Return one vector a row [n, sum of sizes]."""
        vectors = [part(batch["numbers" if name == "numbers" else "categories"]) for name, part in self.parts.items()]
        return vectors[0] if len(vectors) == 1 else torch.cat(vectors, dim=1)


class JoinedIds(nn.Module):
    """Number the ids of some columns through: those of different columns never meet."""

    offsets: Tensor
    columns: Tensor | None

    def __init__(self, cardinalities: Sequence[int], columns: Sequence[int]) -> None:
        super().__init__()
        counts = torch.tensor([0, *(cardinalities[column] for column in columns)])
        self.total = int(counts.sum())
        self.register_buffer("offsets", counts.cumsum(0)[:-1], persistent=False)
        chosen = torch.tensor(columns) if len(columns) < len(cardinalities) else None
        self.register_buffer("columns", chosen, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the new ids of the columns [n, len(columns)]."""
        return (ids if self.columns is None else ids.index_select(1, self.columns)) + self.offsets


class Categories(nn.Module):
    """Embed categories by one table; columns without a size are left out."""

    kept: Tensor | None

    def __init__(self, cardinalities: Sequence[int], sizes: Sequence[int | None]) -> None:
        super().__init__()
        self.sizes = tuple(size for size in sizes if size)
        self.ids = JoinedIds(cardinalities, [at for at, size in enumerate(sizes) if size])
        widest = max(self.sizes)
        self.weight = nn.Parameter(torch.empty(self.ids.total, widest))
        nn.init.uniform_(self.weight, -(widest**-0.5), widest**-0.5)
        kept = torch.cat([number * widest + torch.arange(size) for number, size in enumerate(self.sizes)])
        self.register_buffer("kept", kept if len(kept) < widest * len(self.sizes) else None, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Return one vector a row."""
        vectors = nn.functional.embedding(self.ids(ids), self.weight).flatten(1)
        # An index in brackets would be given back by adding number after number.
        return vectors if self.kept is None else vectors.index_select(1, self.kept)


class OneHot(nn.Module):
    """Give each id of some columns an indicator: 1 where a row holds it, else 0."""

    def __init__(self, cardinalities: Sequence[int], columns: Sequence[int]) -> None:
        super().__init__()
        self.sizes = tuple(cardinalities[column] for column in columns)
        self.ids = JoinedIds(cardinalities, columns)

    def forward(self, ids: Tensor) -> Tensor:
        """Return one vector a row."""
        return torch.zeros(len(ids), self.ids.total, device=ids.device).scatter(1, self.ids(ids), 1.0)


class PlainNumbers(nn.Module):
    """Take numbers as they are."""

    def __init__(self, inputs: TableInputs) -> None:
        super().__init__()
        self.sizes = (1,) * len(inputs.numbers)

    def forward(self, numbers: Tensor) -> Tensor:
        """Return the numbers."""
        return numbers


class PiecewiseLinear(nn.Module):
    """Embed a number by how far it fills each bin, beside a straight line; bins begin without influence.

    All bins below a number are full and all above it empty, so what they add up to is looked up: the sum of the full
    ones, and the share of the one that the number lies in.
    """

    starts: Tensor
    slopes: Tensor
    firsts: Tensor

    def __init__(self, inputs: TableInputs, *, size: int) -> None:
        super().__init__()
        count, bins = len(inputs.numbers), max(len(edges) - 1 for edges in inputs.edges)
        self.sizes = (size,) * count
        starts, slopes = torch.full((count, bins), math.inf), torch.zeros(count, bins)  # no number reaches what is not
        for column, edges in enumerate(inputs.edges):
            rising = torch.tensor(edges, dtype=torch.float64)
            starts[column, : len(edges) - 1] = rising[:-1].float()
            slopes[column, : len(edges) - 1] = (1 / rising.diff()).float()
        self.register_buffer("starts", starts, persistent=False)
        self.register_buffer("slopes", slopes, persistent=False)
        self.register_buffer("firsts", bins * torch.arange(count), persistent=False)
        self.line = _Lines(count, size=size)
        self.weight = nn.Parameter(torch.zeros(count, bins, size))

    def forward(self, numbers: Tensor) -> Tensor:
        """Return one vector a row."""
        bins = self._bins(numbers.detach())
        share = ((numbers - self.starts.take(bins)) * self.slopes.take(bins)).clamp(0, 1)
        full = nn.functional.pad(self.weight[:, :-1].cumsum(dim=1), (0, 0, 1, 0))
        found = nn.functional.embedding(bins, torch.cat([full, self.weight], dim=2).flatten(0, 1))
        below, own = found.chunk(2, dim=2)
        straight: Tensor = self.line(numbers)
        return (torch.addcmul(below, share[:, :, None], own) + straight).flatten(1)

    def _bins(self, numbers: Tensor) -> Tensor:
        """Find the bin of each number among all bins of all columns; below the first one, that is the first."""
        if torch.compiler.is_exporting():  # ONNX knows no search in sorted numbers
            begun = (numbers[:, :, None] >= self.starts).sum(dim=2)
        else:
            begun = torch.searchsorted(self.starts, numbers.t().contiguous(), right=True).t()
        return (begun - 1).clamp(min=0) + self.firsts


class Periodic(nn.Module):
    """Embed a number by waves of learned lengths, mixed by one layer that all columns share."""

    def __init__(self, inputs: TableInputs, *, options: NumberEmbedding) -> None:
        super().__init__()
        count = len(inputs.numbers)
        self.sizes = (options.size,) * count
        spread = torch.empty(count, options.frequencies)
        self.frequencies = nn.Parameter(nn.init.trunc_normal_(spread, std=1, a=-3, b=3) * options.scale)
        self.mix = nn.Linear(2 * options.frequencies, options.size)

    def forward(self, numbers: Tensor) -> Tensor:
        """Return one vector a row."""
        turns = 2 * math.pi * numbers[:, :, None] * self.frequencies
        waves = torch.cat([turns.cos(), turns.sin()], dim=2)
        mixed: Tensor = self.mix(waves)
        return mixed.relu().flatten(1)


class _Lines(nn.Module):
    """A straight line for each number of each column's vector."""

    def __init__(self, count: int, *, size: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.empty(count, size).uniform_(-(size**-0.5), size**-0.5))
        self.bias = nn.Parameter(torch.empty(count, size).uniform_(-(size**-0.5), size**-0.5))

    def forward(self, numbers: Tensor) -> Tensor:
        return torch.addcmul(self.bias, numbers[:, :, None], self.slope)


def _numbers(options: NumberEmbedding, inputs: TableInputs) -> nn.Module:
    if options.kind == "none":
        return PlainNumbers(inputs)
    if options.kind == "periodic":
        return Periodic(inputs, options=options)
    return PiecewiseLinear(inputs, size=options.size)
