"""Records of token ids, as BERT's scripts write them, come back as texts, words, questions and documents."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from burnish.data.codecs.example import Feature, serialise_example
from burnish.data.codecs.tfrecord import write_records
from burnish.data.readers.read import ReadFile, read
from burnish.data.sources.address import DataFile
from burnish.data.tfrecord import TfRecords
from burnish.errors import DataError
from burnish.spec.values import Rows

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "film",
    "##s",
    "are",
    "good",
    ",",
    "who",
    "made",
    "it",
    "?",
]
WIDTH = 16


def ids(*words: str) -> list[int]:
    return [WORDS.index(word) for word in words]


def record(first: Sequence[str], second: Sequence[str] = (), **more: Sequence[int] | Sequence[float]) -> bytes:
    """Write what BERT's scripts write for one text or two."""
    tokens = ids("[CLS]", *first, "[SEP]", *second, *(["[SEP]"] if second else []))
    segments = [0] * (len(first) + 2) + [1] * (len(second) + bool(second))
    empty = [0] * (WIDTH - len(tokens))
    features: dict[str, Sequence[int] | Sequence[float]] = {
        "input_ids": tokens + empty,
        "input_mask": [1] * len(tokens) + empty,
        "segment_ids": segments + empty,
        **more,
    }
    return serialise_example(
        {
            name: Feature("float" if values and isinstance(values[0], float) else "int64", tuple(values))  # type: ignore[arg-type]  # of one kind
            for name, values in features.items()
        }
    )


def reading(tmp_path: Path, records: list[bytes], **options: object) -> ReadFile:
    vocabulary, path = tmp_path / "vocab.txt", tmp_path / "a.tfrecord"
    vocabulary.write_text("\n".join(WORDS) + "\n")
    with path.open("wb") as stream:
        write_records(stream, records)
    given = {"tokenizer": str(vocabulary), **options}
    return read(DataFile("a.tfrecord", str(path)), TfRecords(train=(str(path),), **given))  # type: ignore[arg-type]  # checked by pydantic


def rows_of(tmp_path: Path, records: list[bytes], **options: object) -> Rows:
    found = reading(tmp_path, records, **options)
    assert found.bad == ()
    return found.rows


def test_a_text_and_its_class(tmp_path: Path) -> None:
    records = [
        record(["the", "film", "##s", "are", "good"], label_ids=[1], is_real_example=[1]),
        record(["[UNK]", ",", "it"], label_ids=[0], is_real_example=[1]),
        record([], label_ids=[0], is_real_example=[0]),
    ]
    rows = rows_of(tmp_path, records, labels=["bad", "fine"])
    assert rows.table.to_pydict() == {"text": ["the films are good", "[UNK] , it"], "label": ["fine", "bad"]}
    assert rows.places.describe(1) == "a.tfrecord row 2"


def test_a_pair_and_a_number_under_other_names(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [record(["it"], ["who", "?"], score=[2.5])], features={"label": "score"})
    assert rows.table.to_pydict() == {"text": ["it"], "pair": ["who ?"], "label": [2.5]}


def test_several_labels_of_a_text(tmp_path: Path) -> None:
    records = [record(["it"], label_ids=[0, 1]), record(["who"], label_ids=[1, 1])]
    table = rows_of(tmp_path, records, labels=["long", "dull"]).table
    assert (table["long"].to_pylist(), table["dull"].to_pylist()) == ([0, 1], [1, 1])


def test_words_and_tags(tmp_path: Path) -> None:
    tags = [-1, 0, 1, -1, 0, -1, *[-1] * (WIDTH - 6)]
    rows = rows_of(tmp_path, [record(["the", "film", "##s", "are"], label_ids=tags)] * 2, labels=["O", "B-ART"])
    assert rows.table.to_pylist() == [{"words": ["the", "films", "are"], "tags": ["O", "B-ART", "O"]}] * 2


@pytest.mark.parametrize(
    ("start", "end", "impossible", "answers"),
    [
        (5, 6, 0, [{"text": "films", "start": 4}]),
        (4, 4, 0, [{"text": "the", "start": 0}]),
        (0, 0, 1, []),
        (5, 6, 1, []),
    ],
)
def test_questions_and_where_their_answers_stand(
    tmp_path: Path, start: int, end: int, impossible: int, answers: list[object]
) -> None:
    given = {"start_positions": [start], "end_positions": [end], "is_impossible": [impossible], "unique_ids": [1000]}
    first = record(["it"], ["are", ","], start_positions=[3], end_positions=[3], is_impossible=[0], unique_ids=[999])
    rows = rows_of(tmp_path, [first, record(["who", "?"], ["the", "film", "##s", "are"], **given)])
    assert rows.table.to_pylist()[1] == {
        "id": "1000",
        "question": "who ?",
        "context": "the films are",
        "answers": answers,
    }


def test_documents_get_their_hidden_words_back(tmp_path: Path) -> None:
    def hidden(first: list[str], second: list[str], place: int, word: str, *, is_other: bool) -> bytes:
        return record(
            first,
            second,
            masked_lm_positions=[place, 0],
            masked_lm_ids=[*ids(word), 0],
            masked_lm_weights=[1.0, 0.0],
            next_sentence_labels=[int(is_other)],
        )

    records = [
        hidden(["the", "[MASK]"], ["it"], 2, "film", is_other=False),
        hidden(["who", "?"], ["[MASK]"], 4, "good", is_other=True),
    ]
    rows = rows_of(tmp_path, records)
    assert rows.table["text"].to_pylist() == ["the film\nit", "who ?", "good"]
    assert [rows.places.describe(row) for row in range(3)] == [f"a.tfrecord row {n}" for n in (1, 2, 2)]


def test_records_that_cannot_be_are_bad_rows_with_their_number(tmp_path: Path) -> None:
    short = serialise_example(
        {
            name: Feature("int64", values)
            for name, values in {"input_ids": (2, 5, 3), "input_mask": (1, 1), "segment_ids": (0, 0, 0)}.items()
        }
    )
    unknown = record(["it"], input_ids=[2, 99, 3, *[0] * (WIDTH - 3)])
    found = reading(tmp_path, [record(["it"]), short, unknown])
    assert found.rows.table["text"].to_pylist() == ["it"]
    assert [str(each) for each in found.bad] == [
        "a.tfrecord record 2: its input_mask holds 2 values for 3 tokens",
        f"a.tfrecord record 3: it holds a token that {tmp_path}/vocab.txt lacks, which has 15",
    ]


def test_a_class_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds the class 2, and data\.labels names 2, from 0 on"):
        rows_of(tmp_path, [record(["it"], label_ids=[2])], labels=["a", "b"])


def test_another_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="3 of its 3 texts come to other tokens than were written"):
        rows_of(tmp_path, [record(["##s", "it"])] * 3)


@pytest.mark.parametrize("given", ["nowhere", "package:burnish/nothing.txt"])
def test_a_tokenizer_that_is_not_there(tmp_path: Path, given: str) -> None:
    with pytest.raises(DataError, match=r"data\.tokenizer: there is no file"):
        rows_of(tmp_path, [record(["it"])], tokenizer=given)


def test_options_for_token_ids_need_a_tokenizer() -> None:
    with pytest.raises(ValueError, match="name their `tokenizer` too"):
        TfRecords(train=("a.tfrecord",), labels=("a", "b"))
