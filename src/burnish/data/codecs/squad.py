"""Questions as SQuAD's documents, and answers as its scorers read them: by id, with the next best and the null odds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from burnish.data.codecs.columns import ColumnSpec
from burnish.data.codecs.convert import Unfit
from burnish.data.codecs.decoded import DecodedRows
from burnish.data.codecs.gather import gather
from burnish.data.codecs.json_rows import parse_document
from burnish.data.codecs.payload import DEFAULT_LIMITS, NAME, Limits, text_of
from burnish.data.readers.read_squad import Misshapen, questions_of

_READ = ("id", "question", "context")
_OPEN = "no_answer_probability"


@dataclass(frozen=True)
class Squad:
    """One document of articles, paragraphs and questions; right answers in it are not looked at."""

    def decode(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> DecodedRows:
        """Read all questions."""
        found = list(questions_of(parse_document(text_of(payload)), name=NAME))
        limits.check_rows(len(found))
        return gather(found, columns, read=_question)

    def encode(self, rows: DecodedRows, answers: pa.Table) -> bytes:
        """Write {id: answer}; a question that was bad has none."""
        return _document(_by_id(rows, answers, answers["predicted"].to_pylist()))

    def beside(self, rows: DecodedRows, answers: pa.Table) -> Mapping[str, bytes]:
        """Write the next best answers and, where a question may be open, the odds that it is, as files of their own."""
        files: dict[str, bytes] = {}
        if "n_best" in answers.column_names:
            files["nbest_predictions.json"] = _document(_by_id(rows, answers, _listed(answers)))
        if "null_odds" in answers.column_names:
            files["null_odds.json"] = _document(_by_id(rows, answers, answers["null_odds"].to_pylist()))
        return files


def _question(found: Mapping[str, Any] | Misshapen, _names: Sequence[str]) -> Mapping[str, Any]:
    if isinstance(found, Misshapen):
        raise Unfit(str(found))
    return {name: found[name] for name in _READ}


def _by_id(rows: DecodedRows, answers: pa.Table, values: Sequence[Any]) -> dict[str, Any]:
    ids = answers["id"].to_pylist() if "id" in answers.column_names else map(str, rows.numbers.tolist())
    return dict(zip(ids, values, strict=True))


def _listed(answers: pa.Table) -> list[list[dict[str, Any]]]:
    """Give the answers of each question, best first; no answer is among them where that may be."""
    lists = answers["n_best"].to_pylist()
    may_be_open = _OPEN in answers.column_names
    opens = answers[_OPEN].to_pylist() if may_be_open else [None] * len(lists)
    return [_with_open([_entry(each) for each in found], share) for found, share in zip(lists, opens, strict=True)]


def _entry(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": answer["text"], "probability": answer["probability"], "logit": answer["logit"]}


def _with_open(entries: list[dict[str, Any]], share: float | None) -> list[dict[str, Any]]:
    if share is None:
        return entries
    return sorted([*entries, {"text": "", "probability": share}], key=lambda entry: -entry["probability"])


def _document(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()
