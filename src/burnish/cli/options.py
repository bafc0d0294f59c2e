"""Arguments that several verbs share."""

from pathlib import Path
from typing import Annotated

import typer

Experiment = Annotated[
    str,
    typer.Argument(metavar="EXPERIMENT", help="A named experiment (see `burnish list experiments`) or a YAML file."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE", help='Options to override, like train.length="3 epochs".'),
]
Configs = Annotated[
    list[Path] | None,
    typer.Option(
        "--config", "-c", metavar="FILE", help="A YAML file layered over the experiment; repeatable, in order."
    ),
]
Processes = Annotated[
    int,
    typer.Option("--processes", metavar="N", min=1, help="How many local processes share each batch."),
]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the outcome.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or its name under runs/.")]
Target = Annotated[str, typer.Argument(metavar="TARGET", help="A run directory, its name under runs/, or an artifact.")]

OfSeveral = Annotated[
    str | None,
    typer.Option("--task", metavar="NAME", help="Which task to use, for a multi-task model."),
]


TrustCode = Annotated[
    bool,
    typer.Option("--trust-code", help="Run the code named by the run or artifact; only if you know that code."),
]


def resolved(target: str) -> str:
    """Take a bare name for the run of that name under runs/."""
    named = Path("runs", target)
    return str(named) if not Path(target).exists() and named.is_dir() else target


def one_source(file: str | None, option: str | None) -> str | None:
    """Give the file that was named in its place or with --in; refuse two."""
    if file is not None and option is not None:
        raise typer.BadParameter(f"{file} and --in {option} are two files; give one")
    return option if file is None else file


def print_help(context: typer.Context) -> None:
    """Print a group's help when it was called without a verb."""
    if context.invoked_subcommand is None:
        print(context.get_help())
