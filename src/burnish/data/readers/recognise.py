"""Tells by its columns that a file is meant for tags, questions, choices or language models."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from burnish.data.files import Format
from burnish.data.inspection.inspect import ColumnFacts, FileFacts
from burnish.data.inspection.propose import length_for

_WORDS = ("words", "tokens")
_TAGS = ("tags", "ner_tags", "pos_tags", "chunk_tags", "labels")
_CHOICES = ("choices", "options", "endings", "candidates")
_CHOICE = re.compile(r"(choice|option|ending|answer)_?(\d|[a-h])$", re.IGNORECASE)
_CONTEXTS = ("context", "passage", "article", "dialogue", "story", "premise", "startphrase", "sent1")
_QUESTIONS = ("question", "sent2")
_LABELS = ("label", "answer", "gold", "correct", "answerkey", "target")
_TAG = re.compile(r"O|[BIESLU]-\S+")
_SHOWN = 6


@dataclass(frozen=True)
class TaskOption:
    """An option of the task, its columns or other values, and what to say of it."""

    name: str
    values: tuple[str, ...]
    comment: str = ""


@dataclass(frozen=True)
class TaskShape:
    """The task that a file is meant for."""

    task: str
    options: tuple[TaskOption, ...]
    max_length: int
    columns: tuple[str, ...] = ()
    """What every file of the experiment must have."""
    format: Format = "auto"
    """How the file is read, where its name does not tell."""


def recognise(facts: FileFacts) -> TaskShape | None:
    """Give the task that the columns are laid out for; None where a text and a label, or a table, are left to find."""
    columns = {column.name.lower(): column for column in facts.columns}
    return _tagging(columns) or _questions(columns) or _choices(columns) or _lines(facts)


def _tagging(columns: dict[str, ColumnFacts]) -> TaskShape | None:
    words, tags = _first(columns, _WORDS), _first(columns, _TAGS)
    if words is None or tags is None or not (words.is_list and tags.is_list):
        return None
    kinds = sorted({tag for cell in tags.values for tag in cell.split(", ")})
    shown = ", ".join(kinds[:_SHOWN]) + (" …" if len(kinds) > _SHOWN else "")
    options = (
        TaskOption("words", (words.name,), "lists of words"),
        TaskOption("tags", (tags.name,), f"a tag a word: {shown}"),
    )
    return TaskShape("token_classification", options, length_for([words])[0], (words.name, tags.name))


def _questions(columns: dict[str, ColumnFacts]) -> TaskShape | None:
    if not {"question", "context", "answers"} <= columns.keys():
        return None
    question, context, answers = (columns[name].name for name in ("question", "context", "answers"))
    options = (
        TaskOption("question", (question,)),
        TaskOption("context", (context,), "the text that answers are found in"),
        TaskOption("answers", (answers,), "what is right, and where it begins"),
    )
    return TaskShape("question_answering", options, 384, (question, context, answers))


def _choices(columns: dict[str, ColumnFacts]) -> TaskShape | None:
    lists = _first(columns, _CHOICES)
    several = [column for name, column in columns.items() if _CHOICE.match(name) and not column.is_list]
    chosen = [lists] if lists is not None and lists.is_list else several if len(several) > 1 else []
    label = _first({name: column for name, column in columns.items() if column not in chosen}, _LABELS)
    context, question = _first(columns, _CONTEXTS), _first(columns, _QUESTIONS)
    asked = [column for column in (context, question) if column is not None]
    if not chosen or label is None or not asked:
        return None
    roles = ("context", "question") if len(asked) > 1 else ("context",)
    options = (
        *(TaskOption(role, (column.name,)) for role, column in zip(roles, asked, strict=True)),
        TaskOption("choices", tuple(column.name for column in chosen), "each is read after the context"),
        TaskOption("label", (label.name,), "the right choice: its number, letter or text"),
    )
    names = tuple(column.name for column in (*asked, *chosen, label))
    return TaskShape("multiple_choice", options, length_for([*asked, chosen[0]])[0], names)


def _lines(facts: FileFacts) -> TaskShape | None:
    """Take a file of nothing but lines for CoNLL columns, or for text to train a language model on."""
    is_plain = [column.name for column in facts.columns] == ["text"] and facts.options.train[0].endswith(_PLAIN)
    if not is_plain:
        return None
    (text,) = facts.columns
    cells = [line.split() for line in text.values]
    if (
        cells
        and len({len(each) for each in cells}) == 1 < len(cells[0])
        and all(_TAG.fullmatch(it[-1]) for it in cells)
    ):
        options = (TaskOption("words", ("words",)), TaskOption("tags", ("tags",), "the last column"))
        return TaskShape("token_classification", options, 128, format="conll")
    return TaskShape("masked_lm", (TaskOption("text", ("text",), f"about {text.mean_words:.0f} words a line"),), 128)


_PLAIN = (".txt", ".text", ".raw", ".txt.gz", ".text.gz")


def _first(columns: dict[str, ColumnFacts], names: Sequence[str]) -> ColumnFacts | None:
    return next((columns[name] for name in names if name in columns), None)
