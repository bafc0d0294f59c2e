"""`burnish rerun`: a run once more, and whether it came to the same bits."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.console import console_for
from burnish.cli.documents import print_document
from burnish.cli.options import Json, Processes, Run, TrustCode
from burnish.cli.outcome import exit_code_of, finish

if TYPE_CHECKING:
    from burnish.commands.rerun import RerunResult

DIFFERS = 1


def rerun(
    run: Run,
    *,
    directory: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Where the new run goes; default: RUN-rerun.")
    ] = None,
    processes: Processes = 1,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare weights, predictions and scores with those of RUN.")
    ] = False,
    trust_code: TrustCode = False,
    is_json: Json = False,
) -> None:
    """Train a run's plan again, in another directory."""
    from burnish.commands.rerun import rerun as command
    from burnish.run.record.directory import find_run

    with console_for(is_json=is_json) as console:
        again = command(
            find_run(run).path,
            directory=directory,
            processes=processes,
            verify=verify,
            trust_code=trust_code,
            watch=console.watch,
        )
    finish(again.result, is_json=is_json)
    if again.is_verified:
        _tell(again, is_json=is_json)
    raise typer.Exit(DIFFERS if again.differences else exit_code_of(again.result))


def _tell(again: "RerunResult", *, is_json: bool) -> None:
    if is_json:
        found = {"differences": again.differences, "environment": again.environment}
        print_document({"event": "verified", "is_exact": again.is_exact, **found}, indent=None)
        return
    print()
    if again.is_exact:
        print("exact: the same weights, predictions and scores")
        return
    print("not exact; the first difference in each file:")
    for difference in again.differences:
        print(f"  {difference}")
    print("\n".join(["what differs in the environment:", *(f"  {each}" for each in again.environment or ("nothing",))]))
