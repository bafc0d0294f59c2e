"""What a network computes in, and its answers without learning."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from burnish.spec.values import Array, Batch

_NOT_INPUTS = ("label", "row", "weight")


@dataclass(frozen=True)
class Precision:
    """Where and in what a network computes; weights and sums stay float32."""

    device: torch.device
    is_bf16: bool

    def scope(self) -> AbstractContextManager[Any]:
        """Give the context that forward passes run in."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.is_bf16)

    def tensors(self, batch: "Batch") -> dict[str, Tensor]:
        """Put a batch onto the device."""
        return {name: torch.tensor(array, device=self.device) for name, array in batch.items()}


@dataclass(frozen=True)
class Inference:
    """A network that answers."""

    network: nn.Module
    precision: Precision

    def infer(self, batch: "Batch") -> "Array":
        """Give the logits of a batch, in float32."""
        self.network.eval()
        with torch.inference_mode(), self.precision.scope():
            logits: Tensor = self.network(inputs_of(self.precision.tensors(batch)))
        return logits.float().cpu().numpy()


def inputs_of(batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Leave out what a network must not see."""
    return {name: tensor for name, tensor in batch.items() if name not in _NOT_INPUTS}
