"""`burnish new`, `burnish prepare` and `burnish tokenizer`: from files to what an experiment trains on."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from burnish.cli.console import counting
from burnish.cli.options import Asked, Json, argument, option
from burnish.cli.tables import TextTable
from burnish.cli.verb import Lines, Reply, group, verb
from burnish.cli.wrapping import say

if TYPE_CHECKING:
    from burnish.commands.prepare import Written
    from burnish.commands.split import Divided

_SHOWN_CLASSES = 20


@verb("new")
def new(
    data: Annotated[str, argument("FILE", "A data file: CSV, TSV, JSON lines, Parquet …")],
    *,
    out: Annotated[
        Path | None, option("--out -o FILE", "Where to write; default: the data file's name with .yaml.")
    ] = None,
    text: Annotated[str | None, option("--text COLUMN", "The text column, if the guess is wrong.")] = None,
    label: Annotated[
        str | None, option("--label --target COLUMN", "The column to predict, if the guess is wrong.")
    ] = None,
    encoding: Annotated[
        str | None, option("--encoding NAME", "The encoding of the file, if the guess is wrong.")
    ] = None,
    force: Annotated[bool, option("--force", "Overwrite an existing file.")] = False,
) -> Lines:
    """Inspect a data file and write a commented experiment for it."""
    from burnish.commands.new import new as command

    written = command(data, out=out, text=text, label=label, encoding=encoding, force=force)
    if written.rivals and _is_asked():
        listed = ", ".join([str(written.target), *written.rivals])
        chosen = typer.prompt(f"which column is to be predicted: {listed}?", default=written.target)
        if chosen != written.target:
            written = command(data, out=out, label=chosen, encoding=encoding, force=True)
    notes = [f"note: {note}" for note in written.notes]
    return [*notes, f"wrote {written.path}; look through it, then\n  burnish train {shlex.quote(str(written.path))}"]


def _is_asked() -> bool:
    """Tell whether somebody sits at a terminal and can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


@verb("features", short_help="Write encoded features (the default).", leaves={"--out": "outputs/prepared"})
def features(
    *,
    out: Annotated[Path, option("--out -o DIR", "The folder to create; it must not exist.")],
    asked: Asked,
    has_tfrecord: Annotated[
        bool, option("--tfrecord", "Also write texts as TFRecord files of tf.train.Example.")
    ] = False,
    shard_size: Annotated[str, option("--shard-size SIZE", "The largest size of one file, like 100MB.")] = "256MB",
    is_json: Json = False,
) -> Reply:
    """Encode every split of an experiment once, into a folder you can train from."""
    from burnish.commands.prepare import prepare as command

    with counting("writing records", is_silent=is_json) as progress:
        written = command(
            asked.experiment,
            **asked.layers,
            out=out,
            shard_size=shard_size,
            has_tfrecord=has_tfrecord,
            tell=say,
            progress=progress,
        )
    return Reply(written, _features(written, asked))


@verb("split", short_help="Split data files into train, validation and test files.")
def split(
    sources: Annotated[
        list[str], argument("FILE…", "CSV, TSV, JSON lines, Parquet or Arrow; several have the same columns.")
    ],
    *,
    out: Annotated[Path, option("--out -o DIR", "The folder for the new files.")],
    validation: Annotated[
        str, option("--validation PORTION", "Size of the validation file: a share like 10%, or a number of rows.")
    ] = "10%",
    dev: Annotated[str | None, option("--dev", "", hidden=True)] = None,
    test: Annotated[str | None, option("--test PORTION", "Size of the test file, if any.")] = None,
    layout: Annotated[
        Literal["id_label_alpha_text", "id_alpha_label_text_a_text_b"] | None,
        option("--layout NAME", "The columns of TSV files without header, as `data.layout` names them."),
    ] = None,
    label: Annotated[str | None, option("--label COLUMN", "The column to stratify by, if the guess is wrong.")] = None,
    group: Annotated[
        list[str] | None, option("--group COLUMN", "Keep rows with equal values together; repeatable.")
    ] = None,
    seed: Annotated[int, option("--seed N", "The random seed of the split.", min=0)] = 0,
) -> Reply:
    """Split data files into train, validation and test files of the same format."""
    from burnish.commands.split import split as command

    share = dev or validation
    chosen = partial(command, layout=layout, label=label, group=group or (), seed=seed)
    divided = chosen(*sources, out=out, validation=share, test=test)
    lines = (
        _count_classes(divided),
        f"validation is {divided.how}",
        f"wrote {', '.join(map(str, divided.files.values()))}; for an experiment on them",
        f"  burnish new {shlex.quote(str(divided.files['train']))}",
    )
    return Reply(divided, lines)


def _count_classes(divided: "Divided") -> TextTable:
    names = tuple(divided.files)
    rows = [(each, *(f"{counted[name]:,}" for name in names)) for each, counted in divided.counts.items()]
    if len(rows) > _SHOWN_CLASSES:
        rest = tuple("" for _ in names)
        rows = [*rows[:_SHOWN_CLASSES], (f"… {len(rows) - _SHOWN_CLASSES:,} more", *rest)]
    if divided.label is not None:
        totals = tuple(f"{sum(counted[name] for counted in divided.counts.values()):,}" for name in names)
        rows.append(("all", *totals))
    return TextTable((divided.label or "", *names), tuple(rows), right=names)


@verb("train", short_help="Train a tokenizer and write it to a folder.")
def train_tokenizer(
    files: Annotated[
        list[str] | None, argument("FILE", "Text, CSV, JSON lines, Parquet …; globs and package: addresses too.")
    ] = None,
    *,
    out: Annotated[Path, option("--out -o DIR", "The folder to write.")],
    kind: Annotated[
        Literal["wordpiece", "bpe", "unigram"], option("--kind", "The algorithm; bpe is byte-level.")
    ] = "wordpiece",
    vocab_size: Annotated[int, option("--size N", "Vocabulary size, special tokens included.")] = 30_000,
    lowercase: Annotated[
        bool | None, option("--lower/--cased", "Lowercase the text; the default except for bpe.")
    ] = None,
    frame: Annotated[
        Literal["encoder", "decoder", "xlnet"] | None,
        option("--frame", "Which special tokens surround a text; default for bpe: decoder."),
    ] = None,
    special: Annotated[list[str] | None, option("--special TOKEN", "A token that is never split; repeatable.")] = None,
    min_frequency: Annotated[int, option("--min-frequency N", "How often a token must occur.", min=1)] = 2,
    columns: Annotated[
        list[str] | None, option("--column COLUMN", "The column to read; repeatable; default: text.")
    ] = None,
    experiment: Annotated[
        str | None,
        option("--experiment -e EXPERIMENT", "Use the training rows of this experiment instead of files."),
    ] = None,
    force: Annotated[bool, option("--force", "Overwrite an existing folder.")] = False,
    is_json: Json = False,
) -> Reply:
    """Train a tokenizer on texts; the folder works as `model.tokenizer` and in transformers."""
    from burnish.commands.tokenizer import train as command

    with counting("reading", is_silent=is_json) as progress:
        learned = command(
            files or (),
            out=out,
            experiment=experiment,
            columns=columns or (),
            kind=kind,
            vocab_size=vocab_size,
            lowercase=lowercase,
            frame=frame,
            special=special or (),
            min_frequency=min_frequency,
            force=force,
            progress=progress,
        )
    lines = (
        f"wrote {learned.path}: {learned.vocab_size:,} tokens from {learned.num_texts:,} texts, "
        f"{learned.tokens_per_word:.2f} tokens per word",
        f"use it with\n  model.tokenizer={shlex.quote(str(learned.path))}",
    )
    return Reply(learned, lines)


class _Prepare(TyperGroup):
    """Take what is no verb for an experiment, so that `burnish prepare EXPERIMENT` needs none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args if not args or args[0] in (*self.commands, "-h", "--help") else ["features", *args]
        return super().parse_args(ctx, named)


prepare = group("prepare", "Prepare data: split files, or encode features.", features, split, cls=_Prepare)
tokenizer = group("tokenizer", "Train tokenizers on your own texts.", train_tokenizer)


def _features(written: "Written", asked: Asked) -> Lines:
    from burnish.data.cache.sizes import write_size

    rows = tuple((name, f"{count:,}", f"{written.features[name]:,}") for name, count in written.rows.items())
    yield TextTable(("split", "rows", "features"), rows, right=("rows", "features"))
    yield f"{written.num_files} files, {write_size(written.num_bytes)}, in {written.path}; to train from them"
    layers = [word for config in asked.configs or () for word in ("-c", str(config))]
    layers += [word for text in asked.params_override or () for word in ("--params-override", text)]
    others = [each for each in asked.overrides or () if not each.startswith(("data=", "data."))]
    yield f"  {shlex.join(['burnish', 'train', asked.experiment, *layers, *others, written.override])}"


@verb("cp", short_help="Copy from or to gs:// and s3://.")
def cp(
    source: Annotated[str, argument("SOURCE", "A file, a folder or an address.")],
    target: Annotated[str, argument("TARGET", "Where it goes; one of both is an address.")],
    *,
    is_json: Json = False,
) -> Reply:
    """Copy files and folders from or to an address; what is there already is not copied again."""
    from burnish.commands.copy import cp as command

    with counting("copied", is_silent=is_json) as progress:
        found = command(source, target, progress=progress)
    there = found.num_files - found.num_copied
    rest = f", {there:,} were there already" if there else ""
    return Reply(found, [f"{found.num_copied:,} of {found.num_files:,} files copied to {found.target}{rest}"])
