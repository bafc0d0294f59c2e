"""Losses as a sum and a weight, so that no way of cutting a batch shows in the gradient."""

import torch
import torch.nn.functional as F  # noqa: N812  # the name everyone uses
from torch import Tensor

from burnish.spec.values import Objective


class Loss:
    """An objective on one device."""

    def __init__(self, objective: Objective, device: torch.device) -> None:
        self._objective = objective
        weights = objective.class_weights
        self._class_weights = None if weights is None else torch.tensor(weights, device=device)

    def weight(self, labels: Tensor) -> Tensor:
        """Give what these labels weigh; the loss of a step is divided by the weight of the whole global batch."""
        if self._class_weights is None:
            return torch.tensor(float(labels.shape[0]), device=labels.device)
        if labels.ndim > 1:
            return torch.tensor(float(labels.shape[0]), device=labels.device)
        return self._class_weights[labels].sum()

    def sum(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Give the loss summed over examples, in float32 whatever the network computes in."""
        return getattr(self, "_" + self._objective.name)(logits.float(), labels)  # type: ignore[no-any-return]  # all four return a Tensor

    def _cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(
            logits,
            labels,
            weight=self._class_weights,
            label_smoothing=self._objective.label_smoothing,
            reduction="sum",
        )

    def _focal(self, logits: Tensor, labels: Tensor) -> Tensor:
        plain = F.cross_entropy(logits, labels, reduction="none")
        eased = (1 - torch.exp(-plain)) ** self._objective.gamma * plain
        return (eased if self._class_weights is None else eased * self._class_weights[labels]).sum()

    def _binary_cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        smoothing = self._objective.label_smoothing
        target = labels.float() * (1 - smoothing) + smoothing / 2
        each = F.binary_cross_entropy_with_logits(logits, target, reduction="none", pos_weight=self._class_weights)
        return each.mean(dim=1).sum()

    def _mean_squared_error(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.mse_loss(logits.squeeze(-1), labels.float(), reduction="sum")
