"""The root value: what is learned. Where it runs is a Job's business."""

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, SkipValidation, field_validator, model_validator

from burnish.spec.component import Component, Slot
from burnish.spec.interval import NEVER, Interval
from burnish.spec.news import Notifier
from burnish.spec.own_loss import OwnLoss
from burnish.spec.protocols import (
    Architecture,
    DataSource,
    Metric,
    Optimizer,
    Schedule,
    Task,
    Tracker,
)

_STEPS_OF_AN_EPOCH = 16
_FEWEST_STEPS = 200
_FEWEST_EPOCHS, _MOST_EPOCHS = 3, 30


class Batching(Component):
    """How many examples, or tokens, go into one optimizer step."""

    shorthand = "examples"
    yields: ClassVar[Mapping[str, tuple[str, ...]]] = {"examples": ("tokens",)}

    examples: PositiveInt | Literal["auto"] | None = None
    """How many; `auto` takes 32 for texts and 256 for tables, or fewer, down to 8, for 16 steps an epoch."""
    tokens: PositiveInt | None = None
    group_by_length: bool = True
    """Batch examples of like length together, so that little is padding."""

    @model_validator(mode="after")
    def _one_of_two(self) -> "Batching":
        if self.examples is not None and self.tokens is not None:
            raise ValueError("takes `examples` or `tokens`, not both; null removes one")
        return self

    def settled(self, num_rows: int, *, most: int = 256) -> "Batching":
        """Put the number of examples into the place of `auto`: a power of two, no larger than suits the model."""
        if self.examples != "auto":
            return self
        share = max(1, num_rows // _STEPS_OF_AN_EPOCH)
        return self.model_copy(update={"examples": min(most, max(8, 1 << share.bit_length() - 1))})


class Ema(Component):
    """An exponential moving average of the weights, used for evaluation and the artifact."""

    shorthand = "decay"

    decay: Annotated[float, Field(gt=0, lt=1)] = 0.999
    start_step: NonNegativeInt = 0
    """Up to this step the average is the weights themselves."""
    dynamic: bool = False
    """Forget faster at first: after n steps the decay is (1 + n) / (10 + n), until that reaches `decay`."""

    def decay_after(self, num_steps: int) -> float:
        """Compute what the average keeps of itself after so many steps of the run."""
        if num_steps < self.start_step:
            return 0.0
        since = num_steps - self.start_step
        return min(self.decay, (1 + since) / (10 + since)) if self.dynamic else self.decay


class Select(Component):
    """Which checkpoint is best."""

    shorthand = "score"
    yields: ClassVar[Mapping[str, tuple[str, ...]]] = {"score": ("direction",)}

    score: str | None = None
    """A score's name, or `loss`: that of what training minimises, else the first metric; by default the first metric.

    `auto` is the first metric too, but `loss` where that is an accuracy over fewer than 1,000 validation rows.
    """
    direction: Literal["auto", "max", "min"] = "auto"


class Keep(Component):
    """Which checkpoints stay on disk; the best one always does."""

    shorthand = "last"

    last: PositiveInt = 1
    every: Interval = NEVER


class Recovery(Component):
    """What to do about a step whose loss or gradient is no number, or whose loss is over `loss_limit`.

    The update is never applied, and the run is put back to its newest checkpoint first.
    """

    shorthand = "action"

    action: Literal["skip", "lower", "stop"] = "skip"
    """Pass over the batch, lower the learning rate from the checkpoint on, or end the run with an error."""
    tries: NonNegativeInt = 3
    """How often in a run, before it ends with an error after all."""
    factor: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """What `lower` multiplies the learning rate by."""

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if self.action == "stop":
            yield f"{place}.tries", f"`{place}.action: stop` tries nothing"
        if self.action != "lower":
            yield f"{place}.factor", f"only `{place}.action: lower` multiplies by it"


class TrainPolicy(Component):
    """How long to train, and what happens on the way."""

    length: Interval | Literal["auto"] = Interval(3, "epochs")
    """How long; `auto` takes 3 epochs, or more, up to 30, where those would be less than 200 steps."""
    evaluate_every: Interval = Interval(1, "epochs")
    """When validation is scored; `never` scores it once, at the end, and its rows are held out all the same."""
    evaluate_at_start: bool = False
    """Also score the weights that the run starts from; they are never the best checkpoint."""
    evaluation_batch: Batching | None = None
    """How many examples, or tokens, are scored at once; by default what suits their lengths."""
    checkpoint_every: Interval = Interval(1, "epochs")
    batch: Batching = Batching()
    accumulate: PositiveInt = 1
    """Micro-batches that one optimizer step is cut into; changes memory, not the result."""
    recompute: bool = False
    """Compute activations again in the backward pass instead of keeping them: less memory, a third more time."""
    clip: PositiveFloat | None = 1.0
    """The largest gradient norm; null for none."""
    clip_tensor: PositiveFloat | None = None
    """The largest norm of the gradient of each tensor; null for none."""
    clip_value: PositiveFloat | None = None
    """The largest size of any number in a gradient; null for none."""
    loss: Annotated[SkipValidation[OwnLoss] | None, Slot("objectives")] = None
    """A loss of your own instead of the task's, by its address, like `my_module:MyLoss`."""
    ema: Ema | None = None
    select: Select = Select()
    patience: PositiveInt | None = None
    """Stop after this many evaluations without strict improvement."""
    keep: Keep = Keep()
    loss_limit: PositiveFloat | None = None
    """A loss above this is as bad as one that is no number; null for none."""
    recovery: Recovery = Recovery()
    disk_wait: Interval = Interval(60, "minutes")
    """How long a full disk is waited for when a checkpoint is due; `never` ends the run at once."""
    max_minutes: PositiveFloat | None = None
    """A deadline by the wall clock for this process; the run can be resumed after it."""

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if self.evaluate_every == NEVER:
            yield f"{place}.patience", f"with `{place}.evaluate_every: never`, validation is scored once, at the end"

    def length_for(self, epoch_steps: int) -> Interval:
        """Settle the length, where `auto` follows from the steps of an epoch."""
        if self.length != "auto":
            return self.length
        return Interval(min(_MOST_EPOCHS, max(_FEWEST_EPOCHS, math.ceil(_FEWEST_STEPS / epoch_steps))), "epochs")

    @field_validator("evaluation_batch")
    @classmethod
    def _is_a_number(cls, batch: Batching | None) -> Batching | None:
        if batch is not None and not isinstance(batch.examples or batch.tokens, int):
            raise ValueError("needs a number of `examples` or of `tokens`")
        return batch

    @field_validator("length")
    @classmethod
    def _ends(cls, length: Interval | str) -> Interval | str:
        if length == NEVER:
            raise ValueError('must end: give a number with a unit, like "3 epochs"')
        return length

    @field_validator("disk_wait")
    @classmethod
    def _by_the_clock(cls, wait: Interval) -> Interval:
        if wait.unit not in ("minutes", "never"):
            raise ValueError('must be in minutes, like "60 minutes", or `never`')
        return wait


class Runtime(Component):
    """What the numbers depend on apart from the experiment itself."""

    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """What products are computed in; by default fp32 for tables, else bf16 or fp16 where the device has it."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """CPU threads; by default the cores this process may use."""
    deterministic: bool = True
    profile: Interval | None = None
    """Measure so many steps with torch's profiler, like "10 steps"; the run directory gets `profile/`."""

    @field_validator("profile")
    @classmethod
    def _counted_in_steps(cls, profile: Interval | None) -> Interval | None:
        if profile is not None and profile.unit != "steps":
            raise ValueError('must be in steps, like "10 steps"')
        return profile


class Experiment(Component):
    """What is learned, from which data, by which model, and how."""

    name: str = "experiment"
    description: str = ""
    task: Annotated[SkipValidation[Task], Slot("tasks")]
    data: Annotated[SkipValidation[DataSource], Slot("data", default="files")]
    model: Annotated[SkipValidation[Architecture], Slot("models", default="transformer")]
    optimizer: Annotated[SkipValidation[Optimizer], Slot("optimizers", default="adamw")]
    schedule: Annotated[SkipValidation[Schedule], Slot("schedules", default="linear")]
    train: TrainPolicy = TrainPolicy()
    runtime: Runtime = Runtime()
    metrics: Annotated[tuple[SkipValidation[Metric], ...] | None, Slot("metrics")] = None
    """Scores to report; by default those of the task."""
    track: Annotated[tuple[SkipValidation[Tracker], ...], Slot("trackers")] = ()
    """Trackers in addition to the console and events.jsonl, like `tensorboard`."""
    notify: Annotated[tuple[SkipValidation[Notifier], ...], Slot("notifiers")] = ()
    """Who is told of its end, a failure or a new best, like `slack`."""

    @property
    def settled_runtime(self) -> Runtime:
        """The runtime with the task's own choice of precision, where neither is it stated nor left to the device."""
        if self.runtime.precision != "auto" or self.task.auto_precision is None:
            return self.runtime
        return self.runtime.model_copy(update={"precision": self.task.auto_precision})
