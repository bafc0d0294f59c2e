"""Writes a learner to a folder and puts it back, bit for bit: safetensors for tensors, JSON for numbers."""

import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from burnish.engine.learner_torch import Learner
from burnish.errors import CheckpointError

_WEIGHTS = "weights.safetensors"
_OPTIMIZER = "optimizer.safetensors"
_AVERAGES = "averages.safetensors"
_NUMBERS = "optimizer.json"


def write_learner(learner: Learner, folder: Path) -> None:
    """Write weights, optimizer state and averaged weights."""
    save_file(_plain(learner.network.state_dict()), folder / _WEIGHTS)
    tensors, numbers = _flatten(learner.optimizer.state_dict())
    save_file(tensors, folder / _OPTIMIZER)
    (folder / _NUMBERS).write_text(json.dumps(numbers, sort_keys=True))
    averages = {f"{number:05d}": tensor for number, tensor in enumerate(learner.average_tensors())}
    if averages:
        save_file(_plain(averages), folder / _AVERAGES)


def read_learner(learner: Learner, folder: Path) -> None:
    """Put a learner back to what `write_learner` wrote."""
    learner.network.load_state_dict(_load(folder / _WEIGHTS))
    numbers = json.loads((folder / _NUMBERS).read_text())
    learner.optimizer.load_state_dict(_unflatten(_load(folder / _OPTIMIZER), numbers))
    averages = learner.average_tensors()
    if averages:
        saved = _load(folder / _AVERAGES)
        for number, tensor in enumerate(averages):
            tensor.copy_(saved[f"{number:05d}"])


def read_weights(learner: Learner, folder: Path) -> None:
    """Put only the weights back, the averaged ones where the run keeps them."""
    learner.network.load_state_dict(_load(folder / _WEIGHTS))
    if learner.average_tensors():
        saved = _load(folder / _AVERAGES)
        for number, tensor in enumerate(learner.average_tensors()):
            tensor.copy_(saved[f"{number:05d}"])


def _load(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error


def _plain(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    # Tied weights share memory, which safetensors refuses: each name gets its own copy.
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}


def _flatten(state: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, Any] = {"param_groups": state["param_groups"], "state": {}}
    for index, values in state["state"].items():
        for name, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"{index}/{name}"] = value
            else:
                numbers["state"].setdefault(str(index), {})[name] = value
    return _plain(tensors), numbers


def _unflatten(tensors: dict[str, Tensor], numbers: dict[str, Any]) -> dict[str, Any]:
    state: dict[int, dict[str, Any]] = {int(index): dict(values) for index, values in numbers["state"].items()}
    for key, tensor in tensors.items():
        index, name = key.split("/", 1)
        state.setdefault(int(index), {})[name] = tensor
    return {"state": state, "param_groups": numbers["param_groups"]}
