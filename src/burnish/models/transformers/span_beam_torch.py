"""Finds answers by a beam over starts and ends, with a say of its own on whether there is one, as XLNet does."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel

from burnish.models.transformers.network_torch import TransformerNetwork, accepted_inputs
from burnish.spec.values import HeadSpec

NO_BEAM = -1e30
"""The score of a pair that is no answer: its end stands before its start, or too far behind it."""
_OWN = {
    "xlnet": transformers.XLNetForQuestionAnswering,
    "xlm": transformers.XLMForQuestionAnswering,
    "flaubert": transformers.FlaubertForQuestionAnswering,
}


class AutoBeam:
    """Give a model with a beam head: transformers' own where it has one, else an encoder with the same layers on it."""

    @staticmethod
    def from_config(config: PretrainedConfig, *, trust_remote_code: bool = False, **options: Any) -> PreTrainedModel:
        """Make one with random weights."""
        model: PreTrainedModel = _class_of(config)._from_config(config, **options)
        return model

    @staticmethod
    def from_pretrained(
        folder: Path, *, config: PretrainedConfig, trust_remote_code: bool = False, **options: Any
    ) -> Any:
        """Load weights; those of the head are drawn anew where the folder has none."""
        return _class_of(config).from_pretrained(folder, config=config, **options)


class BeamNetwork(TransformerNetwork):
    """Score starts, then ends in the light of a start: the true one while it learns, the best few when it answers."""

    def __init__(self, model: PreTrainedModel, head: HeadSpec, *, layer_decay: float | None = None) -> None:
        super().__init__(model, head, layer_decay=layer_decay)
        encoder: Any = model.base_model
        self.inputs = accepted_inputs(encoder)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor | Mapping[str, Tensor]:
        taken = {name: batch[name] for name in self.inputs if name in batch}
        hidden: Tensor = self.model.base_model(**taken, return_dict=True).last_hidden_state
        whole = _at(hidden, batch["null_place"])
        if "scored" in batch:
            scored = batch["scored"]
            places, state = hidden[scored], _at(hidden, batch["start_place"])
            ends = self._ends(places, state.repeat_interleave(scored.sum(dim=1), dim=0))
            logits = torch.stack([self._starts(places), ends], dim=-1)
            return {"logits": logits, "impossible": self._impossible(state, whole)[:, None]}
        return self._searched(hidden, whole, batch)

    def _searched(self, hidden: Tensor, whole: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        """Return the odds of no answer, then for each pair its score and the characters it begins and ends at."""
        starts = _log_shares(self._starts(hidden), batch["allowed"])
        impossible = self._impossible(torch.einsum("nlh,nl->nh", hidden.float(), starts.exp()).to(hidden.dtype), whole)
        best = starts.topk(min(self.head.options["start_n_top"], starts.shape[1]), dim=1)
        beams = [
            self._beam(hidden, place, score, batch)
            for place, score in zip(best.indices.unbind(1), best.values.unbind(1), strict=True)
        ]
        found = torch.cat([impossible.float()[:, None], *beams], dim=1)
        size = 1 + 3 * self.head.options["start_n_top"] * self.head.options["end_n_top"]
        # A batch of very short texts has fewer places than the beam is wide; all answers have the same size.
        return nn.functional.pad(found, (0, size - found.shape[1]), value=NO_BEAM)

    def _beam(self, hidden: Tensor, place: Tensor, score: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        state = _at(hidden, place)[:, None].expand_as(hidden)
        ends = _log_shares(self._ends(hidden, state), batch["allowed"])
        best = ends.topk(min(self.head.options["end_n_top"], ends.shape[1]), dim=1)
        characters = batch["characters"]
        begins = _at(characters, place)[:, :1].expand_as(best.indices)
        lasts = characters[:, :, 1].gather(1, best.indices)
        tokens = best.indices - place[:, None]
        is_span = (tokens >= 0) & (tokens < self.head.options["max_answer"]) & (begins >= 0) & (lasts >= 0)
        scores = (best.values + score[:, None]).clamp(min=NO_BEAM).masked_fill(~is_span, NO_BEAM)
        return torch.stack([scores, begins.float(), lasts.float()], dim=2).flatten(1)

    @property
    def _layers(self) -> Any:
        return getattr(self.model, "qa_outputs", self.model)

    def _starts(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self._layers.start_logits.dense(hidden).squeeze(-1)
        return scores

    def _ends(self, hidden: Tensor, starts: Tensor) -> Tensor:
        layers = self._layers.end_logits
        mixed = torch.tanh(layers.dense_0(torch.cat([hidden, starts], dim=-1)))
        scores: Tensor = layers.dense_1(layers.LayerNorm(mixed)).squeeze(-1)
        return scores

    def _impossible(self, start: Tensor, whole: Tensor) -> Tensor:
        layers = self._layers.answer_class
        score: Tensor = layers.dense_1(torch.tanh(layers.dense_0(torch.cat([start, whole], dim=-1)))).squeeze(-1)
        return score


def _at(values: Tensor, places: Tensor) -> Tensor:
    return values[torch.arange(len(values), device=values.device), places]


def _log_shares(scores: Tensor, allowed: Tensor) -> Tensor:
    return scores.float().masked_fill(~allowed, -torch.inf).log_softmax(dim=1)


def _class_of(config: PretrainedConfig) -> Any:
    """Return the class of models with a beam head for a config; its parts are called as in transformers' own."""
    own = _OWN.get(config.model_type)
    return own if own is not None else _on_top_of(transformers.MODEL_MAPPING[type(config)])


def _on_top_of(encoder: Any) -> Any:
    parent = next(each for each in encoder.__mro__[1:] if issubclass(each, PreTrainedModel))

    def build(self: Any, config: PretrainedConfig) -> None:
        parent.__init__(self, config)
        can_leave_out = "add_pooling_layer" in inspect.signature(encoder.__init__).parameters
        setattr(
            self, parent.base_model_prefix, encoder(config, **({"add_pooling_layer": False} if can_leave_out else {}))
        )
        width, eps = config.hidden_size, getattr(config, "layer_norm_eps", 1e-12)
        self.start_logits = nn.ModuleDict({"dense": nn.Linear(width, 1)})
        self.end_logits = nn.ModuleDict(
            {
                "dense_0": nn.Linear(2 * width, width),
                "LayerNorm": nn.LayerNorm(width, eps=eps),
                "dense_1": nn.Linear(width, 1),
            }
        )
        self.answer_class = nn.ModuleDict(
            {"dense_0": nn.Linear(2 * width, width), "dense_1": nn.Linear(width, 1, bias=False)}
        )
        self.post_init()

    return type(f"{encoder.__name__}ForBeamQuestionAnswering", (parent,), {"__init__": build, "forward": _not_asked})


def _not_asked(self: Any, *_inputs: object, **_named: object) -> None:
    raise AssertionError("the network asks the parts of this model, never the whole")
