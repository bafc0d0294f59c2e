"""Looks at the training rows of a table: what the target is, and how each column is to be encoded."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from burnish.data.columns.parse_columns import describe_cell, is_opaque
from burnish.errors import ConfigError, DataError, Problem
from burnish.spec.values import Profile, Rows
from burnish.tasks.labels import TARGET, LabelColumns, Measure, read_numbers
from burnish.tasks.options import name_facts, refuse_odd_classes
from burnish.tasks.tabular.fit import Fitter
from burnish.tasks.tabular.frame import ColumnFrame, frame_of
from burnish.tasks.tabular.guess import is_all_of_1970
from burnish.tasks.tabular.plan import TablePlan

if TYPE_CHECKING:
    from burnish.tasks.tabular import Tabular

_OF_CLASSES = ("cross_entropy", "focal")
_OF_NUMBERS = ("squared_error", "poisson", "gamma", "quantile")


def profile(task: "Tabular", rows: Rows) -> Profile:
    """Return the profile of a table: all that is learned from the training rows before a network sees them."""
    table = rows.table
    frame = frame_of(rows, task.derived)
    kind, labels, facts = _target(task, frame)
    own = {task.target, task.weight, *task.bases(task.target)}
    stated = [name for name, options in task.columns.items() if options.kind != "drop"]
    derived = [name for name in task.derived if name != task.target]
    others = [name for name in table.column_names if name not in own] if task.others == "infer" else []
    unwanted = {name for name, options in task.columns.items() if options.kind == "drop"}
    plan = Fitter(frame, task.columns, task.normalise, task.bins, task.min_count).fit(
        # by alphabet, for the order of columns in a file means nothing
        sorted({*stated, *derived, *others} - unwanted),
        task.crosses,
    )
    if not plan.columns:
        reasons = "; ".join(f"`{name}`: {why}" for name, why in plan.dropped.items()) or "there is none but the target"
        raise DataError(f"no column is left to learn {task.target} from: {reasons}")
    inputs = sorted({base for column in plan.columns for base in task.bases(column.name)})
    answers = set(task.bases(task.target)).difference(inputs)
    order = [name for name in table.column_names if name not in answers]
    notes = [*notes_of(plan), *_notes_of_strays(rows, frame, plan), *_notes_of_dates(frame)]
    planned = {column.name for column in plan.columns}
    always_given = [name for name in inputs if name not in planned and (frame.words(name).codes >= 0).all()]
    learned = {"table": plan.to_json(), "notes": notes, "order": order, "always_given": always_given}
    return Profile(kind, labels, {**facts, **learned}, tuple(inputs))


def _target(task: "Tabular", frame: ColumnFrame) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    column = frame.column(task.target)
    if is_opaque(column.type):
        raise DataError(f"the column `{task.target}` holds {column.type}, and a target is a single word or number")
    table = pa.table({task.target: column})
    columns = LabelColumns((task.target,), label_map=task.label_map)
    kind = task.kind if task.kind != "auto" else "multiclass" if task.labels else columns.guess_kind(table)
    kind = "binary" if kind == "multiclass" and task.kind == "auto" and len(task.labels or ()) == 2 else kind
    _refuse_other_loss(task.loss, kind, task.target)
    if kind == "regression":
        given = [name for name in ("label_map", "label_names") if getattr(task, name)]
        if given:
            sentence = f"{task.target} is learned as a number, and this is for classes; set task.kind to learn classes"
            raise ConfigError([Problem(f"task.{name}: {sentence}") for name in given])
        columns.refuse_words(table)
        values, faults = read_numbers(table, task.target, transform=task.transform, loss=task.loss)
        wrong = {fault.row for fault in faults}
        known = values[[row for row in range(len(values)) if row not in wrong]] if wrong else values
        if not len(known):
            raise DataError(f"no row has a target {task.target} that can be learned: {faults[0].what}")
        link = "log" if task.loss in ("poisson", "gamma") else "identity"
        measure = Measure.of(known, transform=task.transform, link=link)
        spread = {"lowest": float(known.min()), "highest": float(known.max()), "mean": float(known.mean())}
        return kind, (), {TARGET: measure.to_json(), **spread}
    classes = tuple(task.labels or columns.classes(table))
    refuse_odd_classes(kind, classes, column=task.target)
    facts: dict[str, Any] = {"label_counts": columns.counts(table, classes), **name_facts(task.label_names, classes)}
    if task.weight is not None:
        which, _faults = columns.class_indices(table, classes)
        sums = np.bincount(which, weights=np.nan_to_num(frame.numbers(task.weight).values), minlength=len(classes))
        facts["label_weights"] = dict(zip(classes, sums.tolist(), strict=True))
    return kind, classes, facts


def _refuse_other_loss(loss: str, kind: str, target: str) -> None:
    fits, called = (_OF_NUMBERS, "numbers") if kind == "regression" else (_OF_CLASSES, "classes")
    if loss != "auto" and loss not in fits:
        raise ConfigError(
            [Problem(f"task.loss is {loss}, and {target} holds {called}, for which there are {', '.join(fits)}")]
        )


def notes_of(plan: TablePlan) -> Iterator[str]:
    """Say in words what a user should know of the columns."""
    if plan.dropped:
        yield "ignored " + "; ".join(f"`{name}`: {why}" for name, why in plan.dropped.items())
    for word, what in (("missing", "missing values"), ("infinite", "infinite values, taken as missing")):
        counted = {column.name: column.facts[word] for column in plan.columns if column.facts.get(word)}
        if counted:
            yield f"{what}: " + ", ".join(f"{name} {count:,}" for name, count in counted.items())
    strays = [
        f"{column.name} {column.facts['unreadable']:,} ({', '.join(column.facts['strays'])})"
        for column in plan.columns
        if column.is_guessed and "unreadable" in column.facts
    ]
    if strays:
        yield "cells that cannot be read, taken as missing: " + ", ".join(strays)
    for name in (column.name for column in plan.columns if column.facts.get("dates") == "all of 1970"):
        yield (
            f"`{name}` is read as seconds since 1970, and all of its numbers fall into that year; "
            f"write its dates like 2024-12-31 or 20241231, or set task.columns.{name}.kind: number"
        )
    unclear = [column for column in plan.columns if column.facts.get("dates") == "unknown order"]
    for name in (column.name for column in unclear if column.is_guessed):
        yield (
            f"`{name}` is read as words: its dates do not show whether day or month comes first; "
            f"set task.columns.{name}.kind: datetime to read the month first, or write them like 2024-12-31"
        )


def _notes_of_dates(frame: ColumnFrame) -> Iterator[str]:
    """Say which columns an expression or a function took for seconds, though they hardly are."""
    for name in sorted(frame.dates):
        if is_all_of_1970(frame, name, frame.times(name).values):
            yield (
                f"`{name}` is read as seconds since 1970 by a derived column, and all of its numbers fall into that "
                "year; write its dates like 2024-12-31"
            )


def _notes_of_strays(rows: Rows, frame: ColumnFrame, plan: TablePlan) -> Iterator[str]:
    """Say which cells left a derived column without a value; those of columns that are used themselves were named."""
    named = {column.name for column in plan.columns if "unreadable" in column.facts}
    strays = []
    for name, wrong in sorted(frame.strays.items()):
        cell, place = describe_cell(frame.column(name), int(wrong[0])), rows.places.describe(int(wrong[0]))
        if name not in named:
            strays.append(f"{name} {len(wrong):,} ({cell} in {place}{' first' if len(wrong) > 1 else ''})")
    if strays:
        yield "cells that cannot be read, taken as missing in columns derived from them: " + ", ".join(strays)
