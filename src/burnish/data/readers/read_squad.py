"""Flattens a SQuAD document: articles, paragraphs and questions become rows, one a question."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.inspection.faults import BadRow
from burnish.data.rows import from_file
from burnish.errors import DataError
from burnish.spec.values import Rows

ANSWERS = pa.list_(pa.struct([pa.field("text", pa.string()), pa.field("start", pa.int64())]))
"""Right answers of a question: what they say, and the character of the context at which they begin."""

_COLUMNS = {"id": pa.string(), "title": pa.string(), "question": pa.string(), "context": pa.string()}
_KINDS = {str: "text", list: "a list", bool: "true or false", int: "a whole number"}
_TOO_MUCH = 1 << 31
_SHOWN = 2000


def is_squad(document: object) -> bool:
    """Tell a SQuAD document by its shape: articles under `data`, each with paragraphs."""
    articles = document.get("data") if isinstance(document, dict) else None
    if not isinstance(articles, list) or not articles:
        return False
    return all(isinstance(article, dict) and "paragraphs" in article for article in articles)


def read_squad(document: object, *, name: str) -> tuple[Rows, list[BadRow]]:
    """Read id, title, question, context, answers and, where told, is_impossible; and what is no question."""
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    bad: list[BadRow] = []
    for number, found in enumerate(find_questions(document, name=name)):
        if isinstance(found, Misshapen):
            bad.append(BadRow(name, None, str(found), str(found.value)[:_SHOWN]))
            continue
        rows.append(found)
        numbers.append(number)
    if not rows and not bad:
        raise DataError(f"{name} holds no questions")
    columns = {column: pa.array([row[column] for row in rows], kind) for column, kind in _COLUMNS.items()}
    if any(row["answers"] is not None for row in rows):
        columns["answers"] = pa.array([row["answers"] for row in rows], ANSWERS)
    if any(row["is_impossible"] is not None for row in rows):
        columns["is_impossible"] = pa.array([row["is_impossible"] for row in rows], pa.bool_())
    return from_file(pa.table(columns), name=name, first_line=0, numbers=np.array(numbers, dtype=np.int64)), bad


class Misshapen(Exception):
    """A part of the document that is not as it should be, and where."""

    def __init__(self, path: str, what: str, value: object) -> None:
        super().__init__(f"{path} {what}")
        self.value = value


def find_questions(document: object, *, name: str) -> Iterator[dict[str, Any] | Misshapen]:
    """Walk through the questions of a document in order, each with its context; in their places, what is broken."""
    if not isinstance(document, dict) or not isinstance(document.get("data"), list):
        raise DataError(f"{name} is not a SQuAD file: expected an object with a list of articles under `data`")
    for place, article in _each(document["data"], "data"):
        try:
            title = _member(article, "title", str, place, default="")
            paragraphs = _member(article, "paragraphs", list, place)
        except Misshapen as fault:
            yield fault
            continue
        for where, paragraph in _each(paragraphs, f"{place}.paragraphs"):
            yield from _of_paragraph(paragraph, where, title=title)


def _of_paragraph(paragraph: Any, place: str, *, title: str) -> Iterator[dict[str, Any] | Misshapen]:
    try:
        context = _member(paragraph, "context", str, place)
        questions = _member(paragraph, "qas", list, place)
    except Misshapen as fault:
        yield fault
        return
    for where, question in _each(questions, f"{place}.qas"):
        try:
            yield {"title": title, "context": context, **_question(question, where)}
        except Misshapen as fault:
            yield fault


def _question(question: Any, place: str) -> dict[str, Any]:
    named = f"{place} (question {question['id']})" if isinstance(question, dict) and "id" in question else place
    answers = _member(question, "answers", list, named, default=None)
    return {
        "id": str(_member(question, "id", str | int, named, default=place)),
        "question": _member(question, "question", str, named),
        "answers": None if answers is None else [_answer(*each) for each in _each(answers, f"{named}.answers")],
        "is_impossible": _member(question, "is_impossible", bool, named, default=None),
    }


def _answer(place: str, answer: Any) -> dict[str, Any]:
    return {"text": _member(answer, "text", str, place), "start": _member(answer, "answer_start", int, place)}


def _member(value: Any, key: str, kind: Any, place: str, **default: Any) -> Any:
    if not isinstance(value, dict):
        raise Misshapen(place, "is no object", value)
    if key not in value:
        if "default" in default:
            return default["default"]
        raise Misshapen(place, f"has no `{key}`", value)
    found = value[key]
    if not isinstance(found, kind) or (kind is not bool and isinstance(found, bool)):
        raise Misshapen(f"{place}.{key}", f"is not {_KINDS.get(kind, 'text or a number')}", found)
    if isinstance(found, str) and not _is_text(found):
        raise Misshapen(f"{place}.{key}", "contains half of a surrogate pair, which is not a character", ascii(found))
    if isinstance(found, int) and abs(found) >= _TOO_MUCH:
        raise Misshapen(f"{place}.{key}", f"is {found}, far beyond the end of any text", found)
    return found


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _each(values: list[Any], path: str) -> Iterator[tuple[str, Any]]:
    return ((f"{path}[{number}]", value) for number, value in enumerate(values))
