"""`burnish evaluate`: score a run or an artifact."""

import re
import sys
from typing import Annotated, Literal

import typer

from burnish.cli.console import JsonConsole
from burnish.cli.counter import counting
from burnish.cli.documents import print_document
from burnish.cli.options import Json, OfSeveral, Target, TrustCode, one_source, resolved
from burnish.cli.outcome import scores_table
from burnish.cli.progress import announce
from burnish.cli.tables import show
from burnish.spec.events import Evaluated


def evaluate(
    target: Target,
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A labelled file to score instead of a split; same as --in.")
    ] = None,
    *,
    split: Annotated[
        str | None,
        typer.Option("--split", metavar="SPLIT", help="train, validation or test; default: test if there is one."),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--in", metavar="FILE", help="Score this labelled file instead of a split.")
    ] = None,
    task: OfSeveral = None,
    is_watching: Annotated[bool, typer.Option("--watch", help="Score each new checkpoint until the run ends.")] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint", metavar="STEP", help="Score one checkpoint, finished run or not: a step, last or best."
        ),
    ] = None,
    trust_code: TrustCode = False,
    is_json: Json = False,
) -> None:
    """Score a run or an artifact, with 95% confidence intervals."""
    data = one_source(file, data)
    if checkpoint is not None:
        if is_watching or task is not None or data is not None:
            raise typer.BadParameter("--checkpoint scores a split of a run; leave out --watch, --task and --in")
        _checkpoint(target, checkpoint, split=split, trust_code=trust_code, is_json=is_json)
        return
    if is_watching:
        if task is not None:
            raise typer.BadParameter("--watch scores all tasks of a run; leave out --task")
        _watch(target, split=split or "validation", data=data, trust_code=trust_code, is_json=is_json)
        return
    from burnish.commands.evaluate import evaluate as command

    with counting("scoring", is_silent=is_json) as progress:
        found = command(resolved(target), split=split, data=data, task=task, trust_code=trust_code, progress=progress)
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    if is_json:
        print_document({"target": target, "split": found.split, "in": data, "scores": found.scores})
    else:
        show(scores_table(found.scores, title=_title(found.split, asked=split or data)))


def _checkpoint(target: str, checkpoint: str, *, split: str | None, trust_code: bool, is_json: bool) -> None:
    words: dict[str, Literal["last", "best"]] = {"last": "last", "best": "best"}
    if checkpoint not in words and not re.fullmatch(r"[0-9]{1,18}", checkpoint):
        raise typer.BadParameter(f"--checkpoint takes a step, like 500, or last or best; got '{checkpoint}'")
    from burnish.commands.evaluate import evaluate_checkpoint
    from burnish.run.record.directory import find_run

    which = words.get(checkpoint) or int(checkpoint)
    with counting("scoring", is_silent=is_json) as progress:
        found = evaluate_checkpoint(
            find_run(target).path, which=which, split=split, trust_code=trust_code, progress=progress
        )
    if is_json:
        print_document({"target": target, "step": found.step, "split": found.split, "scores": found.scores})
    else:
        show(scores_table(found.scores, title=f"{_title(found.split, asked=split)}, step {found.step}"))


def _title(split: str | None, *, asked: str | None) -> str:
    if asked is not None:
        return asked
    return split or "" if split == "test" else f"{split} (there is no test split)"


def _watch(target: str, *, split: str, data: str | None, trust_code: bool, is_json: bool) -> None:
    if data is not None:
        raise typer.BadParameter("--watch scores the checkpoints of a run on a split; leave out --in")
    from burnish.commands.evaluate import watch
    from burnish.run.record.directory import find_run

    emit = JsonConsole(sys.stdout).watch if is_json else _print_line
    watch(find_run(target).path, split=split, trust_code=trust_code, emit=emit)


def _print_line(event: Evaluated) -> None:
    print(announce(event), flush=True)
