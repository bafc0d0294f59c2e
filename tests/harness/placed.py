"""A device this machine lacks: tensors that say they are elsewhere, refuse to meet others, and keep their values.

They report the device `meta`, so that code takes the ways it takes for an accelerator, while a hidden tensor on the CPU
computes; what needs values, such as `item()`, therefore works. As on a GPU, an operation on tensors of two devices is
refused unless it copies, or the other one is a number.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

ELSEWHERE = torch.device("meta")
_COPIES = {torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default}


class Placed(Tensor):
    """A tensor elsewhere."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> "Placed":
        made = Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=ELSEWHERE
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _compute(func, args, kwargs or {})


class Elsewhere(TorchDispatchMode):
    """Within it, tensors that are made for the device are placed there."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: set[str] = set()
        """The operations that need values of tensors, for which a GPU's queue would have to run empty."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if _needs_values(func, args):
            self.waits.add(func._schema.name.removeprefix("aten::"))
        return _compute(func, args, kwargs or {})


def place(network: nn.Module) -> nn.Module:
    """Move a network, in its place."""
    moved: dict[Tensor, Any] = {}  # tied weights stay tied
    for module in network.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                moved.setdefault(parameter, nn.Parameter(Placed(parameter.detach()), parameter.requires_grad))
                module._parameters[name] = moved[parameter]
        for name, buffer in list(module._buffers.items()):
            if buffer is not None:
                module._buffers[name] = Placed(buffer)
    return network


def place_batch(batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Move the tensors of a batch."""
    return {name: Placed(tensor) for name, tensor in batch.items()}


def _compute(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, Tensor)]
    is_here = any(not isinstance(each, Placed) and each.dim() for each in tensors)
    is_there = any(isinstance(each, Placed) for each in tensors)
    if is_here and is_there and func not in _COPIES:
        raise AssertionError(f"{func} met a tensor of the CPU on the way")
    device = kwargs.get("device")
    goes_there = is_there if device is None else torch.device(device) == ELSEWHERE
    plain_args, plain_kwargs = tree_map(_unwrap, (args, kwargs))
    if device is not None:
        plain_kwargs["device"] = torch.device("cpu")
    result = func(*plain_args, **plain_kwargs)
    if tensors and _writes(func):
        return args[0]  # what was written into is the tensor that the caller holds
    return tree_map(lambda each: Placed(each) if goes_there and isinstance(each, Tensor) else each, result)


def _needs_values(func: Any, args: Any) -> bool:
    if not any(isinstance(each, Placed) for each in tree_flatten(args)[0]):
        return False
    if func is torch.ops.aten.index.Tensor:  # whole numbers say how many there are, a mask does not
        return any(each is not None and each.dtype == torch.bool for each in args[1])
    return bool({torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape} & {*func.tags})


def _writes(func: Any) -> bool:
    return func._schema.name.endswith("_") and not func._schema.name.endswith("__")


def _unwrap(value: Any) -> Any:
    return value.inner if isinstance(value, Placed) else value
