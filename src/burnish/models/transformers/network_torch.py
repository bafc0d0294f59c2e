"""A transformer with its head as a network: tensors in, logits out."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from burnish.models.transformers import layers_torch
from burnish.models.transformers.tokenizer_torch import knows_segments
from burnish.spec.values import HeadSpec

_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids", "inputs_embeds")


class TransformerNetwork(nn.Module):
    """Map a batch of tensors to logits [n, size], using the entries that the model takes."""

    def __init__(self, model: PreTrainedModel, head: HeadSpec, *, layer_decay: float | None = None) -> None:
        super().__init__()
        self.model = model
        self.head = head
        self.layer_decay = layer_decay
        self.inputs = accepted_inputs(model)
        self.fresh: frozenset[str] = frozenset()
        """The parameters of the model that no file held."""

    @property
    def parts(self) -> Mapping[str, PreTrainedModel]:
        """Name further models that are saved beside the model, each in a folder of its name."""
        return {}

    def settle(self) -> None:
        """Be told that all weights were read."""

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor | Mapping[str, Tensor]:
        """Return the logits; entries such as labels are left alone."""
        logits: Tensor = self.run(batch).logits
        return logits

    def run(self, batch: Mapping[str, Tensor]) -> Any:
        """Call the model with the entries of a batch that it takes."""
        taken = {name: batch[name] for name in self.inputs if name in batch}
        return self.model(**taken, return_dict=True)

    @property
    def usual_rate(self) -> float:
        """The learning rate that suits the size of what learns."""
        return layers_torch.usual_rate(self)

    def parameter_groups(self, *, learning_rate: float, weight_decay: float) -> list[dict[str, Any]]:
        """Group what learns: `params`, `lr`, `weight_decay`, `name`."""
        return layers_torch.parameter_groups(
            self, learning_rate=learning_rate, weight_decay=weight_decay, layer_decay=self.layer_decay
        )


def accepted_inputs(model: PreTrainedModel) -> tuple[str, ...]:
    """Name the entries of a batch that a model takes."""
    known = inspect.signature(model.forward).parameters
    segments = knows_segments(model.config)
    return tuple(name for name in _INPUTS if name in known and (segments or name != "token_type_ids"))
