"""The starter of a file of labelled texts."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from burnish.commands.starter.lines import DataFiles, Starter, line, scalar, scalars

if TYPE_CHECKING:
    from burnish.data.inspection.propose import Proposal

_LABELS_SHOWN = 6
_LABEL_WIDTH = 70


def start_texts(data: DataFiles, *, proposal: "Proposal") -> Starter:
    """Classify the texts that the columns suggest."""
    names = _name_columns(data, proposal)
    return Starter(
        "text_and_columns" if proposal.columns else "text_classification",
        [*_write_task(proposal, names)],
        [*_describe(data, proposal, names)],
        names=names,
        split_by=proposal.split_by,
        group=proposal.groups[0] if proposal.groups else None,
    )


def _name_columns(data: DataFiles, proposal: "Proposal") -> dict[str, str]:
    """Name the columns: as in the file, or by their part in the task if the file does not name them."""
    columns = [column.name for column in data.facts.columns]
    if data.facts.has_header or data.layout:
        return dict(zip(columns, columns, strict=True))
    numbers = [""] if len(proposal.texts) == 1 else range(1, len(proposal.texts) + 1)
    roles = {column.name: f"text{number}" for column, number in zip(proposal.texts, numbers, strict=True)}
    roles[proposal.label.name] = "label"
    if proposal.pair:
        roles[proposal.pair.name] = "pair"
    return {name: roles.get(name, name) for name in columns}


def _write_task(proposal: "Proposal", names: Mapping[str, str]) -> Iterator[str]:
    are_compared = proposal.pair is not None and proposal.kind == "regression"
    other = "or, without `kind`, similarity: an embedding of each text by itself" if are_compared else ""
    yield line("  type", "text_and_columns" if proposal.columns else "text_classification", other)
    about = f"about {sum(column.mean_words for column in proposal.texts):.0f} words each"
    is_joined = len(proposal.texts) > 1
    texts = scalars([names[column.name] for column in proposal.texts])
    yield line("  text", texts, f"read as one, {about}" if is_joined else about)
    if proposal.pair:
        about = f"the second text, about {proposal.pair.mean_words:.0f} words each"
        yield line("  pair", scalar(names[proposal.pair.name]), about)
    if proposal.columns:
        listed = ", ".join(scalar(names[name]) for name in proposal.columns)
        yield line("  columns", f"[{listed}]", "read together with the text; their kinds are detected")
    yield line("  label", scalars([names[column.name] for column in proposal.labels]), _describe_labels(proposal))
    yield line("  kind", proposal.kind, "binary, multiclass, multilabel or regression; auto: detect from the data")
    if proposal.label.separator:
        yield line("  label_separator", scalar(proposal.label.separator), "one cell holds several labels")
    yield line("  max_length", str(proposal.max_length), "tokens; longer texts are cut")
    if proposal.is_long:
        yield "  truncation:"
        yield line("    type", "head_tail", "keeps both ends of a long text; see `burnish list truncations`")


def _describe(data: DataFiles, proposal: "Proposal", names: Mapping[str, str]) -> Iterator[str]:
    pair = f" with `{names[proposal.pair.name]}`" if proposal.pair else ""
    texts = _join(names[column.name] for column in proposal.texts)
    yield f"text is {texts}{pair}{', read as one' * (len(proposal.texts) > 1)}"
    if proposal.columns:
        columns = _join(names[name] for name in proposal.columns)
        yield f"read together with the text: {columns}; --text {texts.split('`')[1]} proposes the text alone"
    labels = ", ".join(f"`{names[column.name]}`" for column in proposal.labels)
    yield f"label is {labels}: {proposal.kind}, {_describe_labels(proposal)}"
    if proposal.unread:
        hold, them = ("holds", "it") if len(proposal.unread) == 1 else ("hold", "them")
        unread = _join(names[name] for name in proposal.unread)
        yield f"not used: {unread}, which {hold} text too; name all in task.text to read {them} as one"
    if data.layout:
        yield f"the file has no header and is laid out as {data.layout}"
    elif not data.facts.has_header:
        yield "the file has no header, so its columns were given names"
    if proposal.is_long:
        yield "many texts are longer than 512 tokens, so both ends of them are kept"


def _join(names: Iterable[str]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def _describe_labels(proposal: "Proposal") -> str:
    label, kind = proposal.label, proposal.kind
    if kind == "regression":
        return f"from {min(label.numbers):g} to {max(label.numbers):g}"
    separator = ", " if label.is_list else label.separator
    classes, count = sorted(label.values), label.num_distinct
    if len(proposal.labels) > 1:
        classes, count = [column.name for column in proposal.labels], len(proposal.labels)
    elif kind == "multilabel" and separator:
        classes = sorted({part.strip() for value in label.values for part in value.split(separator)} - {""})
        count = len(classes)
    shown: list[str] = []
    for name in classes[:_LABELS_SHOWN]:
        if shown and len(", ".join([*shown, name])) > _LABEL_WIDTH:
            break  # each is named whole or not at all
        shown.append(name[:_LABEL_WIDTH])
    return f"{count} classes: {', '.join(shown)}" + (" …" if len(shown) < count else "")
