"""Checks that saved numbers are the state of this very optimizer: torch takes anything, and fails at a later step."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter
from torch import Tensor, optim

_ADAM = {"step", "exp_avg", "exp_avg_sq"}
_KEPT = {
    "Adam": _ADAM,
    "AdamW": _ADAM,
    "Lamb": _ADAM,
    "Lion": {"exp_avg"},
    "Ftrl": {"z", "n", "rate"},
    "Adagrad": {"step", "sum"},
    "SGD": {"momentum_buffer"},
}
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


def checked_numbers(values: object) -> OptimizerNumbers:
    """Refuse, with a ValueError, values of any other shape."""
    return TypeAdapter(OptimizerNumbers).validate_python(values)


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
    weights = [(type(part), weight) for part in parts for group in part.param_groups for weight in group["params"]]
    for index, values in state["state"].items():
        if not 0 <= index < len(weights):
            raise ValueError(f"it holds the state of a weight {index}, and there are {len(weights)}")
        _refuse_other_values(values, index, *weights[index])


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


def _refuse_other_values(values: Mapping[str, Any], index: int, kind: type[optim.Optimizer], weight: Tensor) -> None:
    kept = _KEPT.get(kind.__name__) if kind.__module__.startswith(_KNOWN) else None
    if kind is optim.Adafactor:
        kept = {"step"} | (_FACTORS if weight.ndim > 1 else {"variance"})
    if kept is None:
        return
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
