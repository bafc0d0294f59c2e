"""`burnish runs`: look at runs, compare them, follow, stop, tag and remove them."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.console import JsonConsole
from burnish.cli.figures import duration, figure, moment, score_text
from burnish.cli.options import Json, Run, TrustCode, argument, option
from burnish.cli.outcome import headline_table, scores_table
from burnish.cli.progress import Progress, advance, announce, status_line
from burnish.cli.tables import TextTable
from burnish.cli.train import resume
from burnish.cli.verb import Lines, Reply, group, verb
from burnish.errors import CheckpointError
from burnish.run.record.directory import RUNS, find_run
from burnish.run.record.ending import PREEMPTED
from burnish.spec.events import Event, Stepped
from burnish.storage.address import read_address

if TYPE_CHECKING:
    from burnish.commands.runs import RunComparison, RunDetail, RunRow


@verb("ls", addresses=("root",))
def ls(
    root: Annotated[Path, argument("FOLDER", "Where to look.")] = RUNS,
    *,
    tag: Annotated[str | None, option("--tag TAG", "Only runs with this tag.")] = None,
) -> Reply:
    """List runs, newest first, with progress and scores."""
    from burnish.commands.runs import ls as command

    rows = command(root, tag=tag)
    if not rows and root != RUNS and not root.is_dir() and read_address(root) is None:
        raise CheckpointError(f"there is no folder {root}; by default, runs are in {RUNS}")
    columns = ("run", "status", "started", "time", "step", "best", "test")
    table = TextTable(columns, tuple(map(_row_cells, rows)), right=("step",))
    return Reply(
        rows, [table if rows else f"no runs in {read_address(root) or root}{f' with the tag {tag}' if tag else ''}"]
    )


@verb("show")
def show_run(run: Run) -> Reply:
    """Show one run: its options, progress, scores and files."""
    from burnish.commands.runs import show as command

    detail = command(run)
    return Reply(detail, _describe(detail))


@verb("compare")
def compare(
    runs: Annotated[list[str], argument("RUN", "Two runs or more.")],
    *,
    split: Annotated[
        str | None, option("--split SPLIT", "Which split to compare on; default: test, else validation.")
    ] = None,
    trust_code: TrustCode = False,
) -> Reply:
    """Compare runs: options, scores with intervals, and a paired test.

    Runs that differ only in their seed are grouped.
    """
    from burnish.commands.runs import compare as command

    comparison = command(runs, split=split, trust_code=trust_code)
    return Reply(comparison, comparison_lines(comparison))


@verb("logs")
def logs(
    run: Run,
    *,
    follow: Annotated[bool, option("--follow -f", "Keep printing until the run ends.")] = False,
    is_json: Json = False,
) -> Lines:
    """Print the events of a run; --follow waits for new ones."""
    from burnish.commands.runs import show as details
    from burnish.commands.runs import tail as command

    events = command(run, follow=follow)
    if is_json:
        for event in events:
            JsonConsole(sys.stdout).watch(event)
        return
    yield from _describe_events(events)
    detail = details(run)
    if detail.ending:
        yield f"{detail.row.status}: {detail.ending}"


@verb("stop")
def stop(
    run: Run, *, waits: Annotated[bool, option("--wait", "Return when the run has saved and stopped.")] = False
) -> Lines:
    """Ask a run to save a checkpoint and stop."""
    from burnish.commands.run_control import stop as command
    from burnish.commands.run_control import wait as wait_for

    directory = command(run)
    status = wait_for(run) if waits else "asked to stop"
    return [f"{directory.path}: {status}; `burnish resume {directory.path}` continues it"]


@verb("wait", short_help="Wait until a run ends.")
def wait(
    run: Run,
    *,
    timeout: Annotated[float | None, option("--timeout SECONDS", "Give up after this long.", min=0)] = None,
) -> Reply:
    """Wait until a run ends: exit code 0 if it finished, 75 if it can be resumed."""
    from burnish.commands.run_control import wait as command

    status = command(run, timeout_seconds=timeout)
    code = 0 if status == "finished" else 1 if status == "failed" else PREEMPTED
    return Reply({"run": run, "status": status}, [f"{run}: {status}"], code=code)


@verb("rm")
def rm(
    runs: Annotated[list[str], argument("RUN", "Runs to delete, with all their files.")],
    *,
    is_sure: Annotated[bool, option("--yes -y", "Do not ask.")] = False,
) -> Lines:
    """Delete runs with their checkpoints, artifacts and reports."""
    from burnish.commands.run_control import remove

    for run in runs:
        path = find_run(run).path
        if is_sure or typer.confirm(f"delete {path} with everything in it?"):
            yield f"deleted {remove(run)}"


@verb("tag", short_help="Tag a run, or show its tags.")
def tag_run(
    run: Run,
    tags: Annotated[list[str] | None, argument("TAG", "Words to add.")] = None,
    *,
    remove: Annotated[list[str] | None, option("--remove TAG", "A tag to take off; repeatable.")] = None,
) -> Reply:
    """Tag a run, to find it with `runs ls --tag`; without tags, show those it has."""
    from burnish.commands.run_control import tag as command

    found = command(run, tags or (), remove=remove or ())
    return Reply({"run": run, "tags": found}, [", ".join(found) or "no tags"])


tail = replace(logs, name="tail", short_help="The same as logs.")
app = group(
    *("runs", "Inspect, compare and control runs."),
    *(ls, show_run, compare, logs, tail, stop, wait, resume, tag_run, rm),
)


def _row_cells(row: "RunRow") -> tuple[str, ...]:
    return (
        " ".join([row.name, *(f"[{tag}]" for tag in row.tags)]),
        row.status if row.fault is None else f"{row.status} (unreadable)",
        "-" if row.started is None else moment(row.started),
        duration(row.seconds),
        f"{row.step:,}" if row.total_steps is None else f"{row.step:,}/{row.total_steps:,}",
        "-" if row.best is None else " ".join(filter(None, [row.select, figure(row.best)])),
        "-" if row.test is None else f"{row.headline} {score_text(row.test)}",
    )


def _describe(detail: "RunDetail") -> Lines:
    row = detail.row
    attempts = "" if detail.history.num_attempts < 2 else f", {detail.history.num_attempts} attempts"
    yield f"{row.name}: {row.status} at step {row.step:,} after {duration(row.seconds)}{attempts}"
    if detail.ending:
        yield f"\n{detail.ending}"
    tables = [TextTable(("option", "value"), tuple(detail.plan.items())), _evaluations_table(detail)]
    if detail.sheet is not None:
        if detail.sheet.judged is not None and detail.sheet.baselines:
            tables.append(headline_table(detail.sheet))
        tables += [scores_table(scores, title=f"on {split}") for split, scores in detail.sheet.scores.items()]
    for table in tables:
        if table.rows:
            yield ""
            yield table
    yield ""
    places = {"run": row.path, "artifact": detail.artifact, "report": detail.report}
    yield from (f"{name:<8}  {path or '-'}" for name, path in places.items())


def _evaluations_table(detail: "RunDetail") -> TextTable:
    evaluations = detail.history.evaluations[-10:]
    names = list(dict.fromkeys(name for each in evaluations for name in each.scores))[:4]
    rows = tuple(
        (
            f"{each.step:,}",
            each.split,
            *(figure(each.scores[name], name=name) if name in each.scores else "-" for name in names),
            "★" if each.is_best else "",
        )
        for each in evaluations
    )
    return TextTable(("step", "split", *names, "best"), rows, right=("step", *names))


def comparison_lines(comparison: "RunComparison") -> Lines:
    """Put runs side by side: options that differ, scores, and what the paired test says."""
    differences = tuple((each.key, *(value or "-" for value in each.values)) for each in comparison.differences)
    columns = ("option", *comparison.names)
    yield TextTable(columns, differences) if differences else "the same experiment in every run"
    scores = tuple(
        (f"{line.split} {line.name}", *(score_text(score, name=line.name) for score in line.scores))
        for line in comparison.scores
    )
    if scores:
        yield ""
        yield TextTable(("score", *comparison.names), scores)
    if max(comparison.seeds) > 1:
        yield "\nof several seeds: mean (lowest to highest)"
    yield from (f"\n{verdict.sentence}" for verdict in comparison.verdicts)


def _describe_events(events: Iterable[Event]) -> Iterator[str]:
    """Write events as plain lines, every step included."""
    progress = Progress()
    for event in events:
        # the clock stops here: these events may be old, and speeds mean nothing for them
        progress = advance(progress, event, now=0.0)
        line = status_line(progress) if isinstance(event, Stepped) else announce(event)
        if line is not None:
            yield line
