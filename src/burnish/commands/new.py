"""Writes a commented starter experiment for a data file."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.commands.starter.starter import bad_rows_line, broken_notes, default_lines, dialect_lines, dialect_notes
from burnish.commands.starter.yaml_lines import line, one_line, scalar
from burnish.config.reader import SUFFIXES
from burnish.durable import write_durably
from burnish.errors import BurnishError, ConfigError, DataError, Problem

if TYPE_CHECKING:
    from burnish.data.inspection.inspect import FileFacts
    from burnish.data.inspection.propose import Proposal, TaskShape

_LAYOUT_MARK = "a"
_LABELS_SHOWN = 6
_LABEL_WIDTH = 70


@dataclass(frozen=True)
class NewConfig:
    """A starter experiment: its text, the file it was written to, and what to look at in it."""

    text: str
    path: Path
    notes: tuple[str, ...]


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
    target = out or Path(f"{_stem(str(path))}.yaml")
    written = draft(path, target=target, text=text, label=label, encoding=encoding)
    if target.exists() and not force:
        raise BurnishError(f"{target} exists; write elsewhere with --out FILE or replace it with --force")
    _write(written.text, target)
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
    from burnish.data.inspection.inspect import look, siblings  # pyarrow comes with them
    from burnish.data.inspection.propose import has_text, propose, recognise

    if str(path).endswith(SUFFIXES):
        raise ConfigError(
            [Problem(f"{path} is an experiment, not data. Train it: `burnish train {path}`")], subject="the request"
        )
    beside = siblings(str(path))
    main = beside.get("train", str(path))
    beside = beside if "train" in beside else {}
    _refuse_encoding(encoding)
    facts = _laid_out(look(main, encoding=encoding))
    _refuse_broken(facts)
    found = _NewFile(facts, {"train": main, **beside}, encoding)
    shape = recognise(facts) if text is None and label is None else None
    if shape is not None:
        written, notes = _shaped(shape, found, target)
    elif text is None and not has_text(facts):
        written, notes = _table(found, target, label=label)
    else:
        written, notes = _texts(propose(facts, text=text, label=label), found, target)
    return NewConfig(written, target, (*notes, *dialect_notes(facts)))


def _stem(path: str) -> str:
    name = os.path.basename(path.rstrip("/")) or "experiment"
    return name.split(".")[0] or "experiment"


@dataclass(frozen=True)
class _NewFile:
    """The data file and those next to it, and what to say of them."""

    facts: "FileFacts"
    files: dict[str, str]
    encoding: str | None
    """That of all files, if it was named."""
    notes: tuple[str, ...] = ()


def _refuse_encoding(encoding: str | None) -> None:
    from burnish.data.files import ENCODINGS, is_encoding

    if encoding is not None and not is_encoding(encoding):
        raise DataError(f"--encoding must be {ENCODINGS}, and {encoding!r} is none")


def _refuse_broken(facts: "FileFacts") -> None:
    """Refuse a file as training would, unless it would do without the rows that cannot be used."""
    from burnish.data.inspection.faults import judge

    total, share = facts.num_rows + len(facts.bad), facts.options.max_bad_share
    if len(facts.bad) > share * total:
        judge(facts.bad, total=total, policy="error", share=share, quarantine=None, split="train")


def _shaped(shape: "TaskShape", found: _NewFile, target: Path) -> tuple[str, tuple[str, ...]]:
    from burnish.commands.starter.starter import shape_starter
    from burnish.data.inspection.inspect import look

    if shape.format != "auto":
        found = replace(found, facts=look(found.files["train"], format=shape.format, encoding=found.encoding))
    usable = _usable(found, set(shape.columns))
    text, notes = shape_starter(shape, usable.facts, usable.files, target)
    return text, (*notes, *usable.notes)


def _table(found: _NewFile, target: Path, *, label: str | None) -> tuple[str, tuple[str, ...]]:
    from burnish.commands.starter.new_table import table_starter
    from burnish.data.inspection.propose import target_of

    chosen = target_of(found.facts, label=label).name
    usable = _usable(found, {chosen})
    text, notes = table_starter(usable.facts, usable.files, target, chosen=chosen)
    return text, (*notes, *usable.notes)


def _texts(proposal: "Proposal", found: _NewFile, target: Path) -> tuple[str, tuple[str, ...]]:
    needed = {column.name for column in (*proposal.texts, proposal.pair, *proposal.labels) if column}
    usable = _usable(found, needed)
    starter = _Starter(usable.facts, proposal, usable.files, target)
    return starter.render(), (*_notes(usable.facts, proposal, names=starter.names()), *usable.notes)


def _usable(found: _NewFile, needed: set[str]) -> _NewFile:
    """Leave out the neighbours that lack a column, such as a test file without labels, or that cannot be read."""
    from burnish.data.inspection.inspect import look

    notes, bad = [], list(found.facts.bad)
    used = {"train": found.files["train"]}
    for split in sorted(set(found.files) - {"train"}, reverse=True):
        path = found.files[split]
        try:
            facts = look(path, encoding=found.encoding)
            _refuse_broken(facts)
        except DataError as error:
            notes.append(f"{path} was left out: {error}")
            continue
        missing = needed - {column.name for column in facts.columns} if found.facts.has_header else set()
        if missing:
            notes.append(f"{path} was left out: it has no column {', '.join(sorted(missing))}")
        else:
            used[split] = path
            bad.extend(facts.bad)
    return replace(found, facts=replace(found.facts, bad=tuple(bad)), files=used, notes=(*notes, *broken_notes(bad)))


def _notes(facts: "FileFacts", proposal: "Proposal", *, names: dict[str, str]) -> list[str]:
    pair = f" with `{names[proposal.pair.name]}`" if proposal.pair else ""
    texts = _joined(names[column.name] for column in proposal.texts)
    notes = [f"text is {texts}{pair}{', read as one' * (len(proposal.texts) > 1)}"]
    labels = ", ".join(f"`{names[column.name]}`" for column in proposal.labels)
    notes.append(f"label is {labels}: {proposal.kind}, {_labels(proposal)}")
    if proposal.unread:
        hold = "holds" if len(proposal.unread) == 1 else "hold"
        them = "it" if len(proposal.unread) == 1 else "them"
        unread = _joined(names[name] for name in proposal.unread)
        notes.append(f"not used: {unread}, which {hold} text too; name all in task.text to read {them} as one")
    if layout := _layout(facts):
        notes.append(f"the file has no header and is laid out as {layout}")
    elif not facts.has_header:
        notes.append("the file has no header, so its columns were given names")
    if proposal.is_long:
        notes.append("many texts are longer than 512 tokens, so both ends of them are kept")
    return notes


def _joined(names: Iterable[str]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def _labels(proposal: "Proposal") -> str:
    label, kind = proposal.label, proposal.kind
    if kind == "regression":
        return f"from {min(label.numbers):g} to {max(label.numbers):g}"
    if len(proposal.labels) > 1:
        return _listed([column.name for column in proposal.labels], count=len(proposal.labels))
    separator = ", " if label.is_list else label.separator
    if kind == "multilabel" and separator:
        parts = {part.strip() for value in label.values for part in value.split(separator)} - {""}
        return _listed(sorted(parts), count=len(parts))
    return _listed(sorted(label.values), count=label.num_distinct)


def _listed(classes: list[str], *, count: int) -> str:
    """Name the first few classes, each whole or not at all."""
    shown: list[str] = []
    for name in classes[:_LABELS_SHOWN]:
        if shown and len(", ".join([*shown, name])) > _LABEL_WIDTH:
            break
        shown.append(name[:_LABEL_WIDTH])
    return f"{count} classes: {', '.join(shown)}" + (" …" if len(shown) < count else "")


@dataclass(frozen=True)
class _Starter:
    """Puts the parts of a starter into lines."""

    facts: "FileFacts"
    proposal: "Proposal"
    files: dict[str, str]
    target: Path

    def render(self) -> str:
        parts = [self._head(), self._task(), self._data(), default_lines("text_classification")]
        return "\n".join(line for part in parts for line in part) + "\n"

    def _head(self) -> list[str]:
        source = os.path.basename(self.files["train"].rstrip("/"))
        names = ", ".join(self.names().values())
        return [
            f"# A starter for {one_line(source)}, written by `burnish new` from {self.facts.num_rows:,} rows.",
            f"# Columns: {one_line(names)}",
            f"# Look it over, then: burnish train {one_line(str(self.target))}",
            "",
            f"name: {scalar(self.target.stem)}",
            "",
        ]

    def _task(self) -> list[str]:
        proposal, named = self.proposal, self.names()
        are_compared = proposal.pair is not None and proposal.kind == "regression"
        other = "or, without `kind`, similarity: an embedding of each text by itself" if are_compared else ""
        lines = ["task:", line("  type", "text_classification", other)]
        texts = [scalar(named[column.name]) for column in proposal.texts]
        about = f"about {sum(column.mean_words for column in proposal.texts):.0f} words each"
        lines.append(
            line("  text", f"[{', '.join(texts)}]", f"read as one, {about}")
            if len(texts) > 1
            else line("  text", texts[0], about)
        )
        if proposal.pair:
            about = f"the second text, about {proposal.pair.mean_words:.0f} words each"
            lines.append(line("  pair", scalar(named[proposal.pair.name]), about))
        labels = [scalar(named[column.name]) for column in proposal.labels]
        written = labels[0] if len(labels) == 1 else f"[{', '.join(labels)}]"
        lines.append(line("  label", written, _labels(proposal)))
        lines.append(
            line("  kind", proposal.kind, "binary, multiclass, multilabel or regression; auto: detect from the data")
        )
        if proposal.label.separator:
            lines.append(line("  label_separator", scalar(proposal.label.separator), "one cell holds several labels"))
        lines.append(line("  max_length", str(proposal.max_length), "tokens; longer texts are cut"))
        if proposal.is_long:
            lines.append("  truncation:")
            lines.append(
                line("    type", "head_tail", "keeps both ends of a long text; see `burnish list truncations`")
            )
        return [*lines, ""]

    def _data(self) -> list[str]:
        lines = ["data:", "  type: files"]
        lines.extend(line(f"  {split}", scalar(path)) for split, path in self.files.items())
        lines.extend(self._reading())
        lines.extend(self._split())
        lines.append(bad_rows_line(self.facts))
        return [*lines, ""]

    def _reading(self) -> list[str]:
        layout = _layout(self.facts)
        lines = dialect_lines(self.facts)
        if layout:
            lines.append(line("  layout", layout, "a TSV file without header whose columns are these"))
        elif not self.facts.has_header:
            lines.append(line("  header", "false", "the first line is a row"))
            names = self.names()
            listed = ", ".join(scalar(names[column.name]) for column in self.facts.columns)
            lines.append(f"  columns: [{listed}]")
        return lines

    def _split(self) -> list[str]:
        proposal = self.proposal
        inner = [line("    by", scalar(proposal.split_by), "this column says which split")] if proposal.split_by else []
        if "validation" not in self.files and not proposal.split_by:
            inner.append(line("    validation", "10%", "of train; the same rows for the same seed"))
        if "test" not in self.files and not proposal.split_by:
            inner.append(line("    test", "10%", "never used to choose a checkpoint"))
        if proposal.groups:
            comment = "take the # away to keep all rows of one value in one split"
            inner.append(line("    # group", scalar(proposal.groups[0]), comment))
        if inner and all(line.lstrip().startswith("#") for line in inner):
            return ["  # split:", *inner]
        return ["  split:", *inner] if inner else []

    def names(self) -> dict[str, str]:
        """Name the columns: as in the file, or by their part in the task if the file does not name them."""
        columns = self.facts.columns
        if self.facts.has_header or _layout(self.facts):
            return {column.name: column.name for column in columns}
        texts = self.proposal.texts
        numbers = [""] if len(texts) == 1 else range(1, len(texts) + 1)
        roles = {column.name: f"text{number}" for column, number in zip(texts, numbers, strict=True)}
        roles[self.proposal.label.name] = "label"
        if self.proposal.pair:
            roles[self.proposal.pair.name] = "pair"
        return {column.name: roles.get(column.name, column.name) for column in columns}


def _laid_out(facts: "FileFacts") -> "FileFacts":
    """Give the columns of a known layout their names, before anything is guessed from names."""
    from burnish.data.files import LAYOUTS

    layout = _layout(facts)
    if layout is None:
        return facts
    named = zip(facts.columns, LAYOUTS[layout], strict=True)
    return replace(facts, columns=tuple(replace(column, name=name) for column, name in named))


def _layout(facts: "FileFacts") -> str | None:
    """Recognise the two headerless TSV layouts by their column of nothing but `a`."""
    marks = [column.values == (_LAYOUT_MARK,) for column in facts.columns]
    if facts.has_header or not facts.options.train[0].split(".gz")[0].endswith(".tsv"):
        return None
    if len(marks) == 4 and marks[2]:
        return "id_label_alpha_text"
    return "id_alpha_label_text_a_text_b" if len(marks) == 5 and marks[1] else None


def _write(text: str, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_durably(target, text.encode())
    except OSError as error:
        raise BurnishError(f"{target} could not be written: {error.strerror or error}") from error
