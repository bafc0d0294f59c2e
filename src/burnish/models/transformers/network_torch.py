"""A transformer with its head as a network: tensors in, logits out."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from burnish.models.transformers import layers_torch
from burnish.models.transformers.hf_logging_torch import refusing
from burnish.models.transformers.tokenizer_torch import knows_segments
from burnish.spec.noise import drawn_again
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
        # A decoder would keep the keys and values of every layer for a next token that nobody asks for.
        self._keeps_nothing = {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}
        self.fresh: frozenset[str] = frozenset()
        """The parameters of the model that no file held."""
        self.left_unread: tuple[str, ...] = ()
        """What the file held and the model has no place for."""

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
        return self.model(**taken, **self._keeps_nothing, return_dict=True)

    def recompute(self) -> None:
        """Compute the activations of each layer again in the backward pass; what was dropped is dropped again."""
        for model in (self.model, *self.parts.values()):
            with refusing(f"train.recompute: a {model.config.model_type} model cannot do that"):
                model.gradient_checkpointing_enable({"use_reentrant": False, "context_fn": drawn_again})

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
