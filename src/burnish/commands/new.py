"""`burnish new`: a commented starter experiment for a data file."""

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.commands.starter.lines import DataFiles, describe_broken, describe_dialect, render
from burnish.config.reader import SUFFIXES
from burnish.durable import write_durably, writing_to
from burnish.errors import BurnishError, ConfigError, DataError, Problem

if TYPE_CHECKING:
    from burnish.data.inspection.inspect import FileFacts


_KEEPING_THEIR_MODEL = ("masked_lm",)
"""Tasks for which an encoder without its own head is no start."""


@dataclass(frozen=True)
class NewConfig:
    """A starter experiment: its text, the file it was written to, and what to look at in it."""

    text: str
    path: Path
    notes: tuple[str, ...]
    target: str | None = None
    """The column to predict, of a table."""
    rivals: tuple[str, ...] = ()
    """Columns that may be meant as well as the target that was guessed."""


def new(
    path: str | Path,
    *,
    out: Path | None = None,
    text: str | None = None,
    label: str | None = None,
    encoding: str | None = None,
    force: bool = False,
) -> NewConfig:
    """Look at a data file, propose a task, and write an experiment that trains it; never over a file unless forced."""
    stem = os.path.basename(str(path).rstrip("/")).split(".")[0]
    target = out or Path(f"{stem or 'experiment'}.yaml")
    written = draft(path, target=target, text=text, label=label, encoding=encoding)
    if target.exists() and not force:
        raise BurnishError(f"{target} exists; write elsewhere with --out FILE or replace it with --force")
    with writing_to(target, refuse=BurnishError):
        write_durably(target, written.text.encode())
    return written


def draft(
    path: str | Path,
    *,
    target: Path,
    text: str | None = None,
    label: str | None = None,
    encoding: str | None = None,
) -> NewConfig:
    """Do as `new`, but write nothing: `target` is only what the experiment is named after."""
    from burnish.commands.starter.others import start_shape, start_table  # pyarrow comes with them
    from burnish.commands.starter.texts import start_texts
    from burnish.data.inspection.inspect import inspect_file
    from burnish.data.inspection.propose import choose_target, has_text, propose, recognise

    files = _find_files(str(path), encoding)
    facts = _name_columns(inspect_file(files["train"], encoding=encoding))
    _refuse_broken(facts)
    shape = recognise(facts) if text is None and label is None else None
    data = DataFiles(facts, files)
    if shape is not None:
        needed, start = {*shape.columns}, partial(start_shape, shape=shape)
    elif text is None and not has_text(facts, label=label):
        chosen, others = choose_target(facts, label=label)
        rivals = tuple(column.name for column in others)
        needed = {chosen.name}
        start = partial(start_table, chosen=chosen.name, is_guess=label is None, rivals=rivals)
    else:
        proposal = propose(facts, text=text, label=label)
        needed = {column.name for column in (*proposal.texts, proposal.pair, *proposal.labels) if column}
        needed |= {*proposal.columns}
        start = partial(start_texts, proposal=proposal)
    data, notes = _leave_out(data, needed, encoding=encoding)
    starter = start(data)
    model, about = _choose_model(starter.task)
    told = (*starter.notes, *about, *notes, *describe_dialect(facts))
    text_of = render(starter, data, target, model=model)
    return NewConfig(text_of, target, told, starter.target, starter.rivals)


def _choose_model(task: str) -> tuple[str | None, list[str]]:
    """Choose a model that is on this machine where the usual one is not, and say what else is; without the network."""
    from burnish.commands.starter.lines import usual_model
    from burnish.models.transformers import models_here

    usual = usual_model(task)
    if usual is None or task in _KEEPING_THEIR_MODEL:
        return None, []
    found = models_here.find_models_here()
    chosen = models_here.propose_model(usual, found)
    if chosen == usual:
        is_here = usual in [model.name for model in found]
        fetched = f"the model {usual} is not on this machine; training fetches it from the hub"
        return None, [] if is_here else [fetched]
    others = [model for model in found if model.name != chosen and model.is_encoder]
    also = f"; also here: {models_here.name_models(others)}" if others else ""
    return chosen, [f"the model is {chosen}, which is on this machine, as {usual} would come from the hub{also}"]


def _find_files(path: str, encoding: str | None) -> dict[str, str]:
    from burnish.data.files import ENCODINGS, is_encoding
    from burnish.data.inspection.inspect import find_siblings

    if path.endswith(SUFFIXES):
        raise ConfigError(
            [Problem(f"{path} is an experiment, not data. Train it: `burnish train {path}`")], subject="the request"
        )
    found = find_siblings(path)
    if encoding is not None and not is_encoding(encoding):
        raise DataError(f"--encoding must be {ENCODINGS}, and {encoding!r} is none")
    return found if "train" in found else {"train": path}


def _refuse_broken(facts: "FileFacts") -> None:
    """Refuse a file as training would, unless it would do without the rows that cannot be used."""
    from burnish.data.inspection.faults import judge

    total, share = facts.num_rows + len(facts.bad), facts.options.max_bad_share
    if len(facts.bad) > share * total:
        judge(facts.bad, total=total, policy="error", share=share, quarantine=None, split="train")


def _leave_out(data: DataFiles, needed: set[str], *, encoding: str | None) -> tuple[DataFiles, list[str]]:
    """Leave out the neighbours that lack a column, such as a test file without labels, or that cannot be read."""
    from burnish.data.inspection.inspect import inspect_file

    notes, bad = [], list(data.facts.bad)
    used = {"train": data.files["train"]}
    for split in sorted(set(data.files) - {"train"}, reverse=True):
        path = data.files[split]
        try:
            facts = inspect_file(path, encoding=encoding)
            _refuse_broken(facts)
        except DataError as error:
            notes.append(f"{path} was left out: {error}")
            continue
        missing = needed - {column.name for column in facts.columns} if data.facts.has_header else set()
        if missing:
            notes.append(f"{path} was left out: it has no column {', '.join(sorted(missing))}")
        else:
            used[split] = path
            bad.extend(facts.bad)
    return DataFiles(replace(data.facts, bad=tuple(bad)), used), [*notes, *describe_broken(bad)]


def _name_columns(facts: "FileFacts") -> "FileFacts":
    """Name the columns of a known layout, before anything is guessed from names."""
    from burnish.data.files import LAYOUTS

    layout = DataFiles(facts, {}).layout
    if layout is None:
        return facts
    named = zip(facts.columns, LAYOUTS[layout], strict=True)
    return replace(facts, columns=tuple(replace(column, name=name) for column, name in named))
