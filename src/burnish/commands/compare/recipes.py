"""Finds the runs that differ in nothing but their seed: several tries of one recipe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from burnish.config import load
from burnish.run.record.directory import RunDirectory
from burnish.spec.experiment import Experiment
from burnish.spec.values import Score


@dataclass(frozen=True)
class RunRecipe:
    """Runs of one experiment, each with a seed of its own."""

    name: str
    runs: tuple[RunDirectory, ...]


def find_recipes(runs: Mapping[str, RunDirectory], *, trust_code: bool = False) -> list[RunRecipe]:
    """Sort runs by their recipes, in the order in which they are named; each for itself, if all are of one.

    A second run with the same seed is no further try, and stands for itself.
    """
    found: list[tuple[Experiment, dict[int, str]]] = []
    for name, run in runs.items():
        experiment = load(str(run.plan), trust_code=trust_code).experiment
        recipe, seed = _drop_seed(experiment), experiment.runtime.seed
        tries = next((tries for known, tries in found if known == recipe and seed not in tries), None)
        if tries is None:
            found.append((recipe, {seed: name}))
        else:
            tries[seed] = name
    groups = [[*tries.values()] for _, tries in found] if len(found) > 1 else [[name] for name in runs]
    short = [_name_together(names) for names in groups]
    whole = short if len(set(short)) == len(short) else [", ".join(names) for names in groups]
    return [RunRecipe(name, tuple(runs[each] for each in names)) for name, names in zip(whole, groups, strict=True)]


def average_seeds(scores: Sequence[Score | None]) -> Score | None:
    """Average several seeds, from the least to the most; of one its own, and none if one has none."""
    known = [score for score in scores if score is not None]
    if len(known) < len(scores) or len(known) < 2:
        return known[0] if len(known) == len(scores) else None
    values = [score.value for score in known]
    return Score(fmean(values), min(values), max(values))


def _drop_seed(experiment: Experiment) -> Experiment:
    return experiment.model_copy(update={"runtime": experiment.runtime.model_copy(update={"seed": 0})})


def _name_together(names: Sequence[str]) -> str:
    first, *others = names
    if not others:
        return first
    length = next(cut for cut in range(len(first), -1, -1) if all(name.startswith(first[:cut]) for name in others))
    return f"{first[:length].rstrip('-_./ ') or first} ({len(names)} seeds)"
