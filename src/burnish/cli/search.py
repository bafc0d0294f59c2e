"""`burnish search`: find passages by meaning, with a retrieval run."""

from typing import Annotated

import typer

from burnish.cli.counter import counting
from burnish.cli.documents import print_document
from burnish.cli.figures import figure
from burnish.cli.options import Json, OfSeveral, Target, TrustCode, one_source, resolved
from burnish.cli.tables import TextTable, shortened, show

_TEXT_CHARACTERS = 100


def search(
    target: Target,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="A file of passages; same as --in.")] = None,
    *,
    texts: Annotated[
        list[str] | None, typer.Option("--text", metavar="TEXT", help="What to search for; repeatable.")
    ] = None,
    source: Annotated[str | None, typer.Option("--in", metavar="FILE", help="A file of passages, one a row.")] = None,
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="Their column; default: that of training.")
    ] = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="How many passages to show.")] = 5,
    task: OfSeveral = None,
    trust_code: TrustCode = False,
    is_json: Json = False,
) -> None:
    """Find the passages of a file that are nearest to a text, with a retrieval run."""
    from burnish.commands.search import search as command

    source = one_source(file, source)
    if source is None or not texts:
        raise typer.BadParameter('search needs a file of passages and a text: burnish search RUN FILE --text "…"')
    with counting("embedding", is_silent=is_json) as progress:
        found = command(
            resolved(target),
            texts,
            source=source,
            column=column,
            top=top,
            task=task,
            trust_code=trust_code,
            progress=progress,
        )
    if is_json:
        results = [{"text": text, "passages": hits} for text, hits in zip(texts, found, strict=True)]
        print_document({"target": target, "in": source, "results": results})
        return
    for text, hits in zip(texts, found, strict=True):
        rows = tuple((figure(hit.score), hit.place, shortened(hit.text, most=_TEXT_CHARACTERS)) for hit in hits)
        show(TextTable(("score", "row", "passage"), rows, title=text if len(texts) > 1 else ""))
