"""Writes a learner to a folder and puts it back, bit for bit: safetensors for tensors, JSON for numbers."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import TypeAdapter
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn, optim

from burnish.durable import read_json
from burnish.engine.memory_torch import is_out_of_memory
from burnish.engine.state import refusing_misfit
from burnish.errors import CheckpointError

_WEIGHTS = "weights.safetensors"
_OPTIMIZER = "optimizer.safetensors"
_AVERAGES = "averages.safetensors"
_NUMBERS = "optimizer.json"


class Checkpointable(Protocol):
    """What of a learner is written down."""

    @property
    def network(self) -> nn.Module:
        """What learns."""
        ...

    @property
    def optimizer(self) -> "Resumable":
        """What changes it."""
        ...

    def average_tensors(self) -> list[Tensor]:
        """Give averaged weights, if there are any."""
        ...

    def numbers(self) -> dict[str, Any]:
        """Return what else changes while learning, as JSON values."""
        ...

    def take_numbers(self, numbers: Mapping[str, Any]) -> None:
        """Put such values back; there are none in checkpoints of learners that had none."""
        ...


class Resumable(Protocol):
    """An optimizer, or what stands for one."""

    def state_dict(self) -> dict[str, Any]:
        """Return all numbers."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take them over."""
        ...


@dataclass(frozen=True)
class Snapshot:
    """All of a learner at one moment, in memory of its own: training may go on while it is written."""

    tensors: Mapping[str, Mapping[str, Tensor]]
    """By file name."""
    numbers: str
    """What of the optimizer and the learner is no tensor, as JSON."""
    is_copy: bool = True
    """False when memory had no room for a copy: training must wait until it is written."""

    @property
    def num_bytes(self) -> int:
        """How much it takes on disk, but for some kilobytes of names."""
        return sum(tensor.nbytes for tensors in self.tensors.values() for tensor in tensors.values())

    def write(self, folder: Path) -> None:
        """Write weights, optimizer state and averaged weights."""
        for name, tensors in self.tensors.items():
            _save(tensors if self.is_copy else _on_their_own(tensors), folder / name)
        (folder / _NUMBERS).write_text(self.numbers)


def snapshot(learner: Checkpointable) -> Snapshot:
    """Copy weights, optimizer state and averaged weights; where memory has no room for that, only point to them."""
    optimizer, numbers = _flatten(learner.optimizer.state_dict(), learner.numbers())
    averages = {f"{number:05d}": tensor for number, tensor in enumerate(learner.average_tensors())}
    live = {_WEIGHTS: learner.network.state_dict(), _OPTIMIZER: optimizer}
    if averages:
        live[_AVERAGES] = averages
    try:
        return Snapshot({name: _copied(tensors) for name, tensors in live.items()}, numbers)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    return Snapshot(live, numbers, is_copy=False)


def read_learner(learner: Checkpointable, folder: Path) -> None:
    """Put a learner back to a snapshot that was written."""
    read_weights(learner, folder)
    with refusing_misfit(folder):
        numbers = TypeAdapter(OptimizerNumbers).validate_python(read_json(folder / _NUMBERS))
        by_weight: dict[int, dict[str, Any]] = {int(index): dict(values) for index, values in numbers.state.items()}
        for key, tensor in _load(folder / _OPTIMIZER).items():
            index, name = key.split("/", 1)
            by_weight.setdefault(int(index), {})[name] = tensor
        state = {"state": by_weight, "param_groups": numbers.param_groups}
    try:
        refuse_other_state(state, learner.optimizer)
    except ValueError as error:
        raise CheckpointError(
            f"{folder / _OPTIMIZER} holds the state of weights that were grouped otherwise ({error}); finish the "
            "run with the version of Burnish that began it, or start a new one from its weights"
        ) from error
    learner.optimizer.load_state_dict(state)
    with refusing_misfit(folder):
        learner.take_numbers(numbers.learner)


def read_weights(learner: Checkpointable, folder: Path) -> None:
    """Put only the weights back, the averaged ones where the run keeps them."""
    with refusing_misfit(folder):
        weights = _load(folder / _WEIGHTS)
        averages = {f"{number:05d}": tensor for number, tensor in enumerate(learner.average_tensors())}
        saved = _load(folder / _AVERAGES) if averages else {}
        for name, tensor in averages.items():
            if name not in saved or saved[name].shape != tensor.shape:
                raise ValueError(f"{_AVERAGES} does not hold the average {name} of shape {tuple(tensor.shape)}")
        try:
            learner.network.load_state_dict(weights)
        except RuntimeError as error:  # how torch says that names or shapes are others
            if is_out_of_memory(error):
                raise
            raise ValueError(str(error)) from error
    for name, tensor in averages.items():
        tensor.copy_(saved[name])


def _load(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, ValueError, SafetensorError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error


def _save(tensors: Mapping[str, Tensor], path: Path) -> None:
    try:
        save_file(dict(tensors), path)
    except SafetensorError as error:
        # It tells the system's number only in words, and a full disk must be told from other faults.
        number = re.search(r"\(os error (\d+)\)", str(error))
        raise OSError(int(number[1]) if number else 0, str(error), str(path)) from error


def _copied(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    # Tied weights share memory, which safetensors refuses: each name gets its own copy.
    return {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}


def _on_their_own(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    seen: set[int] = set()
    kept: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        kept[name] = (tensor.clone() if tensor.data_ptr() in seen else tensor).detach().cpu().contiguous()
        seen.add(tensor.data_ptr())
    return kept


def _flatten(state: dict[str, Any], beside: Mapping[str, Any]) -> tuple[dict[str, Tensor], str]:
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, Any] = {"param_groups": state["param_groups"], "state": {}}
    for index, values in state["state"].items():
        for name, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"{index}/{name}"] = value
            else:
                numbers["state"].setdefault(str(index), {})[name] = value
    # Without anything beside, the file is the same as ever.
    return tensors, json.dumps({**numbers, **({"learner": beside} if beside else {})}, sort_keys=True)


_ADAM = {"step", "exp_avg", "exp_avg_sq"}
_KEPT = {
    "Adam": _ADAM,
    "AdamW": _ADAM,
    "LambOptimizer": _ADAM,
    "LionOptimizer": {"exp_avg"},
    "FtrlOptimizer": {"z", "n", "rate"},
    "Adagrad": {"step", "sum"},
    "SGD": {"momentum_buffer"},
    "RMSprop": {"step", "square_avg"},
}
_KEPT_BESIDES = {"amsgrad": "max_exp_avg_sq", "centered": "grad_avg"}
"""What some of them keep too, where an option asks for it."""
"""What an optimizer of torch or of ours keeps of each weight; any other, such as a user's own, may keep anything."""
_KNOWN = ("torch.optim.", "burnish.optim.")
_LATER = {"foreach", "maximize", "capturable", "differentiable", "fused", "decoupled_weight_decay"}
"""Options that earlier versions of torch did not have; it adds them itself."""
_FACTORS = {"row_var", "col_var"}


@dataclass(frozen=True)
class OptimizerNumbers:
    """What of an optimizer and a learner is no tensor."""

    param_groups: list[dict[str, Any]]
    state: dict[str, dict[str, Any]]
    learner: dict[str, float] = field(default_factory=dict)


def refuse_other_state(state: Mapping[str, Any], optimizer: object) -> None:
    """Refuse, with a ValueError, groups or tensors that this optimizer cannot have saved."""
    if not isinstance(optimizer, optim.Optimizer):
        return
    groups = optimizer.state_dict()["param_groups"]
    if [each.get("params") for each in state["param_groups"]] != [each["params"] for each in groups]:
        raise ValueError("its groups hold other weights")
    for saved, live in zip(state["param_groups"], groups, strict=True):
        odd = [name for name in live if name in saved and not _is_like(saved[name], live[name])]
        if odd:
            raise ValueError(f"its option {odd[0]} is {str(saved[odd[0]])[:60]!r}")
        lost = live.keys() - saved.keys() - _LATER
        if lost:
            raise ValueError(f"it has no option {', '.join(sorted(lost))}")
    parts = getattr(optimizer, "parts", [optimizer])  # several that step as one
    weights = [(_kept(part, group), each) for part in parts for group in part.param_groups for each in group["params"]]
    for index, values in state["state"].items():
        if not 0 <= index < len(weights):
            raise ValueError(f"it holds the state of a weight {index}, and there are {len(weights)}")
        kept, weight = weights[index]
        if kept is not None:
            _refuse_other_values(values, index, kept(weight), weight)


def _is_like(saved: Any, live: Any) -> bool:
    if live is None or isinstance(live, bool):
        return saved is None or isinstance(saved, bool)
    if isinstance(live, list | tuple):
        return isinstance(saved, list) and len(saved) == len(live) and all(map(_is_part_like, saved, live))
    if isinstance(live, int | float | Tensor):
        is_number = isinstance(saved, int | float) and not isinstance(saved, bool)
        return is_number and abs(saved) <= sys.float_info.max and (saved >= 0 or bool(live < 0))
    return isinstance(saved, type(live))


def _is_part_like(saved: Any, live: object) -> bool:
    """Tell of one of several numbers: with a decay of 1 or more, like a beta of Adam, a step would have no root."""
    return _is_like(saved, live) and not (isinstance(live, float) and live < 1 <= saved)


def _kept(part: optim.Optimizer, group: Mapping[str, Any]) -> Callable[[Tensor], set[str]] | None:
    """Name what an optimizer that is known keeps of a weight in a group of these options."""
    kind = type(part)
    if kind is optim.Adafactor:
        return lambda weight: {"step"} | (_FACTORS if weight.ndim > 1 else {"variance"})
    kept = _KEPT.get(kind.__name__) if kind.__module__.startswith(_KNOWN) else None
    if kept is None:
        return None
    besides = {name for option, name in _KEPT_BESIDES.items() if group.get(option)}
    if kind is optim.RMSprop and group["momentum"] > 0:
        besides.add("momentum_buffer")
    return lambda _: kept | besides


def _refuse_other_values(values: Mapping[str, Any], index: int, kept: set[str], weight: Tensor) -> None:
    if set(values) != kept:
        found, wanted = (", ".join(sorted(names)) or "nothing" for names in (values, kept))
        raise ValueError(f"it holds {found} of weight {index}, not {wanted}")
    odd = [name for name, value in values.items() if not _fits(name, value, weight.shape)]
    if odd:
        raise ValueError(f"{index}/{odd[0]} is not the state of a weight of shape {tuple(weight.shape)}")


def _fits(name: str, value: object, shape: Sequence[int]) -> bool:
    if not isinstance(value, Tensor):
        return (name in ("step", "rate") and _is_like(value, 0)) or (name == "momentum_buffer" and value is None)
    if name == "step":
        return value.numel() == 1
    if name in _FACTORS:
        at = -1 if name == "row_var" else -2
        return list(value.shape) == [1 if number == len(shape) + at else size for number, size in enumerate(shape)]
    return list(value.shape) == list(shape)
