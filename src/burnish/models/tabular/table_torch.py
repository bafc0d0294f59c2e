"""Saves, loads and groups the weights of networks over a table."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from burnish.durable import read_json
from burnish.errors import CheckpointError
from burnish.spec.values import HeadSpec

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
        """Give the logits [n, size], or [n, members, size]."""
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
