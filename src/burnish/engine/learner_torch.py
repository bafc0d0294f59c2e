"""Takes optimizer steps and makes predictions with a torch network; owns everything that training changes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from burnish.dist.world import Solo, World
from burnish.engine.infer_torch import Autocast, Inference, inputs_of
from burnish.engine.loss_scale_torch import LossScale
from burnish.engine.losses_torch import Losses, OwnLosses
from burnish.engine.memory_torch import Memory, fitting
from burnish.engine.recovery import BadStep, is_bad
from burnish.spec.experiment import Ema
from burnish.spec.noise import Noise, drawing
from burnish.spec.own_loss import OwnLoss
from burnish.spec.values import EXAMPLE, Array, Batch, HeadSpec, Objective, StepResult

_LABEL = "label"


def drops(network: nn.Module) -> bool:
    """Check whether a network has dropout."""
    return any(each.p > 0 for each in network.modules() if isinstance(each, nn.Dropout))


@dataclass(frozen=True)
class Clipping:
    """How gradients are bounded: first every number, then the norm of each tensor, then that of all together."""

    norm: float | None = 1.0
    tensor_norm: float | None = None
    value: float | None = None

    def apply(self, parameters: Sequence[nn.Parameter], norm: Tensor) -> None:
        """Bound the gradients in place; `norm` is that of all as they are."""
        if self.value is not None:
            nn.utils.clip_grad_value_(parameters, self.value)
        if self.tensor_norm is not None:
            for parameter in parameters:
                nn.utils.clip_grad_norm_(parameter, self.tensor_norm)
        if self.norm is None:
            return
        if self.value is not None or self.tensor_norm is not None:
            norm = nn.utils.get_total_norm([each.grad for each in parameters if each.grad is not None])
        # A gradient within the limit is left alone: a pass over all of it to multiply by one is not free.
        if not float(norm) <= self.norm:
            nn.utils.clip_grads_with_norm_(parameters, self.norm, norm)


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
        clip: Clipping | None = None,
        ema: Ema | None = None,
        world: World | None = None,
        memory: Memory | None = None,
        loss_limit: float | None = None,
        own_loss: OwnLoss | None = None,
    ) -> None:
        # Whoever loads weights leaves a network set to answering, and what holds it does not show that.
        self.network = network.to(precision.device).train()
        self.optimizer = optimizer
        self._precision = precision
        self._head = head if isinstance(head, HeadSpec) else HeadSpec("any", 1, head)
        parts = tuple(self._head.parts.values())
        self._losses = Losses(self._head.objective, self._head.terms, precision.device, parts=parts)
        if own_loss is not None:
            self._losses = OwnLosses(own_loss)
        self._scale = LossScale(is_used=precision.name == "fp16")
        self._seed = seed
        self._clip = clip or Clipping()
        self._world: World = world or Solo()
        self._sums = self._world.gradients(network)
        self._memory = memory or Memory(world=world)
        self._loss_limit = loss_limit
        self._base_rates = [group["lr"] for group in optimizer.param_groups]
        self._trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self._ema = ema
        self._averages = [p.detach().clone() for p in self._trained] if ema is not None else []

    def step(self, batches: Sequence["Batch"], *, step: int, factor: float) -> StepResult:
        """Learn from one global batch, cut into micro-batches; `step` counts from 0."""
        if not self.network.training:  # a walk through all of its modules costs as much as a small layer
            self.network.train()
        for group, base in zip(self.optimizer.param_groups, self._base_rates, strict=True):
            group["lr"] = base * factor
        weights = self._world.sum(self._losses.added(map(self._weights, batches)))
        if not any(weights):
            # Rows of weight 0, or texts with nothing to guess. Every rank sees the same sums: all of them leave here.
            return replace(self._result(batches, 0.0, 0.0), is_empty=True)
        total, share = self._memory.run(
            batches,
            lambda pieces: self._gradients(pieces, weights, step=step),
            step=step,
            give_up=self._sums.give_up,
        )
        self._sums.finish()
        if isinstance(self._losses, OwnLosses):
            share = self._world.sum([share])[0]
            if not share:
                return replace(self._result(batches, 0.0, 0.0), is_empty=True)
            total /= share
            torch._foreach_div_([each.grad for each in self._trained if each.grad is not None], share)
        norm = self._clipped_norm()
        if self._scale.is_overflow(norm):
            return self._result(batches, total, 0.0)  # nothing is changed by this step
        result = self._result(batches, total, norm)
        if is_bad(result, loss_limit=self._loss_limit):
            # Before the update: every rank sees the same sums, so all of them turn back here together.
            rows = self._world.gather([int(row) for batch in batches for row in batch.get("row", ())])
            raise BadStep(step + 1, result, [row for share in rows for row in share])
        self.optimizer.step()
        self._average(step + 1)
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

    def _gradients(self, batches: Sequence["Batch"], weights: Sequence[float], *, step: int) -> tuple[float, float]:
        """Return the loss and, of a loss that tells its own weight, the share of the weight it was divided by."""
        self.optimizer.zero_grad(set_to_none=True)
        total = share = 0.0
        with fitting(batches[-1]) if batches else nullcontext(), self._sums.started() as begin:
            for number, batch in enumerate(batches):
                self._seed_others(step, number)
                if number == len(batches) - 1:
                    begin()
                noise = Noise(batch[EXAMPLE], seed=self._seed, step=step) if EXAMPLE in batch else None
                with fitting(batch), drawing(noise):
                    loss, weighed = self._backward(self._precision.tensors(batch), weights)
                total, share = total + loss, share + weighed
        return total, share

    def _backward(self, batch: Mapping[str, Tensor], weights: Sequence[float]) -> tuple[float, float]:
        with self._precision.scope():
            outputs = self.network(inputs_of(batch))
        loss, weighed = self._losses.measured(outputs, batch, weights=weights)
        self._scale.lifted(loss).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return float(loss.detach()), weighed

    def _seed_others(self, step: int, micro: int) -> None:
        # Of whatever else draws, on a GPU for one. A pure function of (seed, step, micro-batch, rank): nothing to save.
        words = np.random.SeedSequence([self._seed, step, micro, self._world.rank]).generate_state(2, np.uint64)
        # torch.manual_seed would also note for each kind of accelerator who called it: a third of a millisecond a step.
        seed_all = torch.default_generator.manual_seed if self._precision.device.type == "cpu" else torch.manual_seed
        seed_all(int(words[0] >> np.uint64(1)))

    def _clipped_norm(self) -> float:
        """Clip the gradients, and give the norm that they had before."""
        gradients = [parameter.grad for parameter in self._trained if parameter.grad is not None]
        self._scale.lower(gradients)
        norm = nn.utils.get_total_norm(gradients)
        self._clip.apply(self._trained, norm)
        return float(norm)

    @torch.no_grad()
    def _average(self, num_steps: int) -> None:
        if self._ema is not None:
            share = 1 - self._ema.decay_after(num_steps)
            torch._foreach_lerp_(self._averages, [p.detach() for p in self._trained], share)

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
