"""`burnish plan`: a run's size, time and memory in a few lines."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.console import console_for
from burnish.cli.documents import print_document, to_json
from burnish.cli.figures import duration, facts_table, number
from burnish.cli.options import Configs, Experiment, Json, Overrides

if TYPE_CHECKING:
    from burnish.spec.forecast import Forecast

DOES_NOT_FIT = 6


def plan(
    experiment: Experiment,
    overrides: Overrides = None,
    *,
    configs: Configs = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Where the run would go; default: runs/<name>.")
    ] = None,
    is_json: Json = False,
) -> None:
    """Estimate a run: rows, tokens, steps, time, memory and disk. Nothing is kept."""
    from burnish.commands.plan import plan as command

    with console_for(is_json=False, is_quiet=is_json) as console:
        found = command(
            experiment, configs=configs or (), overrides=overrides or (), directory=directory, watch=console.watch
        )
    _print(found, is_json=is_json)
    raise typer.Exit(DOES_NOT_FIT if found.problems else 0)


def _print(found: "Forecast", *, is_json: bool) -> None:
    if is_json:
        fields = to_json(found)
        assert isinstance(fields, dict)
        print_document({**fields, "problems": to_json(found.problems)})
        return
    lines = _lines(found)
    width = max(len(name) for name, _ in lines)
    for name, words in lines:
        print(f"{name:<{width}}  {words}")
    for problem in found.problems:
        print(f"does not fit: {problem}")


def _lines(found: "Forecast") -> list[tuple[str, str]]:
    from burnish.spec.forecast import size

    timing, footprint = found.timing, found.footprint
    limit = f" of {size(footprint.memory_limit)}" if footprint.memory_limit else ""
    passes = " · ".join(f"{split} {duration(seconds)}" for split, seconds in timing.evaluation_seconds.items())
    return [
        *facts_table(found.facts),
        ("tokens", f"{number(found.tokens_per_epoch)} an epoch"),
        ("training", f"{number(found.steps)} steps of {timing.step_seconds:.3g} s"),
        ("scoring", f"{number(found.evaluations)} evaluations; one pass: {passes}"),
        ("time", f"about {duration(found.seconds)}: {_shares(found)}"),
        ("memory", f"{size(footprint.memory_bytes)}{limit}"),
        ("disk", f"{size(footprint.disk_bytes)} of {size(footprint.disk_free)} free"),
    ]


def _shares(found: "Forecast") -> str:
    """Say what the time is spent on."""
    timing, passes = found.timing, found.timing.evaluation_seconds
    shares = {
        "start": timing.start_seconds,
        "training": found.steps * timing.step_seconds,
        "evaluations": found.evaluations * passes["validation"],
    }
    if timing.finish_seconds is None:
        return f"{_joined({**shares, 'final scores': sum(passes.values())})}; baselines and artifact not counted"
    return _joined({**shares, "final scores, baselines and artifact": timing.finish_seconds})


def _joined(shares: Mapping[str, float]) -> str:
    return " · ".join(f"{name} {duration(seconds)}" for name, seconds in shares.items())
