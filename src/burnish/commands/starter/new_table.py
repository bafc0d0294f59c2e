"""Writes a commented starter experiment for a table, each column with the kind it seems to be."""

from pathlib import Path
from typing import TYPE_CHECKING

from burnish.commands.starter.starter import data_lines, default_lines, head_lines
from burnish.commands.starter.yaml_lines import line, scalar
from burnish.errors import DataError

if TYPE_CHECKING:
    from burnish.data.inspection.inspect import FileFacts
    from burnish.tasks.tabular.guess import Guess

_MOST_SHOWN = 60
_CAREFUL = "; careful: it almost determines the target by itself"


def table_starter(
    facts: "FileFacts", files: dict[str, str], target: Path, *, chosen: str
) -> tuple[str, tuple[str, ...]]:
    """Give the text of the starter for the chosen column, and what to look at in it."""
    guesses, kind, telling, num_bad = _looked_at(files["train"], facts, chosen)
    text = "\n".join(
        [
            *head_lines(facts, files["train"], target),
            *_task(chosen, kind, guesses, telling),
            *data_lines(facts, files),
            *default_lines("tabular"),
        ]
    )
    unused = [f"`{name}`: {guess.why}" for name, guess in guesses.items() if guess.kind == "drop"]
    notes = [f"no column looks like text, so this is a table; the target is `{chosen}`: {kind}"]
    if num_bad:
        rows = f"{num_bad:,} row{'s' * (num_bad != 1)}"
        notes.append(f"`{chosen}` holds no number in {rows}; data.bad_rows: skip trains without them")
    notes += [f"ignored {'; '.join(unused)}"] if unused else []
    notes += [_warning(name, score, chosen) for name, score in telling.items()]
    return text + "\n", tuple(notes)


def _warning(name: str, score: float, target: str) -> str:
    return (
        f"`{name}` almost determines `{target}` by itself (it scores {score:.3f}): if it is known only afterwards, "
        "state it as `drop` under task.columns"
    )


def _looked_at(path: str, facts: "FileFacts", target: str) -> "tuple[dict[str, Guess], str, dict[str, float], int]":
    from burnish.data.readers.read import read
    from burnish.data.sources.address import find
    from burnish.tasks.labels import LabelColumns
    from burnish.tasks.tabular.frame import ColumnFrame
    from burnish.tasks.tabular.guess import guess
    from burnish.tasks.tabular.leakage import giveaways

    table = read(find(path, option="the data file")[0], facts.options).rows.table
    frame = ColumnFrame(table)
    kind = LabelColumns((target,)).guess_kind(table)
    if kind == "multilabel":
        raise DataError(f"the target `{target}` holds lists, and a row of a table has one; choose another with --label")
    num_bad = len(LabelColumns((target,)).numbers(table)[1]) if kind == "regression" else 0
    guesses = {name: guess(frame, name) for name in sorted(table.column_names) if name != target}
    used = [name for name, found in guesses.items() if found.kind != "drop"]
    return guesses, kind, giveaways(frame, used, target=target, kind=kind), num_bad


def _task(target: str, kind: str, guesses: "dict[str, Guess]", telling: dict[str, float]) -> list[str]:
    lines = ["task:", "  type: tabular", line("  target", scalar(target), "the column to learn")]
    lines.append(line("  kind", kind, "binary, multiclass or regression; auto: detect from the data"))
    lines.append("  # Detected column types. Uncomment to override:")
    lines.append("  # columns:")
    shown = list(guesses.items())[:_MOST_SHOWN]
    lines += [
        line(f"  #   {scalar(name)}", guess.kind, guess.why + _CAREFUL * (name in telling)) for name, guess in shown
    ]
    if len(guesses) > len(shown):
        lines.append(f"  #   … and {len(guesses) - len(shown)} more, found out in the same way")
    return [*lines, ""]
