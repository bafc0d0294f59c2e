"""What a user reads when a run is over: the score next to its baselines, where things are, what to try next."""

import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from burnish.cli.console import counting
from burnish.cli.figures import duration, figure, interval
from burnish.cli.tables import TextTable
from burnish.cli.verb import Lines, Reply
from burnish.run.record.directory import RunDirectory, read_json
from burnish.run.record.ending import COMPLETE
from burnish.run.record.result import RunResult, ScoreSheet, sheet_of
from burnish.spec.values import Score

STOPPED = 75
"""The exit code of a run that stopped before its end and can be resumed."""

_LONGER_TIMES = 3
_LATE = 0.75
"""The part of a run after which a best score says that the next one may be better still."""
_LOW_RATE = 1e-4
"""Below it, a run over few rows often learns too slowly."""
_LOWER_TIMES = 0.3
_LINEAR = ("logistic", "ridge", "log_linear")
_REMEDIES = {
    "boosted_trees": ("trees often are on small tables", "model=gbdt"),
    **dict.fromkeys(
        _LINEAR,
        # A rate that suits a network is too low for one layer.
        (
            "a linear model may be all that this table needs",
            "model=linear optimizer.type=adamw optimizer.learning_rate=auto",
        ),
    ),
}
"""For some baselines, why they are likely to be better and the overrides to try."""


def reply_with(result: RunResult, *, is_scored_again: bool = False, is_json: bool = False) -> Reply:
    """Answer with what a run came to; if asked, score it once more."""
    summary: dict[str, object] = {"event": "summary", **vars(result)}
    if not is_scored_again or result.reason not in COMPLETE:
        code = 0 if result.reason in COMPLETE else STOPPED
        return Reply(events=[summary], lines=summarise(result), code=code)
    from burnish.commands.evaluate import evaluate

    with counting("scoring", is_silent=is_json) as progress:
        found = evaluate(str(result.directory), progress=progress)
    events = [{"event": "evaluation", "split": found.split, "scores": found.scores}, summary]
    table = scores_table(found.scores, title=f"scored again on {found.split}")
    return Reply(events=events, lines=chain(summarise(result), ["", table]))


def summarise(result: RunResult) -> Lines:
    """Put the score next to its baselines, say where things are, and what to try next."""
    sheet = sheet_of(result)
    if sheet.judged is not None:
        yield headline_table(sheet)
        yield from ["", *_advise(result, sheet)]
    yield f"{describe_ending(result)}\n"
    yield from [*_list_places(result), "", *_suggest_commands(result)]


def _advise(result: RunResult, sheet: ScoreSheet) -> list[str]:
    """Say that a baseline is better, the likely reason, and what to type; nothing when none is."""
    name, judged = sheet.best_baseline, sheet.judged
    if name is None or judged is None or not math.isfinite(judged.value):
        return []
    rival = sheet.baselines[name][sheet.headline].value
    gap = (judged.value - rival) * (1 if sheet.is_lower_better else -1)
    if gap <= 0:
        return []
    from burnish.run.record.plan import numbered  # reads configs: not for `--help` to load

    free = next(path for path in numbered(result.directory) if not path.exists())
    other = shlex.quote(f"{result.address}-2" if result.address else str(free))
    plan = shlex.quote(str(RunDirectory(result.directory).plan))
    reason, overrides = _propose_longer(result) if _is_tried(name, result) else _REMEDIES[name]
    return [
        f"{name} is better by {figure(gap)} on {sheet.split}: {reason}. Try",
        f"  burnish train {plan} {overrides} --dir {other}",
        "",
    ]


def _is_tried(name: str, result: RunResult) -> bool:
    """Judge whether there is no model to change to, or the run is of that model already."""
    from burnish.models.tabular.models import Linear
    from burnish.run.record.plan import read_plan  # reads configs: not for `--help` to load

    run = RunDirectory(result.directory)
    return name not in _REMEDIES or (run.exists() and isinstance(read_plan(run).model, Linear) and name in _LINEAR)


def _propose_longer(result: RunResult) -> tuple[str, str]:
    """Propose to train for longer, if the best score came late; otherwise to learn more slowly."""
    from burnish.run.record.events_file import EventsFile
    from burnish.run.record.history import read_history
    from burnish.run.record.plan import read_plan  # reads configs: not for `--help` to load
    from burnish.spec.events import Started
    from burnish.spec.interval import Interval

    run = RunDirectory(result.directory)
    experiment = read_plan(run)
    stated, rate = experiment.train.length, experiment.optimizer.learning_rate
    if result.reason == "early_stopping":
        patience = experiment.train.patience or 1
        lower = "" if rate == "auto" else f" optimizer.learning_rate={rate * _LOWER_TIMES:g}"
        reason = f"this run stopped early, at step {result.step:,} with train.patience={patience}"
        return reason, f"train.patience={_LONGER_TIMES * patience}{lower}"
    started = EventsFile(run.events).last(Started)
    facts = started.event.facts if started and isinstance(started.event, Started) else {}
    used_rate = facts.get("learning_rate") if rate == "auto" else rate
    best_step = read_history(run).best_step
    if best_step is not None and best_step < _LATE * result.step and isinstance(used_rate, float):
        when = f"this run was best at step {best_step:,} of {result.step:,}, and more training made it no better"
        lower = f"optimizer.learning_rate={used_rate * _LOWER_TIMES:g}"
        return f"{when}, so its learning rate may be too high", lower
    base = Interval(result.step, "steps") if stated == "auto" else stated
    length = replace(base, amount=_LONGER_TIMES * base.amount)
    is_low = rate != "auto" and rate < _LOW_RATE
    reason = f"this run may be too short ({result.step:,} steps){' or its learning rate too low' if is_low else ''}"
    higher = f" optimizer.learning_rate={_LOW_RATE:g}" if is_low else ""
    return reason, f"train.length={shlex.quote(str(length))}{higher}"


def headline_table(sheet: ScoreSheet) -> TextTable:
    """Put the headline score next to the baselines'."""
    contenders = {"this run": sheet.scores[sheet.split or ""], **sheet.baselines}
    rows = [
        (name, figure(scores[sheet.headline].value), interval(scores[sheet.headline]))
        for name, scores in contenders.items()
        if sheet.headline in scores
    ]
    columns = ("", f"{sheet.split} {sheet.headline}", "95% interval")
    return TextTable(columns, tuple(rows), right=(columns[1],))


def scores_table(scores: Mapping[str, Score], *, title: str = "") -> TextTable:
    """Put scores one below the other with their intervals."""
    rows = tuple((name, figure(score.value, name=name), interval(score, name=name)) for name, score in scores.items())
    return TextTable(("score", "value", "95% interval"), rows, right=("value",), title=title)


def describe_ending(result: RunResult) -> str:
    """Say how a run ended, where and after how long."""
    after = f"at step {result.step:,} after {duration(result.seconds)}"
    if result.reason in COMPLETE:
        return f"finished {after}"
    is_signal = result.reason in ("interrupted", "preempted")
    how = result.reason if is_signal else f"stopped ({result.reason.replace('_', ' ')})"
    return f"{how} {after}; state saved" if result.step else f"{how} before the first step"


def _list_places(result: RunResult) -> list[str]:
    """Say where things are; the report as a link that a terminal opens."""
    places: dict[str, Path | str | None] = {"run": result.place, "artifact": result.artifact}
    if result.address is not None and result.artifact is not None:
        places["artifact"] = f"{result.address}/artifact"
    lines = [f"{name:<8}  {path}" for name, path in places.items() if path is not None]
    return lines if result.report is None else [*lines, f"report    {result.report.absolute().as_uri()}"]


def _suggest_commands(result: RunResult) -> list[str]:
    run = shlex.quote(result.place)
    if result.reason not in COMPLETE:
        return ["resume with", f"  burnish resume {run}"]
    asks = [f"burnish predict {run} {_write_example(result)}", f"burnish serve {run}"] if result.artifact else []
    return ["try next", *(f"  {command}" for command in [*asks, f"burnish runs show {run}"])]


def _write_example(result: RunResult) -> str:
    """Show how to ask this model: with a text, a row of texts, or a file for tables; of several tasks, the first."""
    from burnish.run.record.plan import read_plan  # reads configs: not for `--help` to load
    from burnish.spec.parts import divide_tasks, read_profiles

    run = RunDirectory(result.directory)
    name, profile = next(iter(read_profiles(read_json(run.profile)).items()))
    task = f"--task {name} " if name else ""
    if profile.get("inputs"):
        return f"new.csv {task}--out predictions.csv"
    columns = divide_tasks(read_plan(run))[name].task.input_columns if run.exists() else ()
    row = shlex.quote(json.dumps(dict.fromkeys(columns, "…") | _read_golden(run, name), ensure_ascii=False))
    return f"{task}--row {row}" if len(columns) > 1 else f'{task}--text "…"'


def _read_golden(run: RunDirectory, task: str) -> dict[str, object]:
    """Read a row that the artifact was tested with, its words left out: a column may hold a list of texts."""
    golden: Any = read_json(run.artifact / "golden.json") or {"rows": [], "tasks": {task: {"rows": []}}}
    rows = (golden["tasks"][task] if task else golden)["rows"]
    return {name: _blank(value) for row in rows[:1] for name, value in row.items()}


def _blank(value: object) -> object:
    return [_blank(each) for each in value] if isinstance(value, list) else "…"
