"""Encoder-decoder models: the tokens of a target from those of a source, and targets of their own."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from burnish.models.transformers.hf_logging_torch import quiet
from burnish.models.transformers.locate_model import refusal
from burnish.models.transformers.network_torch import TransformerNetwork
from burnish.spec.values import HeadSpec

_OF_LANGUAGES = ("m2m_100", "mbart", "nllb-moe", "plbart")
_NOTHING = -1


class Seq2SeqNetwork(TransformerNetwork):
    """Predict each token of a target from those before it; without `scored`, write the answer too.

    An answer is a row of numbers: minus the log-likelihood of the target, its tokens, how many were the first guess;
    the log-likelihood of what is written a token, its tokens, and their ids, filled up with -1.
    """

    def __init__(self, model: PreTrainedModel, head: HeadSpec, *, layer_decay: float | None = None) -> None:
        super().__init__(model, head, layer_decay=layer_decay)
        if model.config.model_type in _OF_LANGUAGES:
            raise refusal(
                f"model: a {model.config.model_type} model needs language codes among its tokens, which task seq2seq "
                "does not set; use t5, bart, marian or another that needs none"
            )
        self.width = int(head.options["max_new_tokens"])
        # As the model generates, without chance, and with what the task asks for.
        self.generation = settings = copy.deepcopy(model.generation_config)
        assert settings is not None, "what can be trained by this head can generate"
        plain = {"do_sample": False, "max_length": None, "num_return_sequences": 1, "return_dict_in_generate": False}
        settings.update(**plain, **head.options)  # type: ignore[no-untyped-call]  # transformers leaves it untyped
        start = self.generation.decoder_start_token_id
        if not isinstance(start, int) or self.generation.eos_token_id is None:
            raise refusal(
                f"model: the config of this {model.config.model_type} model does not say with which token a target "
                "starts and ends; set decoder_start_token_id and eos_token_id in model.fields"
            )
        self.start = start

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        taken = {name: batch[name] for name in self.inputs if name in batch}
        if "scored" in batch:
            logits: Tensor = self._logits(taken, batch["target_ids"])
            return logits[batch["scored"]]
        hidden = self.model.get_encoder()(**taken, return_dict=True).last_hidden_state
        with quiet():
            ids = self.model.generate(  # type: ignore[operator]  # of transformers' mixin
                **taken, encoder_outputs=BaseModelOutput(last_hidden_state=hidden), generation_config=self.generation
            )[:, 1:]
        # As wide as the longest answer may be, with nothing behind the first end.
        ends = torch.isin(ids, torch.tensor(self.generation.eos_token_id, device=ids.device))
        is_behind = ends.cumsum(dim=1) - ends.long() > 0
        written = ids.new_full((len(ids), self.width), _NOTHING)
        written[:, : ids.shape[1]] = ids.masked_fill(is_behind, _NOTHING)
        read = {"attention_mask": taken["attention_mask"], "encoder_outputs": BaseModelOutput(last_hidden_state=hidden)}
        known = self._judge(read, batch["target_ids"], batch["target_mask"]) if "target_ids" in batch else None
        own = self._judge(read, written.clamp(min=0), written != _NOTHING)
        truth = torch.zeros_like(own) if known is None else known
        likelihood = -own[:, :1] / own[:, 1:2].clamp(min=1)
        return torch.cat([truth, likelihood, own[:, 1:2], written.float()], dim=1)

    def _logits(self, taken: Mapping[str, Any], targets: Tensor) -> Tensor:
        """Predict every token of a target, each from those before it."""
        before = torch.cat([torch.full_like(targets[:, :1], self.start), targets[:, :-1]], dim=1)
        outputs = self.model(**taken, decoder_input_ids=before, **self._keeps_nothing, return_dict=True)
        return outputs.logits  # type: ignore[no-any-return]  # transformers' outputs are untyped

    def _judge(self, taken: Mapping[str, Any], targets: Tensor, is_token: Tensor) -> Tensor:
        """Return minus the log-likelihood of targets, how many tokens they have, and how many were guessed [n, 3]."""
        logits = self._logits(taken, targets).float()
        each = torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
        is_right = logits.argmax(dim=-1) == targets
        return torch.stack(
            [(values * is_token).sum(dim=1) for values in (each, torch.ones_like(each), is_right)], dim=1
        )
