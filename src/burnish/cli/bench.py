"""`burnish bench`: how fast an experiment goes on this machine."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.documents import print_document
from burnish.cli.options import Configs, Experiment, Json, Overrides
from burnish.cli.tables import Table, show

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
    """Measure how fast an experiment trains and predicts on this machine, compared with Trainer."""
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
    show(Table(("what", "median", "least", "most"), tuple(_lines(result)), right=("median", "least", "most")))
    for note in result.notes:
        print(f"note: {note}")


def _lines(result: "BenchResult") -> list[tuple[str, ...]]:
    lines = [
        _line("training, examples/s", result.training.examples.figures(1)),
        _line("training, tokens/s", result.training.tokens.figures(0)),
        _line("waiting for data, % of training", result.waited.figures(1, scale=100)),
        _line("inference, examples/s", result.inference.examples.figures(1)),
        _line("inference, tokens/s", result.inference.tokens.figures(0)),
    ]
    if result.peak is not None:
        peak = result.peak
        lines += [
            _line(f"matrix products here, {result.precision}, GFLOP/s", peak.flops_rate.figures(0, scale=1e-9)),
            _line("training, GFLOP/s of the model", peak.training.figures(0, scale=1e-9)),
            _line("training, % of that peak", peak.training_share.figures(1, scale=100)),
            _line("inference, % of that peak", peak.inference_share.figures(1, scale=100)),
        ]
    return [*lines, *(_line(f"{name}, times Trainer", ratio.figures(2)) for name, ratio in result.over_trainer.items())]


def _line(what: str, figures: tuple[str, ...]) -> tuple[str, ...]:
    return (what, *figures)
