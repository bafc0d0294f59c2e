"""`burnish prepare`: files made ready for training."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from burnish.cli.counter import counting
from burnish.cli.documents import print_document
from burnish.cli.options import Configs, Experiment, Json, Overrides, print_help
from burnish.cli.tables import TextTable, show

if TYPE_CHECKING:
    from burnish.commands.split import Divided

_SHOWN_CLASSES = 20

_OWN = ("-h", "--help")


class _Prepare(TyperGroup):
    """Take what is no verb for an experiment, so that `burnish prepare EXPERIMENT` needs none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args if not args or args[0] in (*self.commands, *_OWN) else ["features", *args]
        return super().parse_args(ctx, named)


app = typer.Typer(
    cls=_Prepare,
    callback=print_help,
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Prepare data: split files, or encode features.",
)


@app.command("features", short_help="Write encoded features (the default).")
def features(
    experiment: Experiment,
    overrides: Overrides = None,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to create; it must not exist.")],
    configs: Configs = None,
    has_tfrecord: Annotated[
        bool, typer.Option("--tfrecord", help="Also write texts as TFRecord files of tf.train.Example.")
    ] = False,
    shard_size: Annotated[
        str, typer.Option("--shard-size", metavar="SIZE", help="The largest size of one file, like 100MB.")
    ] = "256MB",
    is_json: Json = False,
) -> None:
    """Encode every split of an experiment once, into a folder you can train from."""
    from burnish.commands.prepare import prepare as command
    from burnish.data.cache.sizes import written_size

    with counting("writing records", is_silent=is_json) as progress:
        written = command(
            experiment,
            out=out,
            configs=configs or (),
            overrides=overrides or (),
            shard_size=shard_size,
            has_tfrecord=has_tfrecord,
            tell=lambda note: print(note, file=sys.stderr, flush=True),
            progress=progress,
        )
    if is_json:
        print_document(written)
        return
    rows = tuple((name, f"{count:,}", f"{written.features[name]:,}") for name, count in written.rows.items())
    show(TextTable(("split", "rows", "features"), rows, right=("rows", "features")))
    print(f"{written.num_files} files, {written_size(written.num_bytes)}, in {out}; to train from them")
    layers = [word for config in configs or () for word in ("-c", str(config))]
    others = [each for each in overrides or () if not each.startswith(("data=", "data."))]
    print(f"  {shlex.join(['burnish', 'train', experiment, *layers, *others, written.override])}")


@app.command("split", short_help="Split one file into train, validation and test files.")
def split(
    source: Annotated[str, typer.Argument(metavar="FILE", help="CSV, TSV, JSON lines, Parquet or Arrow.")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for the new files.")],
    validation: Annotated[
        str,
        typer.Option(
            "--validation",
            metavar="PORTION",
            help="Size of the validation file: a share like 10%, or a number of rows.",
        ),
    ] = "10%",
    dev: Annotated[str | None, typer.Option("--dev", hidden=True)] = None,
    test: Annotated[
        str | None, typer.Option("--test", metavar="PORTION", help="Size of the test file, if any.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="The column to stratify by, if the guess is wrong."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="COLUMN", help="Keep rows with equal values together; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The random seed of the split.")] = 0,
    is_json: Json = False,
) -> None:
    """Split one file into train, validation and test files of the same format."""
    from burnish.commands.split import split as command

    divided = command(
        source, out=out, validation=dev or validation, test=test, label=label, group=group or (), seed=seed
    )
    if is_json:
        print_document(divided)
        return
    show(_table(divided))
    print(f"validation is {divided.how}")
    print(f"wrote {', '.join(map(str, divided.files.values()))}; for an experiment on them")
    print(f"  burnish new {shlex.quote(str(divided.files['train']))}")


def _table(divided: "Divided") -> TextTable:
    names = tuple(divided.files)
    rows = [(each, *(f"{counted[name]:,}" for name in names)) for each, counted in divided.counts.items()]
    if len(rows) > _SHOWN_CLASSES:
        rest = tuple("" for _ in names)
        rows = [*rows[:_SHOWN_CLASSES], (f"… {len(rows) - _SHOWN_CLASSES:,} more", *rest)]
    if divided.label is not None:
        totals = tuple(f"{sum(counted[name] for counted in divided.counts.values()):,}" for name in names)
        rows.append(("all", *totals))
    return TextTable((divided.label or "", *names), tuple(rows), right=names)
