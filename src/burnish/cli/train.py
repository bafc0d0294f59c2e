"""`burnish train`, `resume`, `rerun` and `drill`: runs, watched by the user, and whether they come to the same bits."""

from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from burnish.cli.console import console_for
from burnish.cli.options import Asked, Json, Processes, Quiet, Run, Together, TrustCode, option
from burnish.cli.outcome import reply_with
from burnish.cli.verb import Lines, Reply, verb

if TYPE_CHECKING:
    from burnish.commands.drill import DrillResult
    from burnish.commands.rerun import RerunResult

DIFFERS = 1
_NOT_EXACT = "not exact; the first difference in each file:"


class Then(StrEnum):
    """What may follow a training."""

    EVALUATE = "evaluate"


@verb(
    "train",
    short_help="Train an experiment, or resume it.",
    addresses=("directory",),
    leaves={"--dir": "outputs/run"},
)
def train(
    asked: Asked,
    *,
    together: Together,
    directory: Annotated[
        Path | None,
        option(
            "--dir DIR", "A folder or address (gs://, s3://), also 'runs/{name}-{time}'; default: runs/<experiment>."
        ),
    ] = None,
    replace: Annotated[
        bool, option("--replace", "Start over; a run already there is moved to DIR.old-1, not deleted.")
    ] = False,
    is_calibrated: Annotated[
        bool, option("--calibrate", "Benchmark settings left on auto (attention, threads) and use the fastest.")
    ] = False,
    then: Annotated[
        Then | None, option("--then evaluate", "Then score the test split (validation if there is none).")
    ] = None,
    trust_code: TrustCode = False,
    is_json: Json = False,
    is_quiet: Quiet = False,
) -> Reply:
    """Train an experiment. If the directory already holds it, resume."""
    from burnish.commands.train import train as command

    group = together.group
    with console_for(is_json=is_json, is_quiet=is_quiet) as console:
        result = command(
            asked.experiment,
            **asked.layers,
            directory=directory,
            replace=replace,
            processes=group,
            is_calibrated=is_calibrated,
            trust_code=trust_code,
            watch=console.watch,
        )
    return reply_with(result, is_scored_again=then is not None, is_json=is_json)


@verb("resume", short_help="Resume an interrupted run.")
def resume(
    run: Run,
    *,
    together: Together,
    accept_changed_data: Annotated[
        bool, option("--accept-changed-data", "Resume even though data files changed; this is recorded in the run.")
    ] = False,
    trust_code: TrustCode = False,
    is_json: Json = False,
    is_quiet: Quiet = False,
) -> Reply:
    """Resume an interrupted run from its newest intact checkpoint."""
    from burnish.commands.train import resume as command
    from burnish.run.record.directory import find_run
    from burnish.storage.address import read_address

    group = together.group
    with console_for(is_json=is_json, is_quiet=is_quiet) as console:
        result = command(
            read_address(run) or find_run(run).path,
            processes=group,
            accept_changed_data=accept_changed_data,
            trust_code=trust_code,
            watch=console.watch,
        )
    return reply_with(result)


@verb("rerun")
def rerun(
    run: Run,
    *,
    directory: Annotated[Path | None, option("--dir DIR", "Where the new run goes; default: RUN-rerun.")] = None,
    processes: Processes = None,
    verify: Annotated[bool, option("--verify", "Compare weights, predictions and scores with those of RUN.")] = False,
    trust_code: TrustCode = False,
    is_json: Json = False,
) -> Reply:
    """Train a run's plan again, in another directory."""
    from burnish.commands.rerun import rerun as command
    from burnish.run.record.directory import find_run

    path = find_run(run).path
    with console_for(is_json=is_json) as console:
        again = command(
            path, directory=directory, processes=processes, verify=verify, trust_code=trust_code, watch=console.watch
        )
    reply = reply_with(again.result)
    if not again.is_verified:
        return reply
    found = {"differences": again.differences, "environment": again.environment}
    events = [*reply.events, {"event": "verified", "is_exact": again.is_exact, **found}]
    code = DIFFERS if again.differences else reply.code
    return Reply(events=events, lines=chain(reply.lines, _verdict(again)), code=code)


@verb("drill", short_help="Rehearse a crash and check that resuming is exact.")
def drill(
    asked: Asked,
    *,
    directory: Annotated[
        Path | None, option("--dir DIR", "Which disk to rehearse on; default: the temporary folder.")
    ] = None,
    processes: Processes = None,
    minutes: Annotated[
        float | None,
        option("--minutes", "How long it may take; default: 1, more where starting takes long.", min=0.1),
    ] = None,
    keep: Annotated[bool, option("--keep", "Keep the two runs on disk.")] = False,
    is_json: Json = False,
    is_quiet: Quiet = False,
) -> Reply:
    """Rehearse a crash: train briefly, kill it twice, resume, and compare with an undisturbed run."""
    from burnish.commands.drill import drill as command

    with console_for(is_json=False, is_quiet=is_quiet or is_json) as console:
        result = command(
            asked.experiment,
            **asked.layers,
            directory=directory,
            processes=processes,
            minutes=minutes or 1.0,
            limit_minutes=minutes,
            keep=keep,
            watch=console.watch,
        )
    document = {"is_exact": result.is_exact, "lost_seconds": result.lost_seconds, **vars(result)}
    return Reply(document, _story(result), code=0 if result.is_exact else DIFFERS)


def _verdict(again: "RerunResult") -> Lines:
    yield ""
    if again.is_exact:
        yield "exact: the same weights, predictions and scores"
        return
    yield from [_NOT_EXACT, *(f"  {each}" for each in again.differences)]
    yield from ["what differs in the environment:", *(f"  {each}" for each in again.environment or ("nothing",))]


def _story(result: "DrillResult") -> Lines:
    yield f"uninterrupted: {result.steps:,} steps in {result.seconds:.1f} s"
    for each in result.interruptions:
        where = f"{each.signal} at step {each.step:,}: resumed from step {each.resumed_step:,}"
        yield f"{where}, lost {each.lost_seconds:.1f} s"
    yield from (f"note: {note}" for note in result.notes)
    if result.directory is not None:
        yield f"both runs are in {result.directory}"
    if result.is_exact:
        yield f"exact; lost {result.lost_seconds:.1f} s of work"
    else:
        yield from [_NOT_EXACT, *(f"  {each}" for each in result.differences)]
