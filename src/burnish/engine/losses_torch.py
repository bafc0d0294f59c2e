"""All the losses of a head over one batch: which output meets which truth, and what each is divided by."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from burnish.engine.objectives_torch import Loss
from burnish.spec.values import HeadSpec, Objective, Term

_LOGITS, _LABEL, _WEIGHT, _SCORED, _GROUP = "logits", "label", "weight", "scored", "group"
Outputs = Tensor | Mapping[str, Tensor]


class Losses:
    """The objective of `logits` and any further terms, on one device; where there are groups, those of each."""

    def __init__(
        self, objective: Objective, terms: Sequence[Term], device: torch.device, *, parts: Sequence[HeadSpec] = ()
    ) -> None:
        grouped = [(number, term) for number, head in enumerate(parts) for term in _terms_of(head)]
        alone = [(0, term) for term in (Term(_LOGITS, _LABEL, objective), *terms)]
        self._groups, self._terms = zip(*(grouped or alone), strict=True)
        self._losses = [Loss(term.objective, device) for term in self._terms]

    @property
    def entries(self) -> tuple[str, ...]:
        """Name what of a batch decides how much it weighs."""
        return (_WEIGHT, _SCORED, _GROUP, *(term.label for term in self._terms))

    def weights(self, batch: Mapping[str, Tensor]) -> list[float]:
        """Give what a batch weighs for each term."""
        return [
            float(loss.weight(*_truth(term, batch))) if is_met else 0.0
            for term, loss, is_met in zip(self._terms, self._losses, self._met(batch), strict=True)
        ]

    def added(self, several: Iterable[Sequence[float]]) -> list[float]:
        """Add up what some batches weigh; none, as a process may have of a small global batch, weigh 0."""
        return [sum(each) for each in zip([0.0] * len(self._terms), *several, strict=True)]

    def total(self, outputs: Outputs, batch: Mapping[str, Tensor], *, weights: Sequence[float]) -> Tensor:
        """Give the batch's share of the loss of a global batch that weighs so much for each term."""
        given = {_LOGITS: outputs} if isinstance(outputs, Tensor) else outputs
        shares = [
            loss.sum(given[term.output], *_truth(term, batch), scored=batch.get(_SCORED)) / (weight / term.weight)
            for term, loss, weight, is_met in zip(self._terms, self._losses, weights, self._met(batch), strict=True)
            if is_met and weight
        ]
        return torch.stack(shares).sum() if len(shares) > 1 else shares[0]

    def _met(self, batch: Mapping[str, Tensor]) -> list[bool]:
        """Tell which terms a batch has a truth for: those of its group."""
        group = int(batch[_GROUP][0]) if _GROUP in batch else 0
        return [owner == group and term.label in batch for owner, term in zip(self._groups, self._terms, strict=True)]


def _terms_of(head: HeadSpec) -> list[Term]:
    terms = (Term(_LOGITS, _LABEL, head.objective), *head.terms)
    return [replace(term, weight=term.weight * head.weight) for term in terms]


def _truth(term: Term, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor | None]:
    """Give the labels that a term's outputs meet one by one, and their weights."""
    labels, scored = batch[term.label], batch.get(_SCORED)
    weights = batch.get(_WEIGHT) if term.label == _LABEL else None
    if scored is None or labels.shape != scored.shape or term.objective.name == "mean":
        return labels, weights
    if weights is not None and weights.ndim == 1:
        weights = weights[:, None].expand_as(scored)
    return labels[scored], None if weights is None else weights[scored]
