"""Losses as a sum and a weight, so that no way of cutting a batch shows in the gradient."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F  # noqa: N812  # the name everyone uses
from torch import Tensor

from burnish.errors import BurnishError
from burnish.spec.own_loss import OwnLoss
from burnish.spec.values import HeadSpec, Objective, Term


class Loss:
    """An objective on one device."""

    def __init__(self, objective: Objective, device: torch.device) -> None:
        self._objective = objective
        weights = objective.class_weights
        self._class_weights = None if weights is None else torch.tensor(weights, device=device)

    def weight(self, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Return what these labels weigh; the loss of a step is divided by the weight of the whole global batch."""
        if self._objective.name == "mean":
            return labels.float().sum()
        each = torch.ones(labels.shape[0], device=labels.device) if weights is None else weights
        if self._class_weights is None or labels.ndim > 1:
            return each.sum()
        return (each * self._class_weights[labels]).sum()

    def sum(
        self, logits: Tensor, labels: Tensor, weights: Tensor | None = None, *, scored: Tensor | None = None
    ) -> Tensor:
        """Return the loss summed over examples, in float32 whatever the network computes in.

        Logits are [n, size], or [n, members, size] of an ensemble, whose loss is the mean of its members'. A span is
        sought among the scored places of each example, for which alone there are logits.
        """
        if self._objective.name == "span":
            assert scored is not None, "a span lies among scored places"
            return _weighted(_span(logits.float(), labels, scored), weights).sum()
        members = logits.shape[1] if logits.ndim == 3 else 1
        if logits.ndim == 3:
            logits, labels = logits.flatten(0, 1), labels.repeat_interleave(members, dim=0)
        each: Tensor = getattr(self, "_" + self._objective.name)(logits.float(), labels)
        repeated = None if weights is None else weights.repeat_interleave(members)
        return _weighted(each, repeated).sum() / members

    def _cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(
            logits,
            labels,
            weight=self._class_weights,
            label_smoothing=self._objective.label_smoothing,
            reduction="none",
        )

    def _focal(self, logits: Tensor, labels: Tensor) -> Tensor:
        plain = F.cross_entropy(logits, labels, reduction="none")
        eased = (1 - torch.exp(-plain)) ** self._objective.gamma * plain
        return eased if self._class_weights is None else eased * self._class_weights[labels]

    def _binary_cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        smoothing = self._objective.label_smoothing
        target = labels.float() * (1 - smoothing) + smoothing / 2
        each = F.binary_cross_entropy_with_logits(logits, target, reduction="none", pos_weight=self._class_weights)
        return each.mean(dim=1)

    def _mean_squared_error(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.mse_loss(logits.squeeze(-1), labels.float(), reduction="none")

    def _poisson(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.poisson_nll_loss(logits.squeeze(-1), labels.float(), log_input=True, reduction="none")

    def _gamma(self, logits: Tensor, labels: Tensor) -> Tensor:
        # The likelihood but for what does not depend on the network, with the mean as exp(logit).
        log_mean = logits.squeeze(-1)
        return labels.float() * torch.exp(-log_mean) + log_mean

    def _quantile(self, logits: Tensor, labels: Tensor) -> Tensor:
        short = labels.float() - logits.squeeze(-1)
        return torch.maximum(self._objective.quantile * short, (self._objective.quantile - 1) * short)

    def _in_batch(self, outputs: Tensor, labels: Tensor) -> Tensor:
        asked, *given = outputs.chunk(max(2, int(labels[0])), dim=-1)
        own = torch.arange(len(outputs), device=outputs.device)
        return F.cross_entropy(asked @ torch.cat(given).T, own, reduction="none")

    def _mean(self, losses: Tensor, labels: Tensor) -> Tensor:
        return losses * labels.float()


def _span(logits: Tensor, labels: Tensor, scored: Tensor) -> Tensor:
    """Return the mean loss of start and end for each example; labels [n, 2] are places in the padded length."""
    padded = logits.new_full((*scored.shape, 2), -torch.inf)
    padded[scored] = logits
    both = F.cross_entropy(padded.transpose(1, 2).flatten(0, 1), labels.flatten(), reduction="none")
    return both.view(-1, 2).mean(dim=1)


def _weighted(each: Tensor, weights: Tensor | None) -> Tensor:
    return each if weights is None else each * weights


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
        """Return what a batch weighs for each term."""
        return [
            float(loss.weight(*_truth(term, batch))) if is_met else 0.0
            for term, loss, is_met in zip(self._terms, self._losses, self._met(batch), strict=True)
        ]

    def added(self, several: Iterable[Sequence[float]]) -> list[float]:
        """Add up what some batches weigh; none, as a process may have of a small global batch, weigh 0."""
        return [sum(each) for each in zip([0.0] * len(self._terms), *several, strict=True)]

    def total(self, outputs: Outputs, batch: Mapping[str, Tensor], *, weights: Sequence[float]) -> Tensor:
        """Return the batch's share of the loss of a global batch that weighs so much for each term."""
        given = {_LOGITS: outputs} if isinstance(outputs, Tensor) else outputs
        shares = [
            loss.sum(given[term.output], *_truth(term, batch), scored=batch.get(_SCORED)) / (weight / term.weight)
            for term, loss, weight, is_met in zip(self._terms, self._losses, weights, self._met(batch), strict=True)
            if is_met and weight
        ]
        return torch.stack(shares).sum() if len(shares) > 1 else shares[0]

    def measured(
        self, outputs: Outputs, batch: Mapping[str, Tensor], *, weights: Sequence[float]
    ) -> tuple[Tensor, float]:
        """Return the batch's share of the loss, and of the weight too where only the loss tells it, else 0."""
        return self.total(outputs, batch, weights=weights), 0.0

    def _met(self, batch: Mapping[str, Tensor]) -> list[bool]:
        """Find which terms a batch has a truth for: those of its group."""
        group = int(batch[_GROUP][0]) if _GROUP in batch else 0
        return [owner == group and term.label in batch for owner, term in zip(self._groups, self._terms, strict=True)]


class OwnLosses(Losses):
    """A loss of the user's own in the place of the head's; only what it returns tells how much a batch weighs.

    Until all of a step is answered, a batch weighs as much as it has rows.
    """

    def __init__(self, own: OwnLoss) -> None:
        self._own = own
        self._terms = (Term(_LOGITS, _LABEL, Objective("mean")),)

    def weights(self, batch: Mapping[str, Tensor]) -> list[float]:
        return [float(len(batch[_LABEL]))]

    def measured(
        self, outputs: Outputs, batch: Mapping[str, Tensor], *, weights: Sequence[float]
    ) -> tuple[Tensor, float]:
        given = {_LOGITS: outputs} if isinstance(outputs, Tensor) else outputs
        in_full = {name: each.float() if each.is_floating_point() else each for name, each in given.items()}
        returned = self._own.loss(in_full, batch)
        try:
            total, weight = returned
            if total.ndim == 0 and float(weight) >= 0:
                return total / weights[0], float(weight) / weights[0]
        except (TypeError, ValueError, AttributeError):
            pass  # the sentence below is about whatever was returned
        what = f"{type(self._own).__module__}:{type(self._own).__qualname__}"
        raise BurnishError(
            f"train.loss: {what} must return a sum, a tensor of one number, and a weight that is not negative, "
            f"got {_describe(returned)}"
        )


def _describe(returned: object) -> str:
    if isinstance(returned, tuple):
        return f"({', '.join(map(_describe, returned))})"
    shape = f" of shape {list(returned.shape)}" if isinstance(returned, Tensor) and returned.ndim else ""
    return f"{type(returned).__name__}{shape or f' {returned}'}"


def _terms_of(head: HeadSpec) -> list[Term]:
    terms = (Term(_LOGITS, _LABEL, head.objective), *head.terms)
    return [replace(term, weight=term.weight * head.weight) for term in terms]


def _truth(term: Term, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor | None]:
    """Return the labels that a term's outputs meet one by one, and their weights."""
    labels, scored = batch[term.label], batch.get(_SCORED)
    weights = batch.get(_WEIGHT) if term.label == _LABEL else None
    if scored is None or labels.shape != scored.shape or term.objective.name == "mean":
        return labels, weights
    if weights is not None and weights.ndim == 1:
        weights = weights[:, None].expand_as(scored)
    return labels[scored], None if weights is None else weights[scored]
