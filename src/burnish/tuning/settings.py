"""The section `tune`: what a study searches, how, for how long, and from where; checked before the first trial."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, SkipValidation

from burnish.config import LoadedSection, Origin, Resolved
from burnish.config.layering import make_node
from burnish.config.nodes import Branch, Leaf, write_path
from burnish.config.render import NOT_LEARNED, document, leaves, write_value
from burnish.errors import ConfigError, Problem
from burnish.run.check import explain_unused
from burnish.spec.component import Component, Slot
from burnish.spec.experiment import Experiment
from burnish.spec.search import Searcher
from burnish.tuning.goal import Goal, read_goal
from burnish.tuning.space import RangeParameter, Settled, Space, SpaceNode, read_space

SECTION = "tune"
_USUAL_TRIALS = 20
_ENDLESS = 10_000
"""Where only the clock limits a study."""
_REACH = 3
_NO_STARTS = "this searcher chooses every point itself; leave it out, or take another searcher"


class TuneSettings(Component):
    """How the options of an experiment are searched."""

    metric: str | None = None
    """A score and its split, like `validation/f1` or `validation/loss`; by default the one that selects checkpoints."""
    searcher: Annotated[SkipValidation[Searcher], Slot("searchers", default="tpe")]
    trials: PositiveInt | None = None
    """How many; by default 20, or as many as `minutes` allow."""
    parallel: PositiveInt = 1
    """How many trials train at once, each on its share of the cores."""
    minutes: PositiveFloat | None = None
    """No trial begins after this, and those that train are stopped, unless none has come to its end yet."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    max_failed_trials: NonNegativeInt = 5
    """A failed trial counts as the worst and is replaced; one more than this ends the study."""
    start_from: tuple[str, ...] = ()
    """Runs and studies whose options the first trials take."""
    refit: bool = False
    """In the end, train with the best options on the training and validation rows together."""
    space: Mapping[str, Any] = {}
    """Options and what they may be; by default what suits the task and the model."""

    @property
    def num_trials(self) -> int:
        """How many trials are wanted."""
        return self.trials or (_ENDLESS if self.is_endless else _USUAL_TRIALS)

    @property
    def seconds(self) -> float:
        """How many seconds all slots have together before time is up."""
        return math.inf if self.minutes is None else self.minutes * 60 * self.parallel

    @property
    def is_endless(self) -> bool:
        """Whether only the clock ends the study."""
        return self.trials is None and self.minutes is not None


def settle_space(
    tree: Branch, experiment: Experiment, *, plan: Callable[[Settled], Resolved]
) -> tuple[Space, list[Problem]]:
    """Read the space that was written, or else the default one of task and model, as far as the experiment takes it."""
    node = tree.nodes.get("space")
    if isinstance(node, Branch) and node.nodes:
        return read_space(node)
    usual = {**experiment.task.search_space, **experiment.model.search_space}
    origin = Origin("the default space")
    space, _ = read_space(Branch({key: make_node(value, origin) for key, value in usual.items()}, origin))
    written = describe_experiment(experiment)
    options = {name: _reach(node, written.get(name, "")) for name, node in space.options.items()}
    taken = {
        name: each
        for name, each in options.items()
        if _is_taken(Space({name: each}), plan) and explain_unused(experiment, name) is None
    }
    lacking = Problem("tune.space is empty, and neither task nor model has a default; name the options to search")
    return Space(taken), [] if taken else [lacking]


def _reach(node: SpaceNode, written: str) -> SpaceNode:
    """Widen a range on a logarithmic scale to both sides of a value beyond it, which somebody wrote for a reason."""
    try:
        value = float(written)
    except ValueError:
        return node
    if not isinstance(node, RangeParameter) or node.kind != "log" or value <= 0 or node.low <= value <= node.high:
        return node
    return replace(node, low=min(node.low, value / _REACH), high=max(node.high, value * _REACH))


def _is_taken(space: Space, plan: Callable[[Settled], Resolved]) -> bool:
    try:
        return all(plan(probe) for probe in space.probes())
    except ConfigError:
        return False


def check_search(
    section: LoadedSection[TuneSettings], space: Space, *, base: Experiment, plan: Callable[[Settled], Resolved]
) -> tuple[Goal, list[Problem]]:
    """Hold space, searcher and metric against the experiment, and list every problem."""
    metric = section.tree.nodes.get("metric")
    goal, wrong = read_goal(metric.value if isinstance(metric, Leaf) else None, base)
    problems = [Problem(wrong, metric.origin.lines() if metric else ())] if wrong else []
    if section.value and section.value.start_from and not section.value.searcher.takes_starts:
        written = section.tree.nodes["start_from"]
        problems.append(Problem(f"tune.start_from: {_NO_STARTS}", written.origin.lines()))
    origins = {each.name: each.origin for each in space.parameters()}
    for name, sentence in section.value.searcher.problems(space).items() if section.value else ():
        problems.append(Problem(f"tune.space.{name} {sentence}", origins[name].lines()))
    reasons: dict[str, list[str | None]] = {}
    for probe in space.probes():
        try:
            experiment = plan(probe).experiment
        except ConfigError as error:
            problems += [each for each in error.problems if each not in problems]
            continue
        for name in probe.point:
            reasons.setdefault(name, []).append(explain_unused(experiment, _option_of(name)))
    for name, found in reasons.items():
        if all(found):
            sentence = f"tune.space.{name} has no effect: {found[0]}; leave it out, so that no two trials are the same"
            problems.append(Problem(sentence, origins[name].lines()))
    return goal, problems


def _option_of(parameter: str) -> str:
    """Name the option that a parameter sets, also one that stands under a choice: `optimizer[1].momentum`."""
    return re.sub(r"\[\d+\]", "", parameter)


def describe_experiment(experiment: Experiment) -> dict[str, str]:
    """Write every option that is learned from, for the record of a study."""
    written = ((write_path(path), write_value(value)) for path, value in leaves(document(experiment)))
    return {path: value for path, value in written if not path.startswith(NOT_LEARNED)}
