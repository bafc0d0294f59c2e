"""Language models that need more than a head: XLNet's order of tokens, and ELECTRA's generator."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
import torch.nn.functional as F  # noqa: N812  # the name everyone uses
from torch import Tensor
from transformers import ElectraForMaskedLM, ElectraForPreTraining, PretrainedConfig, PreTrainedModel, XLNetLMHeadModel

from burnish.models.transformers.dropout_torch import use_lean_dropout
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
    """Return 1 where place i must not look at place j: j is guessed, and not before i; [n, length, length]."""
    is_guessed = order >= 0
    return ((order[:, :, None] <= order[:, None, :]) & is_guessed[:, None, :]).float()


def target_mapping(scored: Tensor) -> tuple[Tensor, Tensor]:
    """Return the place that each slot answers for [n, slots, length], and which slots there are [n, slots]."""
    counts = scored.sum(dim=1)
    number = torch.cumsum(scored, dim=1) - 1
    most = max(1, int(counts.max()))
    mapping = torch.zeros(scored.shape[0], most, scored.shape[1], device=scored.device)
    rows, places = scored.nonzero(as_tuple=True)
    mapping[rows, number[rows, places], places] = 1.0
    return mapping, torch.arange(most, device=scored.device)[None] < counts[:, None]


class ReplacedNetwork(TransformerNetwork):
    """Give the generator's logits at hidden places, and the loss of telling tokens apart at every place."""

    def __init__(self, model: PreTrainedModel, head: HeadSpec, *, layer_decay: float | None = None) -> None:
        if not isinstance(model, ElectraForPreTraining):
            raise refusal(
                f"model: a {model.config.model_type} model cannot detect replaced tokens, which task replaced_tokens "
                "needs; use electra, or the task masked_lm"
            )
        super().__init__(model, head, layer_decay=layer_decay)
        smaller = _smaller(model.config, float(head.options["generator_size"]))
        self.generator = ElectraForMaskedLM(smaller)  # type: ignore[no-untyped-call]  # as it is
        self._share_embeddings()
        use_lean_dropout(self.generator)

    @property
    def parts(self) -> Mapping[str, PreTrainedModel]:
        return {"generator": self.generator}

    def settle(self) -> None:
        self._share_embeddings()

    def forward(self, batch: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        scored = batch["scored"]
        taken = {name: batch[name] for name in self.inputs if name in batch}
        hidden = self.generator.electra(**taken, return_dict=True).last_hidden_state[scored]
        logits = self.generator.generator_lm_head(self.generator.generator_predictions(hidden))
        if torch.is_inference_mode_enabled() or "original" not in batch:
            return {"logits": logits}
        original = batch["original"]
        guessed = original.clone()
        guessed[scored] = _drawn(logits.detach().float())
        told: Tensor = self.model(**{**taken, "input_ids": guessed}, return_dict=True).logits
        is_replaced = (guessed != original).float()
        return {
            "logits": logits,
            "replaced": F.binary_cross_entropy_with_logits(told.float(), is_replaced, reduction="none"),
        }

    def _share_embeddings(self) -> None:
        assert isinstance(self.model, ElectraForPreTraining)
        self.generator.electra.embeddings = self.model.electra.embeddings
        self.generator.generator_lm_head.weight = self.model.electra.embeddings.word_embeddings.weight


def _drawn(logits: Tensor) -> Tensor:
    """Draw a token by its probability, from torch's own generator."""
    if not len(logits):
        return torch.empty(0, dtype=torch.long, device=logits.device)
    return torch.multinomial(logits.softmax(dim=-1), 1)[:, 0]


def _smaller(config: PretrainedConfig, share: float) -> PretrainedConfig:
    """Return the config of a generator: as deep as the model, and narrower, with heads of the same width."""
    smaller = copy.deepcopy(config)
    width = config.hidden_size // config.num_attention_heads
    smaller.num_attention_heads = max(1, round(config.num_attention_heads * share))
    smaller.hidden_size = smaller.num_attention_heads * width
    smaller.intermediate_size = max(1, round(config.intermediate_size * share))
    return smaller
