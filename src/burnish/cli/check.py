"""`burnish check`: a gate for pipelines; exit code 8 where a run is not good enough."""

from typing import Annotated, Literal

from burnish.cli.options import Run, TrustCode, option
from burnish.cli.verb import Reply, verb

NOT_GOOD_ENOUGH = 8


@verb("check", short_help="Check that a run is good enough to be used.")
def check(
    run: Run,
    *,
    require: Annotated[
        list[str] | None, option("--require REQUIREMENT", 'Like "test/accuracy >= 0.85"; repeatable.')
    ] = None,
    no_worse_than: Annotated[
        list[str] | None, option("--no-worse-than RUN", "A run that must not be shown to be better; repeatable.")
    ] = None,
    by: Annotated[
        Literal["interval", "value"], option("--by", "Compare the near end of the 95% interval, or the value itself.")
    ] = "interval",
    trust_code: TrustCode = False,
) -> Reply:
    """Check that a run is good enough: exit code 0 if so, 8 if not."""
    from burnish.commands.gate import check as command

    result = command(run, require=require or (), no_worse_than=no_worse_than or (), by=by, trust_code=trust_code)
    document = {"run": result.run, "is_passed": result.is_passed, "findings": result.findings}
    lines = [f"{'✓' if each.is_met else '✗'} {each.asked}\n  {each.sentence}" for each in result.findings]
    return Reply(document, lines, code=0 if result.is_passed else NOT_GOOD_ENOUGH)
