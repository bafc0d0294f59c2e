"""Takes optimizer steps and makes predictions with a torch network; owns everything that training changes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from burnish.dist.world import Solo, World
from burnish.engine.infer_torch import Autocast, Inference, inputs_of
from burnish.engine.loss_scale_torch import LossScale
from burnish.engine.losses_torch import Losses
from burnish.engine.memory_torch import Memory, fitting
from burnish.engine.recovery import BadStep, is_bad
from burnish.spec.values import Array, Batch, HeadSpec, Objective, StepResult

_LABEL = "label"


class Learner:
    """A network with its optimizer."""

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        head: HeadSpec | Objective,
        *,
        precision: Autocast,
        seed: int,
        clip: float | None = 1.0,
        ema_decay: float | None = None,
        world: World | None = None,
        memory: Memory | None = None,
        loss_limit: float | None = None,
    ) -> None:
        # Whoever loads weights leaves a network set to answering, and what holds it does not show that.
        self.network = network.to(precision.device).train()
        self.optimizer = optimizer
        self._precision = precision
        self._head = head if isinstance(head, HeadSpec) else HeadSpec("any", 1, head)
        parts = tuple(self._head.parts.values())
        self._losses = Losses(self._head.objective, self._head.terms, precision.device, parts=parts)
        self._scale = LossScale(is_used=precision.name == "fp16")
        self._seed = seed
        self._clip = clip
        self._world: World = world or Solo()
        self._memory = memory or Memory(world=world)
        self._loss_limit = loss_limit
        self._base_rates = [group["lr"] for group in optimizer.param_groups]
        self._trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self._decay = ema_decay
        self._averages = [p.detach().clone() for p in self._trained] if ema_decay is not None else []

    def step(self, batches: Sequence["Batch"], *, step: int, factor: float) -> StepResult:
        """Learn from one global batch, cut into micro-batches; `step` counts from 0."""
        if not self.network.training:  # a walk through all of its modules costs as much as a small layer
            self.network.train()
        self._set_rates(factor)
        weights = self._world.sum(self._losses.added(map(self._weights, batches)))
        if not any(weights):
            # Rows of weight 0, or texts with nothing to guess. Every rank sees the same sums: all of them leave here.
            return replace(self._result(batches, 0.0, 0.0), is_empty=True)
        total = self._memory.run(batches, lambda pieces: self._gradients(pieces, weights, step=step), step=step)
        self._world.sum_gradients(self._trained)
        norm = self._clipped_norm()
        if self._scale.is_overflow(norm):
            return self._result(batches, total, 0.0)  # nothing is changed by this step
        result = self._result(batches, total, norm)
        if is_bad(result, loss_limit=self._loss_limit):
            # Before the update: every rank sees the same sums, so all of them turn back here together.
            rows = self._world.gather([int(row) for batch in batches for row in batch.get("row", ())])
            raise BadStep(step + 1, result, [row for share in rows for row in share])
        self.optimizer.step()
        self._average()
        return result

    def infer(self, batch: "Batch") -> "Array":
        """Return what the head keeps of the answers to a batch, in float32."""
        return Inference(self.network, self._precision, self._head).infer(batch)

    @property
    def learning_rate(self) -> float:
        """The rate of the last step (of the fastest group)."""
        return float(max(group["lr"] for group in self.optimizer.param_groups))

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Put the averaged weights in place for a while; without averaging, change nothing."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def average_tensors(self) -> list[Tensor]:
        """Return the averaged weights, in the order of the trained parameters."""
        return self._averages

    def numbers(self) -> dict[str, Any]:
        """Return what else changes while learning, as JSON values."""
        return self._scale.state()

    def take_numbers(self, numbers: Mapping[str, Any]) -> None:
        """Put such values back."""
        self._scale.restore(numbers)

    def _weights(self, batch: "Batch") -> list[float]:
        given = {name: batch[name] for name in self._losses.entries if name in batch}
        return self._losses.weights(self._precision.tensors(given))

    def _gradients(self, batches: Sequence["Batch"], weights: Sequence[float], *, step: int) -> float:
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for number, batch in enumerate(batches):
            self._seed_dropout(step, number)
            with fitting(batch):
                total += self._backward(self._precision.tensors(batch), weights)
        return total

    def _backward(self, batch: Mapping[str, Tensor], weights: Sequence[float]) -> float:
        with self._precision.scope():
            outputs = self.network(inputs_of(batch))
        loss = self._losses.total(outputs, batch, weights=weights)
        self._scale.lifted(loss).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return float(loss.detach())

    def _set_rates(self, factor: float) -> None:
        for group, base in zip(self.optimizer.param_groups, self._base_rates, strict=True):
            group["lr"] = base * factor

    def _seed_dropout(self, step: int, micro: int) -> None:
        # Dropout is a pure function of (seed, step, micro-batch, rank): nothing to save, nothing to lose in a crash.
        words = np.random.SeedSequence([self._seed, step, micro, self._world.rank]).generate_state(2, np.uint64)
        # torch.manual_seed would also note for each kind of accelerator who called it: a third of a millisecond a step.
        seed_all = torch.default_generator.manual_seed if self._precision.device.type == "cpu" else torch.manual_seed
        seed_all(int(words[0] >> np.uint64(1)))

    def _clipped_norm(self) -> float:
        gradients = [parameter.grad for parameter in self._trained if parameter.grad is not None]
        self._scale.lower(gradients)
        norm = nn.utils.get_total_norm(gradients)
        # A gradient within the limit is left alone: a pass over all of it to multiply by one is not free.
        if self._clip is not None and not float(norm) <= self._clip:
            nn.utils.clip_grads_with_norm_(self._trained, self._clip, norm)
        return float(norm)

    @torch.no_grad()
    def _average(self) -> None:
        if self._decay is not None:
            torch._foreach_lerp_(self._averages, [p.detach() for p in self._trained], 1 - self._decay)

    @torch.no_grad()
    def _swap(self) -> None:
        for average, parameter in zip(self._averages, self._trained, strict=False):
            held = parameter.detach().clone()
            parameter.copy_(average)
            average.copy_(held)

    def _result(self, batches: Sequence["Batch"], loss: float, norm: float) -> StepResult:
        examples = sum(len(batch[_LABEL]) for batch in batches)
        tokens = sum(int(batch["attention_mask"].sum()) for batch in batches if "attention_mask" in batch)
        loss, examples_sum, tokens_sum = self._world.sum([loss, float(examples), float(tokens)])
        return StepResult(loss=loss, gradient_norm=norm, examples=int(examples_sum), tokens=int(tokens_sum))
