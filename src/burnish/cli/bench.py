"""`burnish bench`: how fast an experiment goes on this machine."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.documents import print_document
from burnish.cli.options import Configs, Experiment, Json, Overrides
from burnish.cli.tables import TextTable, show

if TYPE_CHECKING:
    from burnish.commands.bench import BenchResult


def bench(
    experiment: Experiment,
    overrides: Overrides = None,
    *,
    configs: Configs = None,
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", min=1, help="How many training rows each round processes.")
    ] = 256,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", min=1, help="How many timed rounds.")] = 3,
    is_json: Json = False,
    is_quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the outcome.")] = False,
) -> None:
    """Measure how fast an experiment trains and predicts on this machine."""
    from burnish.commands.bench import bench as command

    result = command(
        experiment,
        configs=configs or (),
        overrides=overrides or (),
        rows=rows,
        rounds=rounds,
        tell=(lambda _sentence: None) if is_quiet or is_json else _tell,
    )
    if is_json:
        print_document(result)
    else:
        _print(result)


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _print(result: "BenchResult") -> None:
    print(f"{result.examples:,} rows, {result.rounds} rounds, {result.precision}, threads {result.threads}")
    lines = (
        ("training, examples/s", *result.training_examples.figures(1)),
        ("training, tokens/s", *result.training_tokens.figures(0)),
        ("waiting for data, % of training", *result.waited.figures(1, scale=100)),
        ("inference, examples/s", *result.inference_examples.figures(1)),
        ("inference, tokens/s", *result.inference_tokens.figures(0)),
    )
    show(TextTable(("what", "median", "least", "most"), lines, right=("median", "least", "most")))
