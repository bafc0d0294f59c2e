"""The starters of a table, each column with the kind it seems to be, and of a file of tags, questions or choices."""

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from burnish.commands.starter.lines import DataFiles, Starter, line, scalar, scalars
from burnish.errors import DataError

if TYPE_CHECKING:
    from burnish.data.inspection.propose import TaskShape
    from burnish.tasks.tabular.guess import Guess

_MOST_SHOWN = 60
_ROWS_LOOKED_AT = 20_000
"""What columns are is told by as many rows, evenly spaced; training looks at all."""
_CAREFUL = "; careful: it almost determines the target by itself"
_CALLED = {
    "token_classification": "a tag for every word",
    "question_answering": "answers found in texts",
    "multiple_choice": "one of several choices",
    "masked_lm": "hidden words of plain text; causal_lm continues it instead",
}


def start_shape(data: DataFiles, *, shape: "TaskShape") -> Starter:
    """Take the task that the shape of a file tells."""
    called = _CALLED[shape.task]
    lines = [line("  type", shape.task, called)]
    lines += [line(f"  {each.name}", scalars(each.values), each.comment) for each in shape.options]
    lines.append(line("  max_length", str(shape.max_length), "tokens; what is longer is cut or read in parts"))
    columns = (f"{each.name} is {' '.join(f'`{value}`' for value in each.values)}" for each in shape.options)
    return Starter(shape.task, lines, [f"this is {shape.task}: {called}; {', '.join(columns)}"])


def start_table(data: DataFiles, *, chosen: str, is_guess: bool, rivals: Sequence[str] = ()) -> Starter:
    """Learn the chosen column from all others."""
    guesses, kind, telling, num_bad = _look_at(data, chosen)
    prose = [column.name for column in data.facts.columns if column.is_prose and column.name != chosen]
    if prose:
        left_out = ", ".join(f"`{name}`" for name in prose)
        notes = [f"this is a table, and {left_out} is left out: few rows have a text; the target is `{chosen}`: {kind}"]
    else:
        notes = [f"no column looks like text, so this is a table; the target is `{chosen}`: {kind}"]
    if is_guess:
        notes.append("the target is a guess; --target COLUMN chooses another")
    if rivals:
        path = shlex.quote(data.files["train"])
        commands = "; ".join(f"burnish new {path} --target {shlex.quote(name)} --force" for name in rivals)
        notes.append(f"{_listed(rivals)} may be meant as well: {commands}")
    if num_bad:
        rows = f"{num_bad:,} row{'s' * (num_bad != 1)}"
        notes.append(f"`{chosen}` holds no number in {rows}; data.bad_rows: skip trains without them")
    unused = [f"`{name}`: {guess.why}" for name, guess in guesses.items() if guess.kind == "drop"]
    notes += [f"ignored {'; '.join(unused)}"] if unused else []
    notes += [
        f"`{name}` almost determines `{chosen}` by itself (it scores {score:.3f}): if it is known only afterwards, "
        "state it as `drop` under task.columns"
        for name, score in telling.items()
    ]
    lines = _write_table(chosen, kind, guesses, telling)
    return Starter("tabular", lines, notes, target=chosen, rivals=tuple(rivals))


def _listed(names: Sequence[str]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} or {last}" if most else last


def _look_at(data: DataFiles, target: str) -> "tuple[dict[str, Guess], str, dict[str, float], int]":
    """Guess what the columns are and the kind of the target; find what gives it away, and how many hold no number."""
    import numpy as np
    import pyarrow as pa

    from burnish.data.readers.read import read
    from burnish.data.sources.address import find
    from burnish.tasks.labels import LabelColumns
    from burnish.tasks.tabular.frame import ColumnFrame
    from burnish.tasks.tabular.guess import guess
    from burnish.tasks.tabular.leakage import giveaways

    table = read(find(data.files["train"], option="the data file")[0], data.facts.options).rows.table
    if len(table) > _ROWS_LOOKED_AT:
        table = table.take(pa.array(np.linspace(0, len(table) - 1, _ROWS_LOOKED_AT).astype(np.int64)))
    frame, labels = ColumnFrame(table), LabelColumns((target,))
    kind = labels.guess_kind(table)
    if kind == "multilabel":
        raise DataError(f"the target `{target}` holds lists, and a row of a table has one; choose another with --label")
    num_bad = len(labels.numbers(table)[1]) if kind == "regression" else 0
    guesses = {name: guess(frame, name) for name in sorted(table.column_names) if name != target}
    used = [name for name, found in guesses.items() if found.kind != "drop"]
    return guesses, kind, giveaways(frame, used, target=labels, kind=kind), num_bad


def _write_table(target: str, kind: str, guesses: "Mapping[str, Guess]", telling: Mapping[str, float]) -> list[str]:
    shown = list(guesses.items())[:_MOST_SHOWN]
    more = [f"  #   … and {len(guesses) - len(shown)} more, found out in the same way"]
    return [
        "  type: tabular",
        line("  target", scalar(target), "the column to learn"),
        line("  kind", kind, "binary, multiclass or regression; auto: detect from the data"),
        "  # Detected column types. Uncomment to override:",
        "  # columns:",
        *(line(f"  #   {scalar(name)}", each.kind, each.why + _CAREFUL * (name in telling)) for name, each in shown),
        *(more if len(guesses) > len(shown) else []),
    ]
