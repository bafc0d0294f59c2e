"""The verbs as functions: train, resume, evaluate, plan, compare, new, load; over names, files, mappings and rows."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.api.frames import is_frame, store
from burnish.api.inputs import (
    as_experiment,
    as_layers,
    experiment_for_rows,
    find_caller,
    is_rows,
    refuse_options_of_rows,
)
from burnish.api.results import Compared, Planned, Run, Scored, Tuned
from burnish.artifact.locate import find_artifact
from burnish.cli.console import Console, PlainLines, console_for, counting
from burnish.cli.options import find_target
from burnish.cli.tune import telling
from burnish.commands.runs import compare as compare_runs
from burnish.config import Given, Origin
from burnish.launch.forks import forking
from burnish.run.record.directory import find_run
from burnish.run.record.result import RunResult
from burnish.spec.events import Noted
from burnish.storage.address import read_address

if TYPE_CHECKING:
    from burnish.api.model import Model
    from burnish.commands.new import NewConfig

Overrides = Mapping[str, Any] | Sequence[str] | str
Place = str | Path


def train(
    experiment: Any,
    overrides: Overrides = (),
    *,
    target: object = None,
    text: object = None,
    validation: Any = None,
    test: Any = None,
    dir: Place | None = None,
    replace: bool = False,
    processes: int | None = None,
    calibrate: bool = False,
    trust_code: bool = False,
    progress: bool = True,
) -> Run:
    """Train an experiment, or resume it where `dir` already holds it; give the run with its scores.

    The experiment is a name, a YAML file, a mapping of options or an `Experiment`. Rows do as well: a DataFrame, an
    Arrow table, a data set or a data file, with the column to predict as `target`; then the experiment is the one that
    `burnish new` proposes, and `validation` and `test` may be further rows. Overrides are a mapping like
    `{"train.length": "2 epochs"}`, or texts like `"train.length=2 epochs"`.
    """
    from burnish.commands.train import train as command

    origin = find_caller()
    of_rows = {"target": target, "text": text, "validation": validation, "test": test}
    with _console(is_shown=progress) as console, forking():
        result = command(
            _understood(experiment, of_rows, origin=origin, console=console),
            overrides=as_layers(overrides, origin=origin),
            directory=None if dir is None else Path(dir),
            replace=replace,
            processes=processes,
            is_calibrated=calibrate,
            trust_code=trust_code,
            watch=console.watch,
        )
    return Run(**vars(result))


def tune(
    experiment: Any,
    space: Mapping[str, Any] | None = None,
    overrides: Overrides = (),
    *,
    target: object = None,
    text: object = None,
    dir: Place | None = None,
    progress: bool = True,
    trust_code: bool = False,
    **settings: Any,
) -> Tuned:
    """Search the options of an experiment, or go on with the study in `dir`; give its trials and the best of them.

    `space` maps options to ranges and choices, like `{"train.batch": [16, 32]}`; without one, what suits task and model
    is searched. Settings are those of the section `tune`: trials, minutes, parallel, searcher, metric, seed, refit.
    """
    from burnish.commands.tune import prepare_search
    from burnish.commands.tune import tune as command

    origin = find_caller()
    asked = {**settings, **({} if space is None else {"space": space})}
    with _console(is_shown=progress) as console:
        search = prepare_search(
            _understood(experiment, {"target": target, "text": text}, origin=origin, console=console),
            overrides=as_layers(overrides, origin=origin),
            directory=None if dir is None else Path(dir),
            settings=asked,
            trust_code=trust_code,
        )
        return Tuned(**vars(command(search, watch=console.watch, tell=telling(is_silent=not progress))))


def plan(
    experiment: Any,
    overrides: Overrides = (),
    *,
    target: object = None,
    text: object = None,
    dir: Place | None = None,
    progress: bool = True,
) -> Planned:
    """Estimate what a run would take: rows, steps, time, memory and disk. Nothing is kept."""
    from burnish.commands.plan import plan as command

    origin = find_caller()
    with _console(is_shown=progress) as console:
        found = command(
            _understood(experiment, {"target": target, "text": text}, origin=origin, console=console),
            overrides=as_layers(overrides, origin=origin),
            directory=None if dir is None else Path(dir),
            watch=console.watch,
        )
    return Planned(**vars(found))


def resume(
    run: Place | RunResult,
    *,
    processes: int | None = None,
    accept_changed_data: bool = False,
    trust_code: bool = False,
    progress: bool = True,
) -> Run:
    """Resume an interrupted run; one that has ended is only read."""
    from burnish.commands.train import resume as command

    with _console(is_shown=progress) as console, forking():
        result = command(
            read_address(_place(run)) or find_run(_place(run)).path,
            processes=processes,
            accept_changed_data=accept_changed_data,
            trust_code=trust_code,
            watch=console.watch,
        )
    return Run(**vars(result))


def evaluate(
    run: Place | RunResult,
    rows: Any = None,
    *,
    split: str | None = None,
    task: str | None = None,
    trust_code: bool = False,
    progress: bool = True,
) -> Scored:
    """Score a run or an artifact on labelled rows, a file of them, or a split of its own data: by default test."""
    from burnish.commands.evaluate import evaluate as command

    data = None if rows is None else str(store(rows) if is_frame(rows) else rows)
    with counting("scoring", is_silent=not progress) as advance:
        found = command(
            find_target(_place(run)), split=split, data=data, task=task, trust_code=trust_code, progress=advance
        )
    return Scored(**vars(found))


def compare(*runs: Place | RunResult, split: str | None = None, trust_code: bool = False) -> Compared:
    """Compare runs: options that differ, scores with intervals, and a paired test."""
    return Compared(**vars(compare_runs([_place(run) for run in runs], split=split, trust_code=trust_code)))


def load(run: Place | RunResult, *, task: str | None = None, trust_code: bool = False) -> "Model":
    """Load the model of a run or an artifact, once for any number of predictions."""
    from burnish.api.model import Model
    from burnish.artifact.predictor import Predictor

    path = find_artifact(find_target(_place(run)))
    return Model(path, Predictor.load(path, task=task, trust_code=trust_code))


def new(
    rows: Any, *, target: object = None, text: object = None, out: Place | None = None, force: bool = False
) -> "NewConfig":
    """Look at rows or a data file, and write a commented experiment for them to a YAML file."""
    from burnish.commands.new import new as command

    label, words = (None if name is None else str(name) for name in (target, text))
    usual = Path(f"{label or 'experiment'}.yaml") if is_frame(rows) else None
    file = usual if out is None else Path(out)
    return command(store(rows) if is_frame(rows) else rows, out=file, text=words, label=label, force=force)


def _understood(experiment: Any, of_rows: Mapping[str, Any], *, origin: Origin, console: Console) -> Place | Given:
    if not is_rows(experiment):
        understood = as_experiment(experiment, origin=origin)
        refuse_options_of_rows(of_rows, origin=origin)
        return understood
    return experiment_for_rows(
        experiment,
        splits={name: of_rows[name] for name in ("validation", "test") if of_rows.get(name) is not None},
        target=of_rows["target"],
        text=of_rows["text"],
        origin=origin,
        tell=lambda sentence: console.watch(Noted(0, sentence)),
    )


def _place(run: Place | RunResult) -> str:
    return str(run.directory if isinstance(run, RunResult) else run)


def _console(*, is_shown: bool) -> Console:
    """Show progress as the command line does; a notebook shows what goes to standard error as if it were wrong."""
    is_notebook = "ipykernel" in sys.modules and not sys.stderr.isatty()
    return PlainLines(sys.stdout) if is_shown and is_notebook else console_for(is_quiet=not is_shown)
