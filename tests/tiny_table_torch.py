"""A small network over tables, for tests of everything around it."""

from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from burnish.models.tabular.models import Linear
from burnish.spec.component import Component
from burnish.spec.values import HeadSpec


class NoFiles:
    """Assets of a model that reads numbers only."""

    max_positions = None
    digest = "none"

    def save(self, directory: Path) -> None:
        """Write nothing."""


class TinyNetwork(nn.Module):
    """A sum of embeddings, wide weights and a hidden layer over the numbers."""

    def __init__(self, head: HeadSpec, members: int) -> None:
        super().__init__()
        inputs = head.inputs
        assert inputs is not None
        self.members, self.size = members, head.size
        self.tables = nn.ModuleList(nn.Embedding(size, 8) for size in inputs.cardinalities)
        self.wide = nn.Embedding(inputs.wide_size, head.size, padding_idx=0) if inputs.wide_size else None
        width = len(inputs.numbers) + 8 * len(inputs.cardinalities)
        self.deep = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, members * head.size))

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        parts = [batch["numbers"]] if "numbers" in batch else []
        if "categories" in batch:
            parts += [table(batch["categories"][:, at]) for at, table in enumerate(self.tables)]
        logits = self.deep(torch.cat(parts, dim=1)).reshape(-1, self.members, self.size)
        if self.wide is not None:
            logits = logits + self.wide(batch["wide"]).sum(dim=1)[:, None]
        return logits if self.members > 1 else logits[:, 0]

    def parameter_groups(self, *, learning_rate: float, weight_decay: float) -> list[dict[str, Any]]:
        return [{"params": list(self.parameters()), "lr": learning_rate, "weight_decay": weight_decay}]


class TinyTable(Component):
    """Build the small network."""

    heads: ClassVar[tuple[str, ...]] = ("tabular",)

    members: int = 1

    def max_positions(self) -> int | None:
        return None

    def assets(self) -> NoFiles:
        return NoFiles()

    def network(self, head: HeadSpec, assets: object) -> TinyNetwork:
        return TinyNetwork(head, self.members)

    def save(self, network: nn.Module, directory: Path) -> None:
        save_file(network.state_dict(), directory / "model.safetensors")

    def load(self, directory: Path, head: HeadSpec) -> TinyNetwork:
        network = TinyNetwork(head, self.members)
        network.load_state_dict(load_file(directory / "model.safetensors"))
        return network


class Hungry(Linear):
    """A model that fits into no memory."""

    def network(self, *_: object, **__: object) -> Any:
        return torch.empty(1 << 60)


class Undefined(Linear):
    """A model whose weights are no numbers."""

    def network(self, *args: Any) -> Any:
        network = super().network(*args)
        for weights in network.parameters():
            nn.init.constant_(weights, float("nan"))
        return network


class Broken(Linear):
    """A model whose code fails as soon as it is built."""

    def network(self, *_: object, **__: object) -> Any:
        raise RuntimeError("this code of the user's is broken")
