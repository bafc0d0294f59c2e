"""Audits the data of a run before it trains, and scores it without the rows that training has seen when it is over."""

from collections.abc import Iterator, Mapping

import numpy as np
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from burnish.data.inspection.audit import Audit, audit
from burnish.errors import DataError
from burnish.run.context import RunContext
from burnish.run.predicting.scoring import Scorer
from burnish.run.preparation.prepared_data import PreparedData, PreparedTask
from burnish.run.record.directory import read_json, write_json
from burnish.run.record.result import scores_to_json
from burnish.spec.experiment import Experiment
from burnish.spec.parts import divide_tasks, prefix
from burnish.spec.values import Outcome
from burnish.tasks.labels import LabelColumns

_MOST_SHOWN = 3


class _AuditedTask(TypedDict):
    findings: list[str]
    repeated: dict[str, list[int]]


class _AuditFile(TypedDict):
    """What audit.json holds before the run is scored, by task."""

    tasks: dict[str, _AuditedTask]


def audit_data(run: RunContext, data: PreparedData) -> None:
    """Look for duplicates between splits, contradictory labels and columns that tell them; note or refuse them."""
    experiments = divide_tasks(run.experiment)
    found: dict[str, _AuditedTask] = {}
    refused = []
    for name, part in data.parts.items():
        level = getattr(experiments[name].data, "audit", "off")
        audited = _audit(experiments[name], part) if level != "off" else None
        if audited is None:
            continue
        doubts = [*experiments[name].task.doubts(part.rows["train"], part.profile)]
        wrong = [*_describe(audited, part), *(each.what for each in doubts if each.is_leak)]
        odd = [each.what for each in doubts if not each.is_leak and not each.is_told]
        told = [each.what for each in doubts if each.is_told]
        wrong, odd, told = ([prefix(name, each) if name else each for each in some] for some in (wrong, odd, told))
        repeated = {split: np.flatnonzero(each.is_repeated).tolist() for split, each in audited.repeated.items()}
        kept = {split: rows for split, rows in repeated.items() if rows}
        found[name] = {"findings": [*wrong, *odd, *told], "repeated": kept}
        refused += wrong if level == "error" else []
        for sentence in [*([] if level == "error" else wrong), *odd]:
            run.sinks.note(sentence)
    if refused:
        raise DataError("data.audit is `error`, and the audit found:\n  " + "\n  ".join(refused))
    write_json(run.directory.audit, {"tasks": found})


def score_without_repeated(scorer: Scorer, outcomes: Mapping[str, Mapping[str, Outcome]], run: RunContext) -> None:
    """Score each held-out split again without its repeated rows, and write that next to the findings."""
    written = read_json(run.directory.audit)
    try:
        known = TypeAdapter(_AuditFile).validate_python(written)
    except ValidationError:
        return  # absent, or torn since it was written: the run has its scores all the same
    if not any(each["repeated"] for each in known["tasks"].values()):
        return
    scores = {}
    for split, by_task in outcomes.items():
        rows = {
            task: known["tasks"][task]["repeated"].get(split, []) if task in known["tasks"] else [] for task in by_task
        }
        kept = {task: outcome.part(~np.isin(outcome.rows, rows[task])) for task, outcome in by_task.items()}
        if any(rows.values()) and all(len(outcome.rows) for outcome in kept.values()):
            scores[split] = scores_to_json(scorer.scored(kept))
    write_json(run.directory.audit, {**known, "scores_without_repeated": scores})


def _audit(experiment: Experiment, part: PreparedTask) -> Audit | None:
    """None where there is nothing to leak, as in a language model's texts, or more rows than memory holds."""
    task = experiment.task
    inputs = part.profile.inputs or task.input_columns
    if set(task.training_columns) <= set(inputs) or any(rows.held for rows in part.rows.values()):
        return None
    tables, labels = {split: rows.table for split, rows in part.rows.items()}, [task.stratify] if task.stratify else []
    for name in labels if getattr(task, "label_map", {}) else ():  # two labels that count as one do not contradict
        mapped = LabelColumns((name,), label_map=task.label_map).flat(tables["train"])  # type: ignore[attr-defined]  # it has them
        tables["train"] = tables["train"].set_column(tables["train"].column_names.index(name), name, mapped)
    return audit(tables, inputs=inputs, labels=labels)


def _describe(found: Audit, part: PreparedTask) -> Iterator[str]:
    train = part.rows["train"].places
    for split, repeated in found.repeated.items():
        places = part.rows[split].places
        is_near = repeated.is_repeated & ~repeated.is_exact
        for kind, which in ("also occur", repeated.is_exact), ("occur almost word for word", is_near):
            rows = np.flatnonzero(which)
            if len(rows):
                shown = [f"{places.describe(row)} ({train.describe(repeated.twin[row])})" for row in rows[:_MOST_SHOWN]]
                share = f"{len(rows):,} of the {len(which):,} rows of {split} ({len(rows) / len(which):.1%})"
                yield f"{share} {kind} in train, which can make scores on it too good: {', '.join(shown)}"
    if found.conflicts:
        pairs = [f"{train.describe(a)} and {train.describe(b)}" for a, b in found.conflicts[:_MOST_SHOWN]]
        number = "1 input of train occurs" if len(pairs) == 1 else f"{len(found.conflicts):,} inputs of train occur"
        yield f"{number} with different labels: {', '.join(pairs)}"
