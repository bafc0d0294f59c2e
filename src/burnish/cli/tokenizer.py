"""`burnish tokenizer`: tokenizers learned from your own texts."""

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from burnish.cli.counter import counting
from burnish.cli.documents import print_document
from burnish.cli.options import Json, print_help

app = typer.Typer(
    callback=print_help,
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Train tokenizers on your own texts.",
)


Sources = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE", help="Text, CSV, JSON lines, Parquet …; globs and package: addresses too."),
]
Kind = Annotated[
    Literal["wordpiece", "bpe", "unigram"], typer.Option("--kind", help="The algorithm; bpe is byte-level.")
]
Lower = Annotated[bool | None, typer.Option("--lower/--cased", help="Lowercase the text; the default except for bpe.")]
Frame = Annotated[
    Literal["encoder", "decoder", "xlnet"] | None,
    typer.Option("--frame", help="Which special tokens surround a text; default for bpe: decoder."),
]
Special = Annotated[
    list[str] | None, typer.Option("--special", metavar="TOKEN", help="A token that is never split; repeatable.")
]
Seen = Annotated[int, typer.Option("--min-frequency", metavar="N", min=1, help="How often a token must occur.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="COLUMN", help="The column to read; repeatable; default: text."),
]
Instead = Annotated[
    str | None,
    typer.Option(
        "--experiment", "-e", metavar="EXPERIMENT", help="Use the training rows of this experiment instead of files."
    ),
]


@app.command("train", short_help="Train a tokenizer and write it to a folder.")
def train(
    files: Sources = None,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write.")],
    kind: Kind = "wordpiece",
    vocab_size: Annotated[
        int, typer.Option("--size", metavar="N", help="Vocabulary size, special tokens included.")
    ] = 30_000,
    lowercase: Lower = None,
    frame: Frame = None,
    special: Special = None,
    min_frequency: Seen = 2,
    columns: Columns = None,
    experiment: Instead = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing folder.")] = False,
    is_json: Json = False,
) -> None:
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
    if is_json:
        print_document(learned)
        return
    print(
        f"wrote {learned.path}: {learned.vocab_size:,} tokens from {learned.num_texts:,} texts, "
        f"{learned.tokens_per_word:.2f} tokens per word\nuse it with\n  "
        f"model.tokenizer={shlex.quote(str(learned.path))}"
    )
