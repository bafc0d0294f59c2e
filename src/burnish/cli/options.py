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


def argument(metavar: str, help: str, **settings: Any) -> Any:
    """Declare a word that is told by its place."""
    return typer.Argument(metavar=metavar, help=help, **settings)


def complete_experiment(incomplete: str) -> list[str]:
    """Name the experiments that a shell may complete a word to; it offers files itself."""
    from burnish.config.locate import experiments

    return [each.name for each in experiments() if each.name.startswith(incomplete)]


Experiment = Annotated[
    str,
    argument(
        *("EXPERIMENT", "A named experiment (see `burnish list experiments`) or a YAML file."),
        autocompletion=complete_experiment,
    ),
]
Overrides = Annotated[list[str] | None, argument("KEY=VALUE", 'Options to override, like train.length="3 epochs".')]
Configs = Annotated[
    list[Path] | None,
    option("--config -c FILE", "A YAML file or a named layer (`list layers`) over the experiment; repeatable."),
]
ParamsOverride = Annotated[
    list[str] | None,
    option("--params-override --params_override a=1,b.c=2", "Options in one word, as Model Garden's driver has them."),
]
Processes = Annotated[
    int | None, option("--processes N", "How many local processes share each batch; default: one for each GPU.", min=1)
]
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


Required = Annotated[list[str] | None, option("--require REQUIREMENT", 'Like "test/accuracy >= 0.85"; repeatable.')]
Champions = Annotated[
    list[str] | None, option("--no-worse-than RUN", "A run that must not be shown to be better; repeatable.")
]


@dataclass(frozen=True)
class Together:
    """The processes that train one run, here and on other machines."""

    processes: Processes = None
    nodes: Annotated[
        str | None, option("--nodes N|MIN:MAX", "How many machines train together; start this command on each.")
    ] = None
    rendezvous: Annotated[
        str | None, option("--rendezvous HOST:PORT", "Where they meet: a free port of one of them.")
    ] = None
    max_restarts: Annotated[
        int | None,
        option("--max-restarts N", "How often to start again after a process died; default: 0, with --nodes 3.", min=0),
    ] = None

    @property
    def group(self) -> Any:
        """What the commands take; refuses what does not fit together."""
        from burnish.launch.group import read_group

        return read_group(self.processes, nodes=self.nodes, rendezvous=self.rendezvous, max_restarts=self.max_restarts)


LOCAL = "local"
LAUNCH = "launch"
"""What launch options begin with among the words of an experiment."""
LaunchOption = Annotated[
    list[str] | None,
    option("--launch -l FILE", "Launch options: a YAML file, or KEY=VALUE like machine=n1-standard-8; repeatable."),
]
Sure = Annotated[bool, option("--yes -y", "Do not ask.")]


@dataclass(frozen=True)
class Launching:
    """Where a command shall run."""

    where: Annotated[
        str, option("--on WHERE", "Run it here, or as a job: torchrun, slurm, kubernetes, ray, vertex.")
    ] = LOCAL
    launch_options: LaunchOption = None
    is_dry_run: Annotated[
        bool, option("--dry-run", "With --on: print the request as JSON; nothing is sent or asked for.")
    ] = False
    is_detached: Annotated[bool, option("--detach", "With --on: return as soon as the job is accepted.")] = False
    is_sure: Annotated[bool, option("--yes -y", "With --on: do not ask before what costs money.")] = False


@dataclass(frozen=True)
class Asked:
    """The experiment that somebody asks for."""

    experiment: Experiment
    overrides: Overrides = None
    configs: Configs = None
    params_override: ParamsOverride = None

    @property
    def layers(self) -> dict[str, Any]:
        """What lies over the experiment, as the commands take it."""
        from burnish.config.sources import split_overrides  # reads configs: not for `--help` to load

        split = [word for text in self.params_override or () for word in split_overrides(text)]
        return {"configs": self.configs or (), "overrides": [*split, *(self.overrides or ())]}


def find_target(target: str) -> str:
    """Take a bare name for the run of that name under runs/."""
    named = Path("runs", target)
    return str(named) if not Path(target).exists() and named.is_dir() else target


def choose_source(file: str | None, option: str | None) -> str | None:
    """Choose the file that was named in its place or with --in; refuse two."""
    if file is not None and option is not None:
        raise typer.BadParameter(f"{file} and --in {option} are two files; give one")
    return option if file is None else file
