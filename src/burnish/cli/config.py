"""`burnish config`: look at experiments without running them."""

from typing import Annotated

import typer

from burnish.cli.documents import print_document
from burnish.cli.options import Configs, Experiment, Json, Overrides, print_help
from burnish.cli.tables import TextTable, show

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
    has_origins: Annotated[bool, typer.Option("--origins", help="Show where each value came from.")] = False,
) -> None:
    """Print the full experiment as YAML that loads back unchanged."""
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
    """Show where an option's value came from, and what it replaced."""
    from burnish.commands.config import why as command

    files = [str(path) for path in configs or ()]
    for line in command(key, experiment, configs=files, overrides=overrides or ()):
        print(line)


@app.command("diff")
def diff(left: Either, right: Either, *, is_json: Json = False) -> None:
    """List the options that differ between two experiments."""
    from burnish.commands.config import diff as command

    differences = command(left, right)
    if is_json:
        print_document(differences)
    elif not differences:
        print("no difference")
    else:
        rows = tuple((each.path, each.left or "-", each.right or "-") for each in differences)
        show(TextTable(("option", left, right), rows))


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of experiments, for editor completion."""
    from burnish.commands.config import schema as command

    print_document(command())


@app.command("check")
def check(experiment: Experiment, overrides: Overrides = None, *, configs: Configs = None) -> None:
    """Check an experiment and its inputs; report all problems at once."""
    from burnish.commands.config import check as command

    files = [str(path) for path in configs or ()]
    resolved = command(experiment, configs=files, overrides=overrides or (), has_inputs=True)
    print(f"{resolved.experiment.name} has no problems")
