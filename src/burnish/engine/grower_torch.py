"""Grows a model by rounds over the whole table, one round a step, behind the face of a learner with its batches."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Any, Protocol, cast

from torch import Tensor, nn

from burnish.engine.infer_torch import Autocast, Inference
from burnish.engine.state import StepOutput
from burnish.spec.values import Array, Batch, StepResult


class Grows(Protocol):
    """What a network must be able to do to be grown."""

    def begin(self, rows: Callable[[str], "Batch"], *, seed: int) -> None:
        """Take the rows of the splits that it learns from, by their names."""
        ...

    def grow(self) -> float:
        """Grow by one round and give the loss."""
        ...


class NoOptimizer:
    """Hold nothing: rounds need no optimizer."""

    def state_dict(self) -> dict[str, Any]:
        """Return nothing to save."""
        return {"state": {}, "param_groups": []}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take nothing over."""


class BoostingLearner:
    """A network that grows: the trainee and the learner of a run at once."""

    def __init__(
        self,
        network: nn.Module,
        rows: Callable[[str], "Batch"],
        *,
        num_rows: int,
        seed: int,
        precision: Autocast,
        learning_rate: float,
    ) -> None:
        self.network = network
        self.optimizer = NoOptimizer()
        self.learning_rate = learning_rate
        self._rows = rows
        self._num_rows = num_rows
        self._seed = seed
        self._precision = precision
        self._rounds = 0
        self._has_begun = False

    def advance(self, step: int, factor: float) -> StepOutput:
        """Grow by one round; the training rows are read before the first one."""
        began = monotonic()
        forest = cast(Grows, self.network)
        if not self._has_begun:
            forest.begin(self._rows, seed=self._seed)
            self._has_begun = True
        result = StepResult(loss=forest.grow(), gradient_norm=0.0, examples=self._num_rows, tokens=0)
        self._rounds = step + 1
        return StepOutput(result, epochs=step + 1.0, global_examples=self._num_rows, seconds=monotonic() - began)

    def cursor(self) -> dict[str, int]:
        """Find the rounds done: each sees all rows once."""
        return {"epoch": self._rounds, "batch": 0}

    def infer(self, batch: "Batch") -> "Array":
        """Return the logits of a batch, in float32."""
        return Inference(self.network, self._precision).infer(batch)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Change nothing: rounds are not averaged."""
        yield

    def average_tensors(self) -> list[Tensor]:
        """Return none."""
        return []

    def numbers(self) -> dict[str, Any]:
        """Return none."""
        return {}

    def take_numbers(self, numbers: Mapping[str, Any]) -> None:
        """Need none."""

    def close(self) -> None:
        """Hold nothing to let go of."""
