"""The optimizers that an experiment can name; torch is imported only when one is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from burnish.spec.component import Component

if TYPE_CHECKING:
    import torch

Groups = Sequence[Mapping[str, Any]]
Beta = Annotated[float, Field(ge=0, lt=1)]


class AdamW(Component):
    """Adam with weight decay apart from the gradient; the usual choice for transformers."""

    shorthand = "learning_rate"

    learning_rate: PositiveFloat = 5e-5
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    epsilon: PositiveFloat = 1e-8
    weight_decay: NonNegativeFloat = 0.01
    """Never applied to biases and norms."""

    def build(self, network: torch.nn.Module, groups: Groups) -> torch.optim.Optimizer:
        """Make torch's AdamW, fused where the device has it."""
        from burnish.optim import optim_torch

        return optim_torch.adamw(
            groups, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, weight_decay=self.weight_decay
        )


class Adam(Component):
    """Adam as first published: weight decay, if any, is part of the gradient."""

    shorthand = "learning_rate"

    learning_rate: PositiveFloat = 5e-5
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    epsilon: PositiveFloat = 1e-8
    weight_decay: NonNegativeFloat = 0.0

    def build(self, network: torch.nn.Module, groups: Groups) -> torch.optim.Optimizer:
        """Make torch's Adam, fused where the device has it."""
        from burnish.optim import optim_torch

        return optim_torch.adam(
            groups, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, weight_decay=self.weight_decay
        )


class Adafactor(Component):
    """Keep one number a row and a column instead of one a weight: little memory."""

    shorthand = "learning_rate"

    learning_rate: PositiveFloat = 1e-3
    """Relative: each tensor moves by this share of its own size."""
    beta2_decay: Annotated[float, Field(lt=0)] = -0.8
    """How the memory of squared gradients grows: 1 - step ** beta2_decay."""
    epsilon: PositiveFloat = 1e-3
    """The least size that a tensor counts as."""
    clip_threshold: PositiveFloat = 1.0
    """The largest root mean square of one update."""
    weight_decay: NonNegativeFloat = 0.0

    def build(self, network: torch.nn.Module, groups: Groups) -> torch.optim.Optimizer:
        """Make torch's Adafactor."""
        from burnish.optim import optim_torch

        return optim_torch.adafactor(
            groups,
            lr=self.learning_rate,
            beta2_decay=self.beta2_decay,
            eps=self.epsilon,
            clip_threshold=self.clip_threshold,
            weight_decay=self.weight_decay,
        )


class Sgd(Component):
    """Plain gradient descent, with momentum."""

    shorthand = "learning_rate"

    learning_rate: PositiveFloat = 1e-2
    momentum: Beta = 0.9
    nesterov: bool = False
    weight_decay: NonNegativeFloat = 0.0

    @model_validator(mode="after")
    def _nesterov_needs_momentum(self) -> Sgd:
        if self.nesterov and self.momentum == 0:
            raise ValueError("needs `momentum` above 0 for `nesterov`")
        return self

    def build(self, network: torch.nn.Module, groups: Groups) -> torch.optim.Optimizer:
        """Make torch's SGD."""
        from burnish.optim import optim_torch

        return optim_torch.sgd(
            groups,
            lr=self.learning_rate,
            momentum=self.momentum,
            nesterov=self.nesterov,
            weight_decay=self.weight_decay,
        )


class Lamb(Component):
    """AdamW whose step is scaled to each matrix's size: made for very large batches."""

    shorthand = "learning_rate"

    learning_rate: PositiveFloat = 1e-3
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    epsilon: PositiveFloat = 1e-6
    weight_decay: NonNegativeFloat = 0.01

    def build(self, network: torch.nn.Module, groups: Groups) -> torch.optim.Optimizer:
        """Make Burnish's LAMB."""
        from burnish.optim import optim_torch

        return optim_torch.Lamb(
            groups, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, weight_decay=self.weight_decay
        )


class Lion(Component):
    """Step by the sign of the momentum: half of Adam's memory, a smaller rate, a larger decay."""

    shorthand = "learning_rate"

    learning_rate: PositiveFloat = 1e-5
    betas: tuple[Beta, Beta] = (0.9, 0.99)
    weight_decay: NonNegativeFloat = 0.1

    def build(self, network: torch.nn.Module, groups: Groups) -> torch.optim.Optimizer:
        """Make Burnish's Lion."""
        from burnish.optim import optim_torch

        return optim_torch.Lion(groups, lr=self.learning_rate, betas=self.betas, weight_decay=self.weight_decay)
