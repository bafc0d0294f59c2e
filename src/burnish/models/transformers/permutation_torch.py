"""Guesses tokens in a given order, as XLNet does: each from those that come before it in that order."""

from collections.abc import Mapping

import torch
from torch import Tensor
from transformers import PreTrainedModel, XLNetLMHeadModel

from burnish.models.transformers.locate_model import refusal
from burnish.models.transformers.network_torch import TransformerNetwork
from burnish.spec.values import HeadSpec


class PermutationNetwork(TransformerNetwork):
    """Answer at the scored places; `order` [n, length] says which come first, and is -1 at all others."""

    def __init__(self, model: PreTrainedModel, head: HeadSpec, *, layer_decay: float | None = None) -> None:
        if not isinstance(model, XLNetLMHeadModel):
            raise refusal(
                f"model: a {model.config.model_type} model cannot predict tokens in any order, which task "
                "permutation_lm "
                "needs; use xlnet, or the task masked_lm or causal_lm"
            )
        super().__init__(model, head, layer_decay=layer_decay)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Give the logits of every scored place, one after the other."""
        scored = batch["scored"]
        taken = {name: batch[name] for name in self.inputs if name in batch}
        mapping, slots = target_mapping(scored)
        assert isinstance(self.model, XLNetLMHeadModel)
        outputs = self.model.transformer(
            **taken, perm_mask=hidden_from(batch["order"]), target_mapping=mapping, use_mems=False, return_dict=True
        )
        logits: Tensor = self.model.lm_loss(outputs.last_hidden_state[slots])
        return logits


def hidden_from(order: Tensor) -> Tensor:
    """Give 1 where place i must not look at place j: j is guessed, and not before i; [n, length, length]."""
    is_guessed = order >= 0
    return ((order[:, :, None] <= order[:, None, :]) & is_guessed[:, None, :]).float()


def target_mapping(scored: Tensor) -> tuple[Tensor, Tensor]:
    """Give the place that each slot answers for [n, slots, length], and which slots there are [n, slots]."""
    counts = scored.sum(dim=1)
    number = torch.cumsum(scored, dim=1) - 1
    most = max(1, int(counts.max()))
    mapping = torch.zeros(scored.shape[0], most, scored.shape[1], device=scored.device)
    rows, places = scored.nonzero(as_tuple=True)
    mapping[rows, number[rows, places], places] = 1.0
    return mapping, torch.arange(most, device=scored.device)[None] < counts[:, None]
