"""A question and windows of its context become batches, and what a network says of them an answer."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from burnish.data.rows import from_file
from burnish.data.tokens.tokens import TextAssets
from burnish.errors import ConfigError
from burnish.spec.values import Outcome, Profile, RandomKey
from burnish.tasks.question_answering import QuestionAnswering

WORDS = ["who", "when", "met", "left", "ann", "bob", "eve", "and", "then", ",", "."]
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
FRAMES = {
    "bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", "right"),
    "xlnet": ("$A [SEP] [CLS]", "$A [SEP] $B:1 [SEP]:1 [CLS]:2", "left"),
}
CONTEXT = "ann met bob , and then eve left . bob left ."
TRAINING, ANSWERING = (RandomKey(seed=0, epoch=0, is_training=flag) for flag in (True, False))


def assets(family: str = "bert") -> TextAssets:
    single, pair, side = FRAMES[family]
    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate([*SPECIAL, *WORDS])}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single=single, pair=pair, special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    files = {"tokenizer.json": tokenizer.to_str().encode(), "tokenizer_config.json": b'{"cls_token": "[CLS]"}'}
    return TextAssets(tokenizer, 0, 0, side, 64, True, files)  # type: ignore[arg-type]  # one of the two sides


def task(**options: Any) -> QuestionAnswering:
    return QuestionAnswering(**{"max_length": 12, "max_question": 3, "stride": 2, **options})


def rows(*questions: tuple[str, str | None], **more: Any) -> pa.Table:
    answers = [[] if text is None else [{"text": text, "start": CONTEXT.index(text)}] for _, text in questions]
    kind = pa.list_(pa.struct([("text", pa.string()), ("start", pa.int64())]))
    asked = {"question": [question for question, _ in questions], "context": [CONTEXT] * len(questions)}
    return pa.table({**asked, "answers": pa.array(answers, kind), **more})


def profile(of: QuestionAnswering, table: pa.Table) -> Profile:
    return of.profile(from_file(table, name="x", first_line=0))


def perfect(of: QuestionAnswering, table: pa.Table, *, family: str = "bert") -> tuple[Outcome, Profile]:
    """Answer by a network that scores the labels of training highest, in batches of two windows."""
    known = profile(of, table)
    encoder = of.encoder(known, assets(family))
    features = encoder.encode(table)
    pieces: list[dict[str, np.ndarray]] = []
    for first in range(0, features.num_rows, 2):
        indices = np.arange(first, min(first + 2, features.num_rows))
        taught, asked = (encoder.collate(features, indices, draw) for draw in (TRAINING, ANSWERING))
        scored = asked["scored"]
        logits = np.zeros((*scored.shape, 2), np.float32)
        for side in range(2):
            logits[np.arange(len(indices)), taught["label"][:, side], side] = 9
        beside = {"row": asked["row"], "part": indices}
        repeated = {name: np.repeat(values, scored.sum(axis=1)) for name, values in beside.items()}
        at = {name: asked[name][scored] for name in ("at_start", "at_end")}
        pieces.append({"logits": logits[scored], **repeated, **at})
    outputs = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    return of.decode(outputs, known, table), known


@pytest.mark.parametrize("family", list(FRAMES))
def test_labels_point_at_the_answer(family: str) -> None:
    table = rows(("who left", "eve"), ("when", "and then"), ("who met", "bob left"))
    encoder = task().encoder(profile(task(), table), assets(family))
    features = encoder.encode(table)
    assert features.num_rows > len(table)
    found: dict[int, set[str]] = {}
    for index in range(features.num_rows):
        batch = encoder.collate(features, np.array([index, 0]), TRAINING)
        (start, end), null = batch["label"][0], int(np.flatnonzero(batch["input_ids"][0] == 1)[0])
        assert batch["scored"][0, null]
        if start == null:
            assert end == null
            continue
        said = CONTEXT[batch["at_start"][0, start] : batch["at_end"][0, end]]
        found.setdefault(int(batch["row"][0]), set()).add(said)
    assert found == {0: {"eve"}, 1: {"and then"}, 2: {"bob left"}}


@pytest.mark.parametrize("family", list(FRAMES))
def test_the_network_answers_at_the_context_and_at_the_token_for_none(family: str) -> None:
    table = rows(("who left", "eve"))
    encoder = task().encoder(profile(task(), table), assets(family))
    features = encoder.encode(table)
    batch = encoder.collate(features, np.arange(features.num_rows), ANSWERING)
    assert "label" not in batch
    for ids, scored, begins in zip(batch["input_ids"], batch["scored"], batch["at_start"], strict=True):
        assert (scored == ((begins >= 0) | (ids == 1))).all()
        assert (ids[(begins >= 0)] > 3).all()
    lengths = batch["attention_mask"].sum(axis=1)
    assert lengths.tolist() == features["length"].to_pylist()
    assert lengths.max() <= 12


@pytest.mark.parametrize("family", list(FRAMES))
def test_a_network_that_is_right_gives_right_answers(family: str) -> None:
    table = rows(("who left", "eve"), ("when", "and then"), ("who met", None), id=["a", "b", "c"])
    outcome, known = perfect(task(), table, family=family)
    assert known.facts["no_answer"]
    assert outcome.decisions.tolist() == ["eve", "and then", ""]
    assert outcome.truth is not None
    assert outcome.truth.tolist() == [("eve",), ("and then",), ()]
    assert outcome.answers is not None
    shown = outcome.answers.to_pylist()
    assert [row["id"] for row in shown] == ["a", "b", "c"]
    assert [CONTEXT[row["start"] : row["end"]] for row in shown[:2]] == ["eve", "and then"]
    assert (shown[2]["start"], shown[2]["predicted"]) == (None, "")
    assert all(row["n_best"][0]["text"] == row["best_answer"] for row in shown)
    shares = [each["probability"] for each in shown[0]["n_best"]]
    assert sum(shares) + shown[0]["no_answer_probability"] == pytest.approx(1)
    assert (np.sign(outcome.outputs[:, 1]) == [-1, -1, 1]).all()


def test_where_every_question_has_an_answer_one_is_always_given() -> None:
    table = rows(("who left", "eve"), ("when", "and then"))
    outcome, known = perfect(task(null_threshold=-1e9), table)
    assert not known.facts["no_answer"]
    assert outcome.decisions.tolist() == ["eve", "and then"]


def test_the_threshold_is_fitted_and_used() -> None:
    table = rows(("who left", "eve"), ("when", None))
    outcome, known = perfect(task(), table)
    refined = task().refine(outcome, known)
    assert outcome.outputs[0, 1] < refined.facts["null_threshold"] < outcome.outputs[1, 1]
    assert task(null_threshold=0.5).refine(outcome, known) is known
    assert not {"null_threshold"} & set(known.facts)


def test_long_questions_are_cut_and_counted() -> None:
    table = rows(("who left and then", "eve"))
    features = task().encoder(profile(task(), table), assets()).encode(table)
    assert set(features["dropped"].to_pylist()) == {1}
    assert set(features["question_length"].to_pylist()) == {3}


def test_a_table_without_answers_is_encoded_for_prediction() -> None:
    table = rows(("who left", "eve"))
    encoder = task().encoder(profile(task(), table), assets())
    assert "label" not in encoder.encode(table.drop_columns(["answers"])).column_names


def test_no_row_is_lost_when_there_are_none() -> None:
    encoder = task().encoder(profile(task(), rows(("who", "eve"))), assets())
    assert encoder.encode(rows(("who", "eve")).slice(0, 0)).num_rows == 0


def test_the_beam_is_told_the_start_in_training_and_the_characters_in_answering() -> None:
    of = task(search="beam")
    table = rows(("who left", "eve"), ("when", None))
    encoder = of.encoder(profile(of, table), assets())
    features = encoder.encode(table)
    taught, asked = (encoder.collate(features, np.arange(features.num_rows), draw) for draw in (TRAINING, ANSWERING))
    assert (taught["start_place"] == taught["label"][:, 0]).all()
    assert taught["impossible"][:, 0].tolist() == (taught["label"][:, 0] == taught["null_place"]).tolist()
    assert not {"scored", "at_start", "label"} & set(asked)
    assert (asked["allowed"].sum(axis=1) == (asked["characters"][:, :, 0] >= 0).sum(axis=1) + 1).all()


def test_heads_fit_what_is_asked() -> None:
    known = Profile("spans", facts={"no_answer": True})
    assert task().head(known).kind == "question_answering"
    beam = task(search="beam").head(known)
    assert (beam.kind, [term.weight for term in beam.terms]) == ("question_answering_beam", [0.5])
    assert not task(search="beam").head(Profile("spans", facts={"no_answer": False})).terms


@pytest.mark.parametrize(
    ("options", "complaint"),
    [({"max_question": 12}, "leaves no room"), ({"stride": 9}, "must be smaller")],
)
def test_options_that_leave_no_room_are_refused(options: dict[str, int], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        task(**options)


def test_special_tokens_need_room_too() -> None:
    of = task(max_length=8, max_question=5, stride=0)
    with pytest.raises(ConfigError, match=r"task\.max_length must be at least 9, got 8"):
        of.encoder(Profile("spans", facts={"no_answer": False}), assets())
