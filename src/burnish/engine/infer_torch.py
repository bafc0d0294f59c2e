"""What a network computes in, and its answers without learning."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from burnish.spec.values import EXAMPLE, Array, Batch, HeadSpec, Term

PrecisionName = Literal["fp32", "bf16", "fp16"]

_NOT_INPUTS = ("label", "row", "weight", EXAMPLE)
_BEST = 5


@dataclass(frozen=True)
class Autocast:
    """Where and in what a network computes; weights and sums stay float32."""

    device: torch.device
    name: PrecisionName = "fp32"

    def scope(self) -> AbstractContextManager[Any]:
        """Return the context that forward passes run in."""
        dtype = torch.float16 if self.name == "fp16" else torch.bfloat16
        return torch.autocast(self.device.type, dtype=dtype, enabled=self.name != "fp32")

    def tensors(self, batch: "Batch") -> dict[str, Tensor]:
        """Put a batch onto the device."""
        if self.device.type != "cuda":
            return {name: torch.tensor(array, device=self.device) for name, array in batch.items()}
        # Out of pinned memory a GPU copies while it computes, and nobody waits for it.
        pinned = ((name, torch.tensor(array).pin_memory()) for name, array in batch.items())
        return {name: tensor.to(self.device, non_blocking=True) for name, tensor in pinned}


@dataclass(frozen=True)
class Inference:
    """A network that answers."""

    network: nn.Module
    precision: Autocast
    head: HeadSpec | None = None
    """What the network ends in; without it, whole answers are kept."""

    def infer(self, batch: "Batch") -> "Array":
        """Return what is kept of the answers to a batch, in float32."""
        if self.network.training:  # a walk through all of its modules costs as much as a small layer
            self.network.eval()
        given, num_rows = self._filled_up(batch)
        tensors = self.precision.tensors(given)
        with torch.inference_mode(), self.precision.scope():
            outputs = self.network(inputs_of(tensors))
            logits: Tensor = (outputs if isinstance(outputs, Tensor) else outputs["logits"]).float()
        head = None if self.head is None else self.head.of_group(int(batch["group"][0]) if "group" in batch else 0)
        if head is not None and head.answer == "likelihood":
            kept = _likelihood(logits, tensors, best=int(head.options.get("best", _BEST)))
            logits = torch.cat([kept, *_told_beside(outputs, tensors, head.terms)], dim=-1)
        return logits.cpu().numpy()[:num_rows]

    def _filled_up(self, batch: "Batch") -> "tuple[Batch, int | None]":
        """Repeat the last row until the number of rows is one that the network answers alike, whatever it is."""
        together: int = getattr(self.network, "rows_together", 1)
        if together == 1:
            return batch, None
        num_rows = len(next(iter(batch.values())))
        places = np.minimum(np.arange(-(-num_rows // together) * together), num_rows - 1)
        return {name: array[places] for name, array in batch.items()}, num_rows


def inputs_of(batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Leave out what a network must not see."""
    return {name: tensor for name, tensor in batch.items() if name not in _NOT_INPUTS and not name.startswith("at_")}


def _likelihood(logits: Tensor, batch: Mapping[str, Tensor], *, best: int) -> Tensor:
    """Return how unlikely each truth was and whether it was the first guess; without truth, the best guesses."""
    if "label" not in batch:
        found = logits.log_softmax(dim=-1).topk(best, dim=-1)
        return torch.cat([found.indices.float(), found.values], dim=-1)
    labels = batch["label"][batch["scored"]] if "scored" in batch else batch["label"]
    unlikely = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    return torch.stack([unlikely, (logits.argmax(dim=-1) == labels).float()], dim=-1)


def _told_beside(
    outputs: Tensor | Mapping[str, Tensor], batch: Mapping[str, Tensor], terms: Sequence[Term]
) -> Iterator[Tensor]:
    """Tell at every scored place of an example whether a class of the whole of it was told rightly, term by term."""
    for term in terms:
        if term.objective.name == "cross_entropy" and term.label in batch and not isinstance(outputs, Tensor):
            is_right = outputs[term.output].argmax(dim=-1) == batch[term.label]
            yield is_right.float().repeat_interleave(batch["scored"].sum(dim=1))[:, None]
