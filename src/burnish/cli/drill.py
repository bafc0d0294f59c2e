"""`burnish drill`: a rehearsal of a crash, told in four lines."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.console import console_for
from burnish.cli.documents import print_document, to_json
from burnish.cli.options import Configs, Experiment, Json, Overrides, Processes

if TYPE_CHECKING:
    from burnish.commands.drill import DrillResult, Interruption

DIFFERS = 1


def drill(
    experiment: Experiment,
    overrides: Overrides = None,
    *,
    configs: Configs = None,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="Which disk to rehearse on; default: the temporary folder."),
    ] = None,
    processes: Processes = 1,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.1, help="How long it may take; default: 1, more where starting takes long."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the two runs on disk.")] = False,
    is_json: Json = False,
    is_quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the outcome.")] = False,
) -> None:
    """Rehearse a crash: train briefly, kill it twice, resume, and compare with an undisturbed run."""
    from burnish.commands.drill import drill as command

    with console_for(is_json=False, is_quiet=is_quiet or is_json) as console:
        result = command(
            experiment,
            configs=configs or (),
            overrides=overrides or (),
            directory=directory,
            processes=processes,
            minutes=minutes or 1.0,
            limit_minutes=minutes,
            keep=keep,
            watch=console.watch,
        )
    _print(result, is_json=is_json)
    raise typer.Exit(0 if result.is_exact else DIFFERS)


def _print(result: "DrillResult", *, is_json: bool) -> None:
    if is_json:
        fields = to_json(result)
        assert isinstance(fields, dict)
        print_document({"is_exact": result.is_exact, "lost_seconds": result.lost_seconds, **fields})
        return
    print(f"uninterrupted: {result.steps:,} steps in {result.seconds:.1f} s")
    for interruption in result.interruptions:
        print(_told(interruption))
    for note in result.notes:
        print(f"note: {note}")
    if result.directory is not None:
        print(f"both runs are in {result.directory}")
    print(_verdict(result))


def _told(interruption: "Interruption") -> str:
    where = f"{interruption.signal} at step {interruption.step:,}: resumed from step {interruption.resumed_step:,}"
    return f"{where}, lost {interruption.lost_seconds:.1f} s"


def _verdict(result: "DrillResult") -> str:
    if result.is_exact:
        return f"exact; lost {result.lost_seconds:.1f} s of work"
    return "\n".join(["not exact; the first difference in each file:", *(f"  {x}" for x in result.differences)])
