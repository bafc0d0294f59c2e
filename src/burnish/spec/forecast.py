"""What a run will come to, told before it starts."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """What a few steps on this machine took."""

    step_seconds: float
    """The mean over batches as long and as short as those of an epoch."""
    evaluation_seconds: Mapping[str, float]
    """For each split but train, one pass over it."""
    start_seconds: float = 0.0
    """From the start of the process to the first step: imports, reading the data, building the model."""
    finish_seconds: float | None = None
    """After the last step: final scores, baselines, artifact; None if there are so many rows that nobody waited."""

    def total_seconds(self, steps: int, evaluations: int) -> float:
        """Sum up a run, from its start to its end."""
        passes = self.evaluation_seconds
        finish = sum(passes.values()) if self.finish_seconds is None else self.finish_seconds
        return self.start_seconds + steps * self.step_seconds + evaluations * passes["validation"] + finish


@dataclass(frozen=True)
class Footprint:
    """What a run takes of the machine, and what the machine has."""

    memory_bytes: int
    """The most that the training process holds at once."""
    memory_limit: int | None
    checkpoint_bytes: int
    disk_bytes: int
    """All checkpoints that are kept, one being written, and the artifact."""
    disk_free: int


@dataclass(frozen=True)
class Forecast:
    """How large, how long and how fast a run will be."""

    facts: Mapping[str, object]
    """Rows a split, texts cut, tokens dropped, padding, parameters: as the run itself will tell them."""
    tokens_per_epoch: int
    steps: int
    evaluations: int
    timing: Timing
    footprint: Footprint
    seconds: float
    """From the start to the end: training, every evaluation, the final scores, baselines and the artifact."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Say what cannot fit on this machine, and what would."""
        need, problems = self.footprint, []
        if need.memory_limit is not None and need.memory_bytes > need.memory_limit:
            problems.append(
                f"training takes {size(need.memory_bytes)} of memory and this machine has {size(need.memory_limit)}; "
                "raise train.accumulate, lower task.max_length or use a smaller model"
            )
        if need.disk_bytes > need.disk_free:
            problems.append(
                f"checkpoints and the artifact take {size(need.disk_bytes)} and the disk has {size(need.disk_free)} "
                "free; keep fewer with train.keep, or train into a folder on another disk (--dir)"
            )
        return tuple(problems)


def size(num_bytes: float) -> str:
    """Write a number of bytes: `640 MB`, `1.9 GB`."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if num_bytes >= scale:
            amount = num_bytes / scale
            return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"
    return f"{num_bytes / 1e3:.0f} kB"
