"""`burnish config`: look at experiments without running them."""

from typing import Annotated

import typer

from burnish.cli.documents import print_document
from burnish.cli.options import Configs, Experiment, Json, Overrides, print_help
from burnish.cli.tables import Table, show

app = typer.Typer(
    callback=print_help,
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Show, explain, compare and check experiments.",
)

Either = Annotated[str, typer.Argument(metavar="EXPERIMENT", help="A named experiment or a YAML file.")]


@app.command("show")
def show_experiment(
    experiment: Experiment,
    overrides: Overrides = None,
    *,
    configs: Configs = None,
    has_origins: Annotated[bool, typer.Option("--origins", help="Tell after each value where it came from.")] = False,
) -> None:
    """Print an experiment in full, as YAML that loads back to the same."""
    from burnish.commands.config import show as command

    files = [str(path) for path in configs or ()]
    print(command(experiment, configs=files, overrides=overrides or (), origins=has_origins), end="")


@app.command("why")
def why(
    key: Annotated[str, typer.Argument(metavar="KEY", help="An option or a section, like train.batch.")],
    experiment: Experiment,
    overrides: Overrides = None,
    *,
    configs: Configs = None,
) -> None:
    """Tell where an option's value came from, and what it replaced."""
    from burnish.commands.config import why as command

    files = [str(path) for path in configs or ()]
    for line in command(key, experiment, configs=files, overrides=overrides or ()):
        print(line)


@app.command("diff")
def diff(left: Either, right: Either, *, is_json: Json = False) -> None:
    """List the options in which two experiments differ."""
    from burnish.commands.config import diff as command

    differences = command(left, right)
    if is_json:
        print_document(differences)
    elif not differences:
        print("no difference")
    else:
        rows = tuple((each.path, each.left or "-", each.right or "-") for each in differences)
        show(Table(("option", left, right), rows))


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of experiments, for editors."""
    from burnish.commands.config import schema as command

    print_document(command())


@app.command("check")
def check(experiment: Experiment, overrides: Overrides = None, *, configs: Configs = None) -> None:
    """Check an experiment and leave; every problem is told at once."""
    from burnish.commands.config import check as command

    files = [str(path) for path in configs or ()]
    resolved = command(experiment, configs=files, overrides=overrides or ())
    print(f"{resolved.experiment.name} has no problems")
