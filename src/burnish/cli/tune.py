"""`burnish tune`: search the options of an experiment, with a line for each trial that ends."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from burnish.cli.console import console_for
from burnish.cli.figures import duration
from burnish.cli.options import Asked, Json, Quiet, TrustCode, argument, option
from burnish.cli.tables import TextTable
from burnish.cli.verb import Lines, Reply, verb
from burnish.cli.wrapping import say

if TYPE_CHECKING:
    from burnish.commands.tune import TrialRow, TuneResult
    from burnish.config import Given
    from burnish.tuning.preview import SearchPreview
    from burnish.tuning.record import EndedLeg, StudyRecord

_MOST_ROWS = 10
_WHY = {"deadline": "until time was up", "stopped": "until it was stopped"}


@dataclass(frozen=True)
class Searched(Asked):
    """The experiment that is searched, which the config of another tool may give too."""

    experiment: Annotated[
        str | None,
        argument(
            "EXPERIMENT", "A named experiment (see `burnish list experiments`) or a YAML file; --from may give it."
        ),
    ] = None  # type: ignore[assignment]  # an argument without a value
    foreign: Annotated[
        Path | None,
        option(
            "--from FILE",
            "An hptuning_config.yaml of Google's service or Determined's experiment, over the experiment.",
        ),
    ] = None

    def read(self) -> "tuple[str | Given, dict[str, Any], Sequence[str]]":
        """Give the experiment, the layers over it, and a note on each line of the foreign config that is left out."""
        from burnish.config import Given

        if self.foreign is None:
            if self.experiment is None:
                raise typer.BadParameter("name an experiment or a YAML file, or the config of another tool with --from")
            return self.experiment, self.layers, ()
        from burnish.commands.imports.files import read_layers

        imported, left = read_layers(self.foreign)
        words = [self.experiment] if self.experiment and "=" in self.experiment else []
        experiment = Given(self.foreign.stem, ()) if words or not self.experiment else self.experiment
        return experiment, {**self.layers, "overrides": [*imported, *words, *self.layers["overrides"]]}, left


@verb("tune", short_help="Search the options of an experiment.", leaves={"--dir": "outputs/study"})
def tune(
    asked: Searched,
    *,
    directory: Annotated[Path | None, option("--dir DIR", "Where the study goes; default: studies/<name>.")] = None,
    trials: Annotated[int | None, option("--trials N", "How many trials; over tune.trials.", min=1)] = None,
    minutes: Annotated[float | None, option("--minutes N", "How long at most; over tune.minutes.", min=0.0)] = None,
    parallel: Annotated[int | None, option("--parallel N", "How many trials train at once.", min=1)] = None,
    start_from: Annotated[
        list[str] | None, option("--start-from DIR", "A run or study whose options are tried first; repeatable.")
    ] = None,
    is_refitted: Annotated[
        bool, option("--refit", "In the end, train the best options on training and validation rows together.")
    ] = False,
    is_preview: Annotated[bool, option("--preview", "Show trials, rungs, time and memory; train nothing.")] = False,
    trust_code: TrustCode = False,
    is_json: Json = False,
    is_quiet: Quiet = False,
) -> Reply:
    """Search the options of an experiment. If the directory already holds the study, resume it."""
    from burnish.commands.tune import prepare_search, preview
    from burnish.commands.tune import tune as command
    from burnish.run.record.ending import PREEMPTED

    stated = {"trials": trials, "minutes": minutes, "parallel": parallel, "start_from": start_from or None}
    settings = {name: value for name, value in stated.items() if value is not None}
    settings |= {"refit": True} if is_refitted else {}
    experiment, layers, notes = asked.read()
    search = prepare_search(experiment, **layers, directory=directory, settings=settings, trust_code=trust_code)
    is_silent = is_quiet or is_json
    if is_preview:
        with console_for(is_quiet=is_silent) as console:
            found = preview(search, watch=console.watch)
        return Reply(found, preview_lines(found), notes=notes)
    with console_for(is_quiet=is_silent) as console:
        result = command(search, watch=console.watch, tell=telling(is_silent=is_silent))
    code = PREEMPTED if result.ending == "stopped" else 0
    return Reply(result, study_lines(result), code, notes=notes)


def telling(*, is_silent: bool) -> "Callable[[StudyRecord, EndedLeg, float], None]":
    """Write a line to standard error for each leg that ends: its score, the best so far, and how long it may take."""

    def tell(record: "StudyRecord", ended: "EndedLeg", seconds_left: float) -> None:
        if is_silent:
            return
        best = record.best
        score = "" if ended.score is None else f" {ended.score:.4f}"
        why = f": {ended.why.splitlines()[0]}" if ended.why else ""
        after = f" after {len(ended.curve)} evaluations" if ended.state in ("paused", "pruned") else ""
        leader = "" if best is None else f" · best {best.score:.4f} by trial {best.trial}"
        left = f" · about {duration(seconds_left)} left" if math.isfinite(seconds_left) else ""
        say(f"trial {ended.trial:>3} {ended.state}{score}{after}{why}{leader}{left}")

    return tell


def study_lines(result: "TuneResult") -> Lines:
    """Show the leaders of a study, and where its model is."""
    sign = 1 if result.is_lower_better else -1
    scored = [row for row in result.trials if row.score is not None]
    ranked = sorted(scored, key=lambda row: (row.state != "finished", sign * (row.score or 0.0), row.number))
    names = list(dict.fromkeys(name for row in result.trials for name in row.values))
    columns = ("trial", result.metric, "95% interval", "state", *names)
    rows = tuple(_row(row, names) for row in ranked[:_MOST_ROWS])
    yield TextTable(columns, rows, right=("trial", result.metric))
    failed = sum(row.state == "failed" for row in result.trials)
    words = f"{len(result.trials)} trials in {duration(result.seconds)}" + (f", {failed} failed" if failed else "")
    yield words if result.ending == "finished" else f"{words}, {_WHY[result.ending]}; the same command resumes it"
    if result.best_run is not None:
        yield f"best      {result.best_run}"
        yield f"report    {result.report}"
        yield f"use it    burnish predict {result.directory} new.csv --out predictions.csv"


def preview_lines(found: "SearchPreview") -> Lines:
    """Say what a study would take."""
    from burnish.spec.forecast import size

    yield f"searcher    {found.searcher} over {', '.join(found.parameters)}"
    yield f"trials      {found.trials}" + (" before time is up" if found.is_cut else "")
    for rung in found.rungs if len(found.rungs) > 1 else ():
        yield f"  to evaluation {rung['evaluations']}: {rung['trials']} trials"
    epochs = found.trial.facts.get("batches_per_epoch")
    per_trial = found.trial.steps / epochs if isinstance(epochs, int) and epochs else None
    if per_trial:
        yield f"epochs      about {per_trial * found.total_evaluations / found.evaluations:,.1f} in all"
    yield f"evaluations {found.total_evaluations:,} in all, {found.evaluations} in a whole trial"
    yield f"time        about {duration(found.minutes * 60)}"
    yield f"memory      {size(found.memory_bytes)}"


def _row(row: "TrialRow", names: list[str]) -> tuple[str, ...]:
    from burnish.report.figures import show_option

    interval = "" if row.low is None or row.high is None else f"{row.low:.4f} to {row.high:.4f}"
    return (
        str(row.number),
        f"{row.score:.4f}",
        interval,
        row.state,
        *(show_option(row.values.get(name, "")) for name in names),
    )
