"""Several tasks at once: one encoder learns from all of them, and each has a head, labels and scores of its own."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt, SkipValidation, field_validator, model_validator

from burnish.spec.component import Component, Slot
from burnish.spec.experiment import Batching, TrainPolicy
from burnish.spec.parts import MEAN, SEVERAL, TASK_NAME, take_profile
from burnish.spec.protocols import Joint, Metric, Task
from burnish.spec.values import Array, HeadSpec, Objective, Profile
from burnish.tasks.options import TEXT, TEXT_SPACE

if TYPE_CHECKING:
    from burnish.data.batching.mixture import Mixed

Power = Annotated[float, Field(ge=0, le=1)]


class Sampling(Component):
    """How often each task comes: its share of an epoch's batches goes with the size of its set to some power."""

    shorthand = "kind"

    kind: Literal["proportional", "uniform", "annealed"] = "proportional"
    """Power 1: every row once an epoch; power 0: every task as often; from `start` to `end`, epoch by epoch."""
    start: Power = 1.0
    end: Power = 0.2
    epochs: PositiveInt | None = None
    """After how many epochs `end` is reached; by default with the last of the training."""

    @model_validator(mode="after")
    def _nothing_idle(self) -> "Sampling":
        options = {name: field.default for name, field in type(self).model_fields.items() if name != "kind"}
        idle = [f"`{name}`" for name, default in options.items() if getattr(self, name) != default]
        if idle and self.kind != "annealed":
            raise ValueError(f"has {' and '.join(idle)}, without effect on {self.kind}; they are for annealed")
        return self

    def power(self, epoch: int, *, num_epochs: int) -> float:
        """Return the power of an epoch, counted from 0."""
        if self.kind != "annealed":
            return 1.0 if self.kind == "proportional" else 0.0
        last = (self.epochs or num_epochs) - 1
        return self.start + (self.end - self.start) * (min(epoch, last) / last if last else 0.0)


class Multi(Component):
    """Multi-task learning: one encoder with a head per task; each batch comes from one task."""

    heads: ClassVar[tuple[str, ...]] = (SEVERAL,)
    defaults = TEXT
    search_space = TEXT_SPACE

    tasks: Annotated[Mapping[str, SkipValidation[Task]], Slot("tasks"), Field(min_length=1)]
    """Any ordinary task by a name of your choice; `data.sets` has its rows under the same name."""
    scores: Annotated[Mapping[str, tuple[SkipValidation[Metric], ...]], Slot("metrics")] = {}
    """Metrics of a task by its name; by default its own. The first counts in the mean."""
    sampling: Sampling = Sampling()
    weights: Mapping[str, PositiveFloat] = {}
    """What the loss of a task is multiplied by; 1 where none is named."""

    @field_validator("tasks")
    @classmethod
    def _named_well(cls, tasks: Mapping[str, Task]) -> Mapping[str, Task]:
        odd = [name for name in tasks if not TASK_NAME.fullmatch(name) or name == MEAN]
        if odd:
            raise ValueError(
                f"has a task called {', '.join(odd)}; a name begins with a letter, has only letters, digits, "
                f"_ and -, and is not {MEAN}, which is the score of all"
            )
        nested = [name for name, task in tasks.items() if isinstance(task, Joint)]
        if nested:
            raise ValueError(f"has several tasks in {', '.join(nested)}; put all of them side by side instead")
        return tasks

    @model_validator(mode="after")
    def _names_are_known(self) -> "Multi":
        known = ", ".join(self.tasks)
        for option in ("scores", "weights"):
            odd = [name for name in getattr(self, option) if name not in self.tasks]
            if odd:
                raise ValueError(f"has `{option}` for {', '.join(odd)}, and `tasks` are {known}")
        bare = [name for name, metrics in self.scores.items() if not metrics]
        if bare:
            raise ValueError(f"has no metric in `scores` for {', '.join(bare)}; leave it out for those of the task")
        return self

    def head(self, profile: Profile) -> HeadSpec:
        """Ask for the head of every task."""
        parts = {
            name: replace(task.head(take_profile(profile, name)), weight=self.weights.get(name, 1.0))
            for name, task in self.tasks.items()
        }
        return HeadSpec(SEVERAL, max(part.size for part in parts.values()), Objective("cross_entropy"), parts=parts)

    def power(self, epoch: int, *, num_epochs: int) -> float:
        """Say to which power the size of a set counts in its share of an epoch's batches."""
        return self.sampling.power(epoch, num_epochs=num_epochs)

    def mixture(self, lengths: Sequence[Array], batching: Batching, *, seed: int, policy: TrainPolicy) -> "Mixed":
        """Let the batches of the tasks take turns, each task with its share of an epoch."""
        from burnish.data.batching.mixture import Mixed

        num_examples = sum(map(len, lengths))

        def power(epoch: int) -> float:
            num_batches = mixed.num_batches
            length = policy.length_for(num_batches)
            of_one = {"epochs": 1, "steps": num_batches, "examples": num_examples, "minutes": math.inf}[length.unit]
            # The last may be cut short; by the clock nobody knows.
            num_epochs = max(1, math.ceil(length.amount / of_one - 1e-9))
            return self.power(epoch, num_epochs=num_epochs)

        mixed = Mixed(lengths, batching, seed=seed, power=power)
        return mixed
