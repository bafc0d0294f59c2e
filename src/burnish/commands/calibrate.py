"""Times the ways of doing the same work on this machine, and names the fastest as options that a plan can fix."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.config import Given
from burnish.config.nodes import Branch
from burnish.dist.world import available_cores
from burnish.spec.events import Event
from burnish.spec.experiment import Experiment

_MARGIN = 1.05
"""What another way must gain before it is taken: less than that is the weather."""

Measure = Callable[[Sequence[str]], float]


@dataclass(frozen=True)
class OpenOption:
    """An option that was left open, and values of equal meaning; the first is what happens anyway."""

    option: str
    values: tuple[str, ...]


def open_choices(experiment: Experiment, *, cores: int | None = None) -> list[OpenOption]:
    """List what an experiment leaves to the machine; what it states is not measured."""
    cores = available_cores() if cores is None else cores
    choices = []
    if getattr(experiment.model, "attention", None) == "auto":
        choices.append(OpenOption("model.attention", ("auto", "sdpa")))
    if experiment.runtime.threads is None and cores > 1:
        choices.append(OpenOption("runtime.threads", (str(cores), str(cores // 2))))
    return choices


def time_choices(choices: Sequence[OpenOption], measure: Measure) -> list[str]:
    """Time each choice with those before it settled, there and back, and write the overrides that fix all of them."""
    settled: list[str] = []
    for choice in choices:
        seconds: dict[str, float] = {}
        for value in (*choice.values, *reversed(choice.values)):
            took = measure([*settled, f"{choice.option}={value}"])
            seconds[value] = min(took, seconds.get(value, took))
        usual, fastest = choice.values[0], min(choice.values, key=seconds.__getitem__)
        taken = fastest if seconds[fastest] * _MARGIN < seconds[usual] else usual
        settled.append(f"{choice.option}={taken}")
    return settled


def read_choices(choices: Sequence[OpenOption], earlier: Experiment) -> list[str]:
    """Take what an earlier attempt of the same run settled: bits follow from it, so it is never measured twice."""
    values = {"model.attention": getattr(earlier.model, "attention", None), "runtime.threads": earlier.runtime.threads}
    stated = ((choice.option, values[choice.option]) for choice in choices)
    return [f"{option}={value}" for option, value in stated if value is not None]


def time_step(
    experiment: str | Path | Given,
    configs: Sequence[Path],
    overrides: Sequence[str | Branch],
    watch: Callable[[Event], None],
    tried: Sequence[str],
) -> float:
    """Measure the seconds of a training step with some overrides tried."""
    from burnish.commands.plan import plan

    options = [*overrides, *tried]
    return plan(experiment, configs=configs, overrides=options, is_steps_only=True, watch=watch).timing.step_seconds
