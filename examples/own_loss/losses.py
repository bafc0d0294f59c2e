"""Losses of one's own in one file: distillation, and an adversarial step whose extra passes are the model's forward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # the name everyone uses
from pydantic import PositiveFloat
from torch import Tensor

from burnish.models.transformer import Transformer
from burnish.spec.component import Component
from burnish.spec.protocols import Assets
from burnish.spec.values import HeadSpec


class Distillation(Component):
    """Learn from the labels, and as much from the softened answers of a teacher."""

    temperature: PositiveFloat = 2.0

    def loss(self, outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> tuple[Tensor, int]:
        """Return the sum over the rows, and how many there are."""
        hard = F.cross_entropy(outputs["logits"], batch["label"], reduction="sum")
        soft = divergence(outputs["teacher"] / self.temperature, outputs["logits"] / self.temperature)
        return (hard + self.temperature**2 * soft) / 2, len(batch["label"])


class Student(Transformer):
    """A transformer that asks a teacher for its answers while it learns; the artifact is the student alone."""

    teacher: str
    """The model of a trained run, like `runs/teacher/artifact/model`."""

    def network(self, head: HeadSpec, assets: Assets) -> Any:
        """Let the teacher answer beside the student."""
        network = super().network(head, assets)
        teacher = Transformer(name=self.teacher).network(head, assets).eval().requires_grad_(False)

        def answer(module: Any, given: tuple[Any], logits: Tensor) -> Any:
            return {"logits": logits, "teacher": teacher.to(logits.device)(given[0])} if module.training else logits

        network.register_forward_hook(answer)
        return network


class Adversarial(Component):
    """Learn from the labels, and to answer alike where the input is moved a little."""

    weight: PositiveFloat = 1.0

    def loss(self, outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> tuple[Tensor, int]:
        """Return the sum over the rows, and how many there are."""
        right = F.cross_entropy(outputs["logits"], batch["label"], reduction="sum")
        alike = divergence(outputs["logits"].detach(), outputs["moved"])
        return right + self.weight * alike, len(batch["label"])


class Hardened(Transformer):
    """A transformer that also answers to its input moved to where its answer changes most (virtual adversary)."""

    reach: PositiveFloat = 0.5

    def network(self, head: HeadSpec, assets: Assets) -> Any:
        """Move the embeddings by one gradient of how much the answer changes."""
        network = super().network(head, assets)

        def answer(module: Any, given: tuple[Any], logits: Tensor) -> Any:
            if not module.training:
                return logits
            inputs = {name: each for name, each in given[0].items() if name != "input_ids"}
            embedded = module.model.get_input_embeddings()(given[0]["input_ids"])
            move = (1e-2 * torch.randn_like(embedded)).requires_grad_()
            near = module.run({**inputs, "inputs_embeds": embedded.detach() + move}).logits
            (away,) = torch.autograd.grad(divergence(logits.detach(), near), move)
            away = self.reach * F.normalize(away, dim=(1, 2))
            return {"logits": logits, "moved": module.run({**inputs, "inputs_embeds": embedded + away}).logits}

        network.register_forward_hook(answer)
        return network


def divergence(wanted: Tensor, given: Tensor) -> Tensor:
    """Return how far the given answers are from those that are wanted (Kullback-Leibler), summed over rows."""
    pair = given.float().log_softmax(dim=-1), wanted.float().log_softmax(dim=-1)
    return F.kl_div(*pair, reduction="sum", log_target=True)
