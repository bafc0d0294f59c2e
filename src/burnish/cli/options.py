"""Options and arguments: how one is written, and those that several verbs share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from burnish.artifact.locate import EngineChoice


def option(names: str, help: str, **settings: Any) -> Any:
    """Declare an option by its names and what its value is called, like `--out -o DIR`."""
    words = names.split()
    metavar = next((word for word in words if not word.startswith("-")), None)
    return typer.Option(*(word for word in words if word.startswith("-")), metavar=metavar, help=help, **settings)


def argument(metavar: str, help: str) -> Any:
    """Declare a word that is told by its place."""
    return typer.Argument(metavar=metavar, help=help)


Experiment = Annotated[
    str, argument("EXPERIMENT", "A named experiment (see `burnish list experiments`) or a YAML file.")
]
Overrides = Annotated[list[str] | None, argument("KEY=VALUE", 'Options to override, like train.length="3 epochs".')]
Configs = Annotated[
    list[Path] | None, option("--config -c FILE", "A YAML file layered over the experiment; repeatable, in order.")
]
Processes = Annotated[int, option("--processes N", "How many local processes share each batch.", min=1)]
Json = Annotated[bool, option("--json", "Print machine-readable JSON.")]
Quiet = Annotated[bool, option("--quiet -q", "Show no progress, only the outcome.")]
Run = Annotated[str, argument("RUN", "A run directory, or its name under runs/.")]
Target = Annotated[str, argument("TARGET", "A run directory, its name under runs/, or an artifact.")]
OfSeveral = Annotated[str | None, option("--task NAME", "Which task to use, for a multi-task model.")]
UsedEngine = Annotated[
    EngineChoice,
    option("--engine NAME", "What answers: torch, an exported onnx or onnx-int8, or auto, the fastest as good."),
]
TrustCode = Annotated[
    bool, option("--trust-code", "Run the code named by the run or artifact; only if you know that code.")
]


@dataclass(frozen=True)
class Asked:
    """The experiment that somebody asks for."""

    experiment: Experiment
    overrides: Overrides = None
    configs: Configs = None

    @property
    def layers(self) -> dict[str, Any]:
        """What lies over the experiment, as the commands take it."""
        return {"configs": self.configs or (), "overrides": self.overrides or ()}


def find_target(target: str) -> str:
    """Take a bare name for the run of that name under runs/."""
    named = Path("runs", target)
    return str(named) if not Path(target).exists() and named.is_dir() else target


def choose_source(file: str | None, option: str | None) -> str | None:
    """Choose the file that was named in its place or with --in; refuse two."""
    if file is not None and option is not None:
        raise typer.BadParameter(f"{file} and --in {option} are two files; give one")
    return option if file is None else file
