"""`burnish list`, `config` and `import`: what can be named, and experiments as they are without running them."""

from itertools import groupby
from pathlib import Path
from typing import Annotated

from burnish.cli.options import Asked, argument, option
from burnish.cli.tables import TextTable
from burnish.cli.verb import Lines, Reply, group, print_document, verb
from burnish.cli.wrapping import Verbatim, say

Either = Annotated[str, argument("EXPERIMENT", "A named experiment or a YAML file.")]
_KINDS = (
    "experiments, layers, tasks, data, models, truncations, optimizers, schedules, metrics, objectives, "
    "trackers, notifiers, formats, launchers, pretrained; or all."
)


@verb("list")
def list_(kind: Annotated[str | None, argument("KIND", _KINDS)] = None) -> Reply:
    """List experiments and components, and who provides them."""
    from burnish.commands.config import listing

    items = listing(None if kind == "all" else kind)
    lines: list[str | TextTable] = []
    for each, found in groupby(items, key=lambda item: item.kind):
        rows = ((f"{x.name} ({', '.join(x.aliases)})" if x.aliases else x.name, x.provider, x.summary) for x in found)
        lines += ["", TextTable((each, "provided by", "what it is"), tuple(rows))]
    return Reply(items, lines[1:])


@verb("show")
def show(
    asked: Asked,
    *,
    has_origins: Annotated[bool, option("--origins", "Show where each value came from.")] = False,
) -> Lines:
    """Print the full experiment as YAML that loads back unchanged."""
    from burnish.commands.config import show as command

    return [Verbatim(command(asked.experiment, **asked.layers, origins=has_origins).removesuffix("\n"))]


@verb("why")
def why(key: Annotated[str, argument("KEY", "An option or a section, like train.batch.")], asked: Asked) -> Lines:
    """Show where an option's value came from, and what it replaced."""
    from burnish.commands.config import why as command

    return command(key, asked.experiment, **asked.layers)


@verb("diff")
def diff(left: Either, right: Either) -> Reply:
    """List the options that differ between two experiments."""
    from burnish.commands.config import diff as command

    found = command(left, right)
    rows = tuple((each.path, each.left or "-", each.right or "-") for each in found)
    return Reply(found, [TextTable(("option", left, right), rows) if rows else "no difference"])


@verb("schema")
def schema() -> None:
    """Print the JSON Schema of experiments, for editor completion."""
    from burnish.commands.config import schema as command

    print_document(command())


@verb("check")
def check(asked: Asked) -> Lines:
    """Check an experiment and its inputs; report all problems at once."""
    from burnish.commands.config import check as command
    from burnish.run.check import idle_options

    resolved = command(asked.experiment, **asked.layers, has_inputs=True)
    for sentence in resolved.experiment.model.to_fetch():
        say(f"note: {sentence}")
    warnings = [f"warning: {each}" for each in idle_options(resolved)]
    return [f"{resolved.experiment.name} has no problems", *warnings]


@verb("import", short_help="Read a config of another tool.")
def import_(
    file: Annotated[str, argument("FILE", "A config of Determined, Model Garden, Ludwig or Google's tuning service.")],
    *,
    out: Annotated[Path, option("--out DIR", "Where experiment.yaml, space.yaml and launch.yaml go.")],
) -> Reply:
    """Write the config of another tool as files of Burnish, with a note on each line that was mapped or not."""
    from burnish.commands.imports.files import import_config

    imported = import_config(Path(file), out)
    lines = [f"{imported.mapped} options are in {', '.join(str(out / name) for name in imported.files)}"]
    lines += [f"not mapped: {each.replace(' not mapped:', '', 1)}" for each in imported.left]
    lines += [f"still to be written: {each}" for each in imported.missing]
    return Reply(imported, lines)


app = group("config", "Show, explain, compare and check experiments.", show, why, diff, schema, check)
