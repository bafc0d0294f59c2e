"""`burnish evaluate`, `check` and `search`: how good a run is, whether that is enough, and what it finds."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from burnish.cli.console import JsonConsole, counting
from burnish.cli.figures import figure
from burnish.cli.options import (
    Champions,
    Json,
    OfSeveral,
    Required,
    Run,
    Target,
    TrustCode,
    UsedEngine,
    argument,
    choose_source,
    find_target,
    option,
)
from burnish.cli.outcome import scores_table
from burnish.cli.progress import announce
from burnish.cli.tables import TextTable, shorten
from burnish.cli.verb import Reply, verb
from burnish.cli.wrapping import say

if TYPE_CHECKING:
    from burnish.commands.evaluate import Evaluation

_TEXT_CHARACTERS = 100
NOT_GOOD_ENOUGH = 8
"""The exit code of a run that does not pass `burnish check`."""


@verb("evaluate", leaves={})
def evaluate(
    target: Target,
    file: Annotated[str | None, argument("FILE", "A labelled file to score instead of a split; same as --in.")] = None,
    *,
    split: Annotated[
        str | None, option("--split SPLIT", "train, validation or test; default: test if there is one.")
    ] = None,
    data: Annotated[str | None, option("--in FILE", "Score this labelled file instead of a split.")] = None,
    task: OfSeveral = None,
    is_watching: Annotated[bool, option("--watch", "Score each new checkpoint until the run ends.")] = False,
    timeout: Annotated[
        float | None,
        option("--timeout MINUTES", "With --watch: wait so long for the run and for each checkpoint.", min=0),
    ] = None,
    checkpoint: Annotated[
        str | None,
        option("--checkpoint STEP", "Score one checkpoint, finished run or not: a step, last or best."),
    ] = None,
    engine: UsedEngine = "torch",
    trust_code: TrustCode = False,
    is_json: Json = False,
) -> Reply | None:
    """Score a run or an artifact, with 95% confidence intervals."""
    data = choose_source(file, data)
    if checkpoint is not None:
        if is_watching or task is not None or data is not None or engine != "torch":
            raise typer.BadParameter("--checkpoint scores a split of a run; leave out --watch, --task, --engine, --in")
        return _score_checkpoint(target, checkpoint, split=split, trust_code=trust_code, is_json=is_json)
    if is_watching:
        if task is not None or data is not None:
            raise typer.BadParameter("--watch scores all tasks of a run on a split; leave out --task and --in")
        _watch(target, split=split or "validation", timeout=timeout, trust_code=trust_code, is_json=is_json)
        return None
    from burnish.commands.evaluate import evaluate as command

    options: dict[str, Any] = {"task": task, "trust_code": trust_code, "engine": engine}
    with counting("scoring", is_silent=is_json) as progress:
        found = command(find_target(target), split=split, data=data, **options, progress=progress)
    document = {"target": target, "split": found.split, "in": data, "scores": found.scores}
    return Reply(document, [_tabulate(found, asked=split or data)], notes=found.notes)


@verb("search", short_help="Find the passages nearest to a text.")
def search(
    target: Target,
    file: Annotated[str | None, argument("FILE", "A file of passages; same as --in.")] = None,
    *,
    texts: Annotated[list[str] | None, option("--text TEXT", "What to search for; repeatable.")] = None,
    source: Annotated[str | None, option("--in FILE", "A file of passages, one a row.")] = None,
    column: Annotated[str | None, option("--column NAME", "Their column; default: that of training.")] = None,
    top: Annotated[int, option("--top N", "How many passages to show.", min=1)] = 5,
    task: OfSeveral = None,
    trust_code: TrustCode = False,
    is_json: Json = False,
) -> Reply:
    """Find the passages of a file that are nearest to a text, with a retrieval run."""
    from burnish.commands.search import search as command

    source = choose_source(file, source)
    if source is None or not texts:
        raise typer.BadParameter('search needs a file of passages and a text: burnish search RUN FILE --text "…"')
    with counting("embedding", is_silent=is_json) as progress:
        found = command(
            find_target(target),
            texts,
            source=source,
            column=column,
            top=top,
            task=task,
            trust_code=trust_code,
            progress=progress,
        )
    results = [{"text": text, "passages": hits} for text, hits in zip(texts, found, strict=True)]
    lines = [
        TextTable(
            ("score", "row", "passage"),
            tuple((figure(hit.score), hit.place, shorten(hit.text, most=_TEXT_CHARACTERS)) for hit in hits),
            title=text if len(texts) > 1 else "",
        )
        for text, hits in zip(texts, found, strict=True)
    ]
    return Reply({"target": target, "in": source, "results": results}, lines)


@verb("check", short_help="Check that a run is good enough to be used.")
def check(
    run: Run,
    *,
    require: Required = None,
    no_worse_than: Champions = None,
    by: Annotated[
        Literal["interval", "value"], option("--by", "Compare the near end of the 95% interval, or the value itself.")
    ] = "interval",
    trust_code: TrustCode = False,
) -> Reply:
    """Check that a run is good enough: exit code 0 if so, 8 if not."""
    from burnish.commands.gate import check as command

    result = command(run, require=require or (), no_worse_than=no_worse_than or (), by=by, trust_code=trust_code)
    document = {"run": result.run, "is_passed": result.is_passed, "findings": result.findings}
    lines = [f"{'✓' if each.is_met else '✗'} {each.asked}\n  {each.sentence}" for each in result.findings]
    return Reply(document, lines, code=0 if result.is_passed else NOT_GOOD_ENOUGH)


def _score_checkpoint(target: str, checkpoint: str, *, split: str | None, trust_code: bool, is_json: bool) -> Reply:
    words: dict[str, Literal["last", "best"]] = {"last": "last", "best": "best"}
    if checkpoint not in words and not re.fullmatch(r"[0-9]{1,18}", checkpoint):
        raise typer.BadParameter(f"--checkpoint takes a step, like 500, or last or best; got '{checkpoint}'")
    from burnish.commands.evaluate import evaluate_checkpoint
    from burnish.run.record.directory import find_run

    run, which = find_run(target, is_whole=True).path, words.get(checkpoint) or int(checkpoint)
    with counting("scoring", is_silent=is_json) as progress:
        found = evaluate_checkpoint(run, which=which, split=split, trust_code=trust_code, progress=progress)
    document = {"target": target, "step": found.step, "split": found.split, "scores": found.scores}
    return Reply(document, [_tabulate(found, asked=split)])


def _tabulate(found: "Evaluation", *, asked: str | None) -> TextTable:
    title = asked or (found.split or "" if found.split == "test" else f"{found.split} (there is no test split)")
    return scores_table(found.scores, title=title if found.step is None else f"{title}, step {found.step}")


def _watch(target: str, *, split: str, timeout: float | None, trust_code: bool, is_json: bool) -> None:
    from burnish.commands.evaluate import watch
    from burnish.run.record.directory import RUNS, find_run

    is_awaited = timeout is not None and not any((root / target).exists() for root in (Path(), RUNS))
    run = Path(target) if is_awaited else find_run(target).path
    emit = JsonConsole(sys.stdout).watch if is_json else lambda event: say(announce(event) or "", stream=sys.stdout)
    watch(run, split=split, timeout_minutes=timeout, trust_code=trust_code, emit=emit)
