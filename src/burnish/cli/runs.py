"""`burnish runs`: look at runs, compare them, follow one."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.console import JsonConsole
from burnish.cli.documents import print_document
from burnish.cli.figures import duration, figure, moment, score_text
from burnish.cli.options import Json, Run, TrustCode, print_help
from burnish.cli.outcome import headline_table, scores_table
from burnish.cli.progress import Progress, advance, announce, status_line
from burnish.cli.tables import TextTable, show
from burnish.errors import CheckpointError
from burnish.run.record.directory import RUNS
from burnish.spec.events import Event, Stepped

if TYPE_CHECKING:
    from burnish.commands.runs import RunComparison, RunDetail, RunRow

app = typer.Typer(
    callback=print_help, invoke_without_command=True, rich_markup_mode=None, help="Inspect and compare runs."
)


@app.command("ls")
def ls(
    root: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to look.")] = Path("runs"),
    *,
    is_json: Json = False,
) -> None:
    """List runs, newest first, with progress and scores."""
    from burnish.commands.runs import ls as command

    rows = command(root)
    if not rows and root != RUNS and not root.is_dir():
        raise CheckpointError(f"there is no folder {root}; by default, runs are in {RUNS}")
    if is_json:
        print_document(rows)
    elif not rows:
        print(f"no runs in {root}")
    else:
        columns = ("run", "status", "started", "time", "step", "best", "test")
        show(TextTable(columns, tuple(map(_row_cells, rows)), right=("step",)))


@app.command("show")
def show_run(run: Run, *, is_json: Json = False) -> None:
    """Show one run: its options, progress, scores and files."""
    from burnish.commands.runs import show as command

    detail = command(run)
    if is_json:
        print_document(detail)
    else:
        _print_detail(detail)


@app.command("compare")
def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Two runs or more.")],
    *,
    split: Annotated[
        str | None,
        typer.Option("--split", metavar="SPLIT", help="Which split to compare on; default: test, else validation."),
    ] = None,
    trust_code: TrustCode = False,
    is_json: Json = False,
) -> None:
    """Compare runs: options, scores with intervals, and a paired test.

    Runs that differ only in their seed are grouped.
    """
    from burnish.commands.runs import compare as command

    comparison = command(runs, split=split, trust_code=trust_code)
    if is_json:
        print_document(comparison)
    else:
        _print_comparison(comparison)


@app.command("tail")
def tail(
    run: Run,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing until the run ends.")] = False,
    is_json: Json = False,
) -> None:
    """Print the events of a run; --follow waits for new ones."""
    from burnish.commands.runs import show as details
    from burnish.commands.runs import tail as command

    watch = JsonConsole(sys.stdout).watch if is_json else _Teller()
    for event in command(run, follow=follow):
        watch(event)
    detail = details(run)
    if detail.ending and not is_json:
        print(f"{detail.row.status}: {detail.ending}")


def _row_cells(row: "RunRow") -> tuple[str, ...]:
    return (
        row.name,
        row.status if row.fault is None else f"{row.status} (unreadable)",
        "-" if row.started is None else moment(row.started),
        duration(row.seconds),
        f"{row.step:,}" if row.total_steps is None else f"{row.step:,}/{row.total_steps:,}",
        "-" if row.best is None else figure(row.best),
        "-" if row.test is None else f"{row.headline} {score_text(row.test)}",
    )


def _print_detail(detail: "RunDetail") -> None:
    row = detail.row
    attempts = "" if detail.history.num_attempts < 2 else f", {detail.history.num_attempts} attempts"
    print(f"{row.name}: {row.status} at step {row.step:,} after {duration(row.seconds)}{attempts}")
    if detail.ending:
        print(f"\n{detail.ending}")
    _print_section(TextTable(("option", "value"), tuple(detail.plan.items())))
    _print_section(_evaluations_table(detail))
    if detail.sheet is not None:
        if detail.sheet.judged is not None and detail.sheet.baselines:
            _print_section(headline_table(detail.sheet))
        for split, scores in detail.sheet.scores.items():
            _print_section(scores_table(scores, title=f"on {split}"))
    print()
    places = {"run": row.path, "artifact": detail.artifact, "report": detail.report}
    for name, path in places.items():
        print(f"{name:<8}  {path or '-'}")


def _print_section(table: TextTable) -> None:
    if table.rows:
        print()
        show(table)


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


def _print_comparison(comparison: "RunComparison") -> None:
    differences = tuple((each.key, *each.values) for each in comparison.differences)
    if differences:
        show(TextTable(("option", *comparison.names), differences))
    else:
        print("the same experiment in every run")
    lines = tuple(
        (f"{line.split} {line.name}", *(score_text(score, name=line.name) for score in line.scores))
        for line in comparison.scores
    )
    _print_section(TextTable(("score", *comparison.names), lines))
    if max(comparison.seeds) > 1:
        print("\nof several seeds: mean (lowest to highest)")
    for verdict in comparison.verdicts:
        print(f"\n{verdict.sentence}")


class _Teller:
    """Print events as plain lines, every step included."""

    def __init__(self) -> None:
        self._progress = Progress()

    def __call__(self, event: Event) -> None:
        # the clock stands still here: these events may be old, and speeds mean nothing for them
        self._progress = advance(self._progress, event, now=0.0)
        line = status_line(self._progress) if isinstance(event, Stepped) else announce(event)
        if line is not None:
            print(line, flush=True)
