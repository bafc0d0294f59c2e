"""`burnish plan` and `burnish bench`: what a run takes, and how fast it is on this machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from burnish.cli.console import console_for
from burnish.cli.figures import duration, facts_table, number
from burnish.cli.options import Asked, Json, Quiet, option
from burnish.cli.tables import TextTable
from burnish.cli.verb import Lines, Reply, verb
from burnish.cli.wrapping import say
from burnish.spec.events import Event, Noted

if TYPE_CHECKING:
    from burnish.commands.bench import BenchResult
    from burnish.spec.forecast import Forecast

DOES_NOT_FIT = 6


@verb("plan", short_help="Estimate a run: steps, time, memory and disk.")
def plan(
    asked: Asked,
    *,
    directory: Annotated[Path | None, option("--dir DIR", "Where the run would go; default: runs/<name>.")] = None,
    is_json: Json = False,
) -> Reply:
    """Estimate a run: rows, tokens, steps, time, memory and disk. Nothing is kept."""
    from burnish.commands.plan import plan as command

    with console_for(is_json=False, is_quiet=is_json) as console:
        found = command(asked.experiment, **asked.layers, directory=directory, watch=console.watch)
    document = {**vars(found), "problems": found.problems}
    return Reply(document, estimate_lines(found), code=DOES_NOT_FIT if found.problems else 0)


@verb("bench", short_help="Measure training and prediction speed.")
def bench(
    asked: Asked,
    *,
    rows: Annotated[int, option("--rows N", "How many training rows each round processes.", min=1)] = 256,
    rounds: Annotated[int, option("--rounds N", "How many timed rounds.", min=1)] = 3,
    is_json: Json = False,
    is_quiet: Quiet = False,
) -> Reply:
    """Measure how fast an experiment trains and predicts on this machine."""
    from burnish.commands.bench import bench as command

    def watch(event: Event) -> None:
        if isinstance(event, Noted) and not (is_quiet or is_json):
            say(event.message)

    found = command(asked.experiment, **asked.layers, rows=rows, rounds=rounds, watch=watch)
    return Reply(found, _speeds(found))


def estimate_lines(found: "Forecast") -> Lines:
    """Write an estimate for people: rows, steps, time, memory, disk, and what does not fit."""
    from burnish.spec.forecast import size

    timing, footprint = found.timing, found.footprint
    limit = f" of {size(footprint.memory_limit)}" if footprint.memory_limit else ""
    lines = [
        *facts_table(found.facts),
        ("tokens", f"{number(found.tokens_per_epoch)} an epoch"),
        ("training", f"{number(found.steps)} steps of {timing.step_seconds:.3g} s"),
        ("scoring", f"{number(found.evaluations)} evaluations; one pass: {_times(timing.evaluation_seconds)}"),
        ("time", f"about {duration(found.seconds)}: {_shares(found)}"),
        ("memory", f"{size(footprint.memory_bytes)}{limit}"),
        ("disk", f"{size(footprint.disk_bytes)} of {size(footprint.disk_free)} free"),
    ]
    width = max(len(name) for name, _ in lines)
    yield from (f"{name:<{width}}  {words}" for name, words in lines)
    yield from (f"does not fit: {problem}" for problem in found.problems)


def _shares(found: "Forecast") -> str:
    """Say what the time is spent on."""
    timing, passes = found.timing, found.timing.evaluation_seconds
    shares = {
        "start": timing.start_seconds,
        "training": found.steps * timing.step_seconds,
        "evaluations": found.evaluations * passes["validation"],
    }
    if timing.finish_seconds is None:
        return f"{_times({**shares, 'final scores': sum(passes.values())})}; baselines and artifact not counted"
    return _times({**shares, "final scores, baselines and artifact": timing.finish_seconds})


def _times(seconds: Mapping[str, float]) -> str:
    return " · ".join(f"{name} {duration(each)}" for name, each in seconds.items())


def _speeds(found: "BenchResult") -> Lines:
    yield f"{found.examples:,} rows, {found.rounds} rounds, {found.precision}, threads {found.threads}"
    lines = (
        ("training, examples/s", *found.training_examples.figures(1)),
        ("training, tokens/s", *found.training_tokens.figures(0)),
        ("waiting for data, % of training", *found.waited.figures(1, scale=100)),
        ("inference, examples/s", *found.inference_examples.figures(1)),
        ("inference, tokens/s", *found.inference_tokens.figures(0)),
    )
    yield TextTable(("what", "median", "least", "most"), lines, right=("median", "least", "most"))
