"""`burnish check`: a gate for pipelines; exit code 8 where a run is not good enough."""

from typing import Annotated, Literal

import typer

from burnish.cli.documents import print_document
from burnish.cli.options import Json, Run, TrustCode

NOT_GOOD_ENOUGH = 8


def check(
    run: Run,
    *,
    require: Annotated[
        list[str] | None,
        typer.Option("--require", metavar="REQUIREMENT", help='Like "test/accuracy >= 0.85"; repeatable.'),
    ] = None,
    no_worse_than: Annotated[
        list[str] | None,
        typer.Option("--no-worse-than", metavar="RUN", help="A run that must not be shown to be better; repeatable."),
    ] = None,
    by: Annotated[
        Literal["interval", "value"],
        typer.Option("--by", help="Compare the near end of the 95% interval, or the value itself."),
    ] = "interval",
    trust_code: TrustCode = False,
    is_json: Json = False,
) -> None:
    """Check that a run is good enough: exit code 0 if so, 8 if not."""
    from burnish.commands.gate import check as command

    result = command(run, require=require or (), no_worse_than=no_worse_than or (), by=by, trust_code=trust_code)
    if is_json:
        print_document({"run": result.run, "is_passed": result.is_passed, "findings": result.findings})
    else:
        for finding in result.findings:
            print(f"{'✓' if finding.is_met else '✗'} {finding.asked}\n  {finding.sentence}")
    raise typer.Exit(0 if result.is_passed else NOT_GOOD_ENOUGH)
