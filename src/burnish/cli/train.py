"""`burnish train` and `burnish resume`: learn, watched by the user."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from burnish.cli.console import console_for
from burnish.cli.options import Configs, Experiment, Json, Overrides, Processes, Quiet, Run, TrustCode
from burnish.cli.outcome import exit_code_of, finish


class Then(StrEnum):
    """What may follow a training."""

    EVALUATE = "evaluate"


def train(
    experiment: Experiment,
    overrides: Overrides = None,
    *,
    configs: Configs = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Where the run goes; default: runs/<experiment>.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Start over; a run already there is moved to DIR.old-1, not deleted.")
    ] = False,
    processes: Processes = 1,
    is_calibrated: Annotated[
        bool,
        typer.Option("--calibrate", help="Benchmark settings left on auto (attention, threads) and use the fastest."),
    ] = False,
    then: Annotated[
        Then | None,
        typer.Option("--then", metavar="evaluate", help="Then score the test split (validation if there is none)."),
    ] = None,
    trust_code: TrustCode = False,
    is_json: Json = False,
    is_quiet: Quiet = False,
) -> None:
    """Train an experiment. If the directory already holds it, resume."""
    from burnish.commands.train import train as command

    with console_for(is_json=is_json, is_quiet=is_quiet) as console:
        result = command(
            experiment,
            configs=configs or (),
            overrides=overrides or (),
            directory=directory,
            replace=replace,
            processes=processes,
            is_calibrated=is_calibrated,
            trust_code=trust_code,
            watch=console.watch,
        )
    finish(result, is_json=is_json, then=then)
    raise typer.Exit(exit_code_of(result))


def resume(
    run: Run,
    *,
    processes: Processes = 1,
    accept_changed_data: Annotated[
        bool,
        typer.Option(
            "--accept-changed-data", help="Resume even though data files changed; this is recorded in the run."
        ),
    ] = False,
    trust_code: TrustCode = False,
    is_json: Json = False,
    is_quiet: Quiet = False,
) -> None:
    """Resume an interrupted run from its newest intact checkpoint."""
    from burnish.commands.resume import resume as command
    from burnish.run.record.directory import find_run

    with console_for(is_json=is_json, is_quiet=is_quiet) as console:
        result = command(
            find_run(run).path,
            processes=processes,
            accept_changed_data=accept_changed_data,
            trust_code=trust_code,
            watch=console.watch,
        )
    finish(result, is_json=is_json)
    raise typer.Exit(exit_code_of(result))
