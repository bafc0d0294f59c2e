"""What a transformer can end in: the class of `transformers` that carries each head, and how it answers a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import PreTrainedModel

from burnish.models.transformers.language_torch import PermutationNetwork, ReplacedNetwork
from burnish.models.transformers.locate_model import refusal
from burnish.models.transformers.network_torch import TransformerNetwork
from burnish.models.transformers.seq2seq_torch import Seq2SeqNetwork
from burnish.models.transformers.span_beam_torch import AutoBeam, BeamNetwork
from burnish.models.transformers.vectors_torch import EmbeddingNetwork, FusionNetwork, PooledNetwork
from burnish.spec.values import Array, HeadSpec

_PROBED = 6
_TOLERANCE = 1e-5


class PlacesNetwork(TransformerNetwork):
    """Answer at the scored places alone, so that a head, be it as wide as a vocabulary, computes nothing in vain."""

    def __init__(self, model: PreTrainedModel, head: HeadSpec, *, layer_decay: float | None = None) -> None:
        super().__init__(model, head, layer_decay=layer_decay)
        self._gather = _Gather()
        model.base_model.register_forward_hook(self._gather)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        with self._gather.keep(batch["scored"]):
            return self.logits(self.run(batch))

    def logits(self, outputs: Any) -> Tensor:
        """Take [m, size] out of what the model gave for one long row of places."""
        return outputs.logits[0]  # type: ignore[no-any-return]  # transformers' outputs are untyped


class SpanNetwork(PlacesNetwork):
    """Score every place as the start and as the end of an answer."""

    def logits(self, outputs: Any) -> Tensor:
        return torch.stack([outputs.start_logits[0], outputs.end_logits[0]], dim=-1)


class GuessingNetwork(PlacesNetwork):
    """Guess tokens of the vocabulary."""

    def expect(self, counts: Array) -> None:
        """Begin a new output at how often each token comes, which it would take thousands of steps to learn."""
        output = self.model.get_output_embeddings()  # type: ignore[no-untyped-call]  # transformers' own
        bias = getattr(output, "bias", None)
        names = {name for name, each in self.model.named_parameters(remove_duplicate=False) if each is bias}
        if bias is None or not names & self.fresh:
            return
        seen = torch.ones(len(bias), dtype=torch.float64)  # once for each, as none is impossible
        seen[: len(counts)] += torch.from_numpy(counts)
        with torch.no_grad():
            bias.copy_((seen / seen.sum()).log())


class CausalNetwork(PlacesNetwork):
    """Guess the token that follows each scored place, by a model that does not see it."""

    def __init__(self, model: PreTrainedModel, head: HeadSpec, *, layer_decay: float | None = None) -> None:
        super().__init__(model, head, layer_decay=layer_decay)
        ids = torch.arange(_PROBED)[None] % model.config.vocab_size
        said, said_before_another = self._said(ids), self._said(torch.cat([ids[:, :-1], ids[:, :1]], dim=1))
        if not torch.allclose(said, said_before_another, rtol=0, atol=_TOLERANCE * float(said.abs().max())):
            raise refusal(
                f"model: a {model.config.model_type} model sees the tokens that task causal_lm asks it to predict; "
                "use one that sees only the past, such as gpt2, or the task masked_lm"
            )

    @torch.inference_mode()
    def _said(self, ids: Tensor) -> Tensor:
        """Return what is said of all tokens but the last, as an evaluation would."""
        models = (self.model, self.model.base_model)  # layers that are shared are no part of the model
        was_training = [model.training for model in models]
        for model in models:
            model.eval()
        there = torch.ones_like(ids)
        said: Tensor = self({"input_ids": ids, "attention_mask": there, "scored": there.bool()})
        for model, mode in zip(models, was_training, strict=True):
            model.train(mode)
        return said[:-1]


class PretrainingNetwork(GuessingNetwork):
    """Guess hidden tokens, and tell whether the second text follows the first."""

    def __init__(self, model: PreTrainedModel, head: HeadSpec, *, layer_decay: float | None = None) -> None:
        super().__init__(model, head, layer_decay=layer_decay)
        if not any(hasattr(model, name) for name in ("cls", "sop_classifier")):
            raise refusal(
                f"model: a {model.config.model_type} model has no output for pairs of texts, which task pretraining "
                "needs; use bert or albert, or the task masked_lm"
            )

    def forward(self, batch: Mapping[str, Tensor]) -> Mapping[str, Tensor]:  # type: ignore[override]  # two outputs
        with self._gather.keep(batch["scored"]):
            outputs = self.run(batch)
        pair = outputs.seq_relationship_logits if "seq_relationship_logits" in outputs else outputs.sop_logits
        return {"logits": outputs.prediction_logits[0], "pair": pair}


class ChoiceNetwork(TransformerNetwork):
    """Score each choice of a question: inputs are [n, k, length], and `choices` tells which of them exist."""

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        choices = batch["choices"]
        # All that exist as questions of one choice each: no padding is read, and rows may differ in their number.
        flat = {name: batch[name][choices][:, None] for name in self.inputs if name in batch}
        found: Tensor = self.run(flat).logits.flatten()
        logits = found.new_full(choices.shape, -torch.inf)
        logits[choices] = found
        return logits


@dataclass(frozen=True)
class Kind:
    """How a kind of head is built and asked."""

    auto: Any
    """The class of `transformers` that finds the model with this head."""
    network: type[TransformerNetwork]


def kind_of(head: HeadSpec) -> Kind:
    """Return the way to build a head; architectures list the kinds that are here."""
    return _KINDS[head.kind]


class _Gather:
    """Hand on, of what the layers below a head give, only the scored places; each thread has its own."""

    def __init__(self) -> None:
        self._scored: dict[int, Tensor] = {}

    @contextmanager
    def keep(self, scored: Tensor) -> Iterator[None]:
        self._scored[get_ident()] = scored
        try:
            yield
        finally:
            del self._scored[get_ident()]

    def __call__(self, _module: nn.Module, _inputs: object, outputs: Any) -> Any:
        scored = self._scored.get(get_ident())
        if scored is not None:
            hidden = outputs.last_hidden_state
            # In an exported graph, where no mask can say how many places there will be, they come as positions.
            places = hidden[scored] if scored.dtype == torch.bool else hidden.flatten(0, 1)[scored]
            outputs.last_hidden_state = places[None]
        return outputs


_KINDS = {
    "sequence_classification": Kind(transformers.AutoModelForSequenceClassification, TransformerNetwork),
    "pooled_classification": Kind(transformers.AutoModel, PooledNetwork),
    "token_classification": Kind(transformers.AutoModelForTokenClassification, PlacesNetwork),
    "question_answering": Kind(transformers.AutoModelForQuestionAnswering, SpanNetwork),
    "question_answering_beam": Kind(AutoBeam, BeamNetwork),
    "multiple_choice": Kind(transformers.AutoModelForMultipleChoice, ChoiceNetwork),
    "masked_lm": Kind(transformers.AutoModelForMaskedLM, GuessingNetwork),
    "causal_lm": Kind(transformers.AutoModelForCausalLM, CausalNetwork),
    "seq2seq_lm": Kind(transformers.AutoModelForSeq2SeqLM, Seq2SeqNetwork),
    "permutation_lm": Kind(transformers.AutoModelForCausalLM, PermutationNetwork),
    "pretraining": Kind(transformers.AutoModelForPreTraining, PretrainingNetwork),
    "replaced_tokens": Kind(transformers.AutoModelForPreTraining, ReplacedNetwork),
    "embedding": Kind(transformers.AutoModel, EmbeddingNetwork),
    "text_and_columns": Kind(transformers.AutoModel, FusionNetwork),
}
