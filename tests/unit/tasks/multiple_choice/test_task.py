"""Choices of any number a row become sequences, and their scores one choice again."""

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import BertProcessing

from burnish.data.tokens.tokens import TextAssets
from burnish.data.truncation import Head, Tail, Windows
from burnish.errors import DataError
from burnish.metrics.tally import Tally
from burnish.spec.values import Profile, RandomKey, RowOrigins, Rows
from burnish.tasks.multiple_choice import MultipleChoice
from burnish.tasks.multiple_choice.encoder import ChoiceEncoder

PAD, CLS, SEP, UNK = range(4)
WORDS = {
    "[PAD]": PAD,
    "[CLS]": CLS,
    "[SEP]": SEP,
    "[UNK]": UNK,
    **{letter: 10 + at for at, letter in enumerate("abcdefgh")},
}
EVAL = RandomKey(seed=0, epoch=0, is_training=False)


def assets() -> TextAssets:
    tokenizer = Tokenizer(WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = BertProcessing(("[SEP]", SEP), ("[CLS]", CLS))
    return TextAssets(tokenizer, PAD, 0, "right", 64, True, {"tokenizer.json": tokenizer.to_str().encode()})


def rows(**columns: list[object]) -> Rows:
    table = pa.table(columns)
    return Rows(table, RowOrigins(("x.jsonl",), np.zeros(len(table), int), np.arange(len(table)), (1,)))


def task(**options: object) -> MultipleChoice:
    return MultipleChoice(**{"truncation": Head(), "max_length": 16, **options})


def encoder_for(data: Rows, **options: object) -> tuple[ChoiceEncoder, Profile]:
    chosen = task(**options)
    profile = chosen.profile(data)
    return chosen.encoder(profile, assets()), profile


TALK = rows(context=[["a b", "c"], ["d"]], question=["e", "f"], choices=[["g", "h"], ["a", "b", "c"]], label=[1, 2])


def test_each_choice_stands_after_its_context_and_question() -> None:
    encoder, _ = encoder_for(TALK, question="question")
    features = encoder.encode(TALK.table)
    batch = encoder.collate(features, np.array([0, 1]), EVAL)
    a, b, c, d, e, f, g, h = (WORDS[letter] for letter in "abcdefgh")
    assert batch["input_ids"].shape == (2, 3, 8)
    assert batch["input_ids"][0, 0].tolist() == [CLS, a, b, c, SEP, e, g, SEP]
    assert batch["input_ids"][0, 1].tolist() == [CLS, a, b, c, SEP, e, h, SEP]
    assert batch["input_ids"][1, 2].tolist() == [CLS, d, SEP, f, c, SEP, PAD, PAD]
    assert batch["token_type_ids"][1, 2].tolist() == [0, 0, 0, 1, 1, 1, 0, 0]
    assert batch["choices"].tolist() == [[True, True, False], [True, True, True]]
    assert batch["label"].tolist() == [1, 2]


def test_a_batch_in_another_order_holds_the_same_rows() -> None:
    encoder, _ = encoder_for(TALK, question="question")
    features = encoder.encode(TALK.table)
    forth, back = (encoder.collate(features, np.array(order), EVAL) for order in ([0, 1], [1, 0]))
    for name, values in forth.items():
        np.testing.assert_array_equal(values, back[name][::-1])


def test_a_column_a_choice_gives_what_a_list_gives() -> None:
    wide = rows(
        context=["a b c", "d"], question=["e", "f"], x=["g", "a"], y=["h", "b"], z=[None, "c"], label=["1", "2"]
    )
    options = {"question": "question", "choices": ("x", "y", "z")}
    encoder, _ = encoder_for(wide, **options)
    expected, _ = encoder_for(TALK, question="question")
    assert encoder.encode(wide.table).to_pydict() == expected.encode(TALK.table).to_pydict()


@pytest.mark.parametrize(
    ("labels", "form", "first"), [(["B", "c"], "letter", 0), (["2", "3"], "number", 1), (["h", "c"], "text", 0)]
)
def test_the_right_choice_may_be_a_number_a_letter_or_the_choice(labels, form: str, first: int) -> None:
    data = rows(context=["a", "d"], choices=[["g", "h"], ["a", "b", "c"]], label=labels)
    encoder, profile = encoder_for(data, first=first)
    # one letter that is also a choice is told from the others by what all labels are
    facts = {**profile.facts, "label_form": form}
    encoder = ChoiceEncoder(encoder.codec, Profile(profile.kind, profile.labels, facts), encoder.columns)
    assert encoder.encode(data.table)["label"].to_pylist() == [1, 2]


def test_the_form_of_labels_is_told_from_the_training_rows() -> None:
    choices = [["on foot", "by bus"]] * 2
    for labels, form in ((["0", "1"], "number"), (["A", "b"], "letter"), (["by bus", "on foot"], "text")):
        assert task().profile(rows(context=["a", "b"], choices=choices, label=labels)).facts["label_form"] == form


@pytest.mark.parametrize(
    ("choices", "labels", "form"),
    [
        ([["12", "15"], ["3", "7"]], ["15", "7"], "text"),
        ([["x", "y"], ["y", "z"]], ["y", "z"], "text"),
        ([["C", "D"], ["D", "A"]], ["D", "A"], "text"),
        ([["12", "15"], ["3", "7"]], ["1", "0"], "number"),
        ([["12", "1"], ["0", "1"]], ["1", "0"], "number"),  # both readings say the same
        ([["B", "C"], ["A", "C"]], ["A", "B"], "letter"),
    ],
)
def test_the_choices_tell_how_a_number_or_a_letter_is_meant(
    choices: list[list[str]], labels: list[str], form: str
) -> None:
    data = rows(context=["a", "b"], choices=choices, label=labels)
    assert task().profile(data).facts["label_form"] == form


@pytest.mark.parametrize(
    ("choices", "labels", "place", "told"),
    [
        ([["1", "0"], ["0", "1"]], ["1", "1"], "number", r"choice 2 by its number and choice 1 by its text"),
        ([["B", "A"], ["A", "B"]], ["A", "B"], "letter", r"choice 1 by its letter and choice 2 by its text"),
    ],
)
def test_labels_that_may_be_a_place_or_a_text_must_be_explained(
    choices: list[list[str]], labels: list[str], place: str, told: str
) -> None:
    data = rows(context=["a", "b"], choices=choices, label=labels)
    with pytest.raises(DataError, match=f"x.jsonl:1: label {labels[0]!r} is {told}.*set task.label_form: {place}"):
        task().profile(data)
    for form, right in ((place, [ord(labels[0][0]) % 16 - (place == "letter"), 1]), ("text", None)):
        encoder, profile = encoder_for(data, label_form=form)
        assert profile.facts["label_form"] == form
        found = encoder.encode(data.table)["label"].to_pylist()
        assert found == (right or [row.index(label) for row, label in zip(choices, labels, strict=True)])


def test_few_rows_at_fault_do_not_turn_a_place_into_a_text() -> None:
    choices, labels = [["4", "7"]] * 20, ["1", "0"] * 10
    labels[3] = "7"
    profile = task().profile(rows(context=["a"] * 20, choices=choices, label=labels))
    assert profile.facts["label_form"] == "number"


def test_every_bad_row_is_told_at_once() -> None:
    data = rows(context=["a", "", "b", "c"], choices=[["g"], ["g", "h"], ["g", ""], []], label=[4, 2, 0, 4])
    encoder, _ = encoder_for(data)
    told = [(fault.row, fault.what) for fault in encoder.faults(data)]
    assert told == [
        (1, "context is empty"),
        (0, "has 1 choice in choices, and at least 2 are needed"),
        (3, "has no choices in choices, and at least 2 are needed"),
        (2, "choice 2 in choices is empty"),
        (1, "label '2' is not one of 0 to 1"),
    ]


def test_labels_that_are_no_choice_are_told_with_those_that_are() -> None:
    data = rows(context=["a", "b"], choices=[["g", "h"], ["g", "h"]], label=[1, 2])
    [fault] = encoder_for(data)[0].faults(data)
    assert (fault.row, fault.what) == (1, "label '2' is not one of 0 to 1")


def test_long_contexts_are_cut_as_asked() -> None:
    data = rows(context=["a b c d e f"], choices=[["g", "h"]], label=[0])
    encoder, _ = encoder_for(data, max_length=8, truncation=Tail())
    features = encoder.encode(data.table)
    batch = encoder.collate(features, np.array([0]), EVAL)
    assert batch["input_ids"][0, 0].tolist() == [CLS, *(WORDS[letter] for letter in "cdef"), SEP, WORDS["g"], SEP]
    assert features["dropped"].to_pylist() == [2]


def test_windows_are_refused() -> None:
    with pytest.raises(ValidationError, match="keeps one and the same part of a text"):
        task(truncation=Windows())


def test_the_likeliest_choice_is_chosen_in_row_order() -> None:
    chosen, profile = task(question="question"), task(question="question").profile(TALK)
    outputs = {
        "logits": np.array([[0.0, 1.0, 3.0], [2.0, 0.0, -np.inf]]),
        "row": np.array([1, 0]),
        "part": np.array([1, 0]),
        "label": np.array([2, 1]),
    }
    outcome = chosen.decode(outputs, profile, TALK.table)
    assert outcome.decisions.tolist() == [0, 2]
    found = outcome.answers.to_pydict()
    assert (found["predicted"], found["truth"]) == (["g", "c"], ["h", "c"])
    assert [len(each) for each in found["probabilities"]] == [2, 3]
    assert [sum(each) for each in found["probabilities"]] == pytest.approx([1, 1])
    log_loss = np.mean([np.log(np.exp([0, 1, 3]).sum()) - 3, np.log(np.exp([2, 0]).sum()) - 0])
    assert Tally(chosen.metrics(profile), [outcome]).scores() == {"accuracy": 0.5, "log_loss": pytest.approx(log_loss)}


def test_rows_that_lack_a_column_are_refused_all_at_once() -> None:
    with pytest.raises(DataError, match="row 1 has no choices\nrow 2 has no context and no choices"):
        task().table([{"context": "a"}, {}], task().profile(TALK))


def test_a_row_to_predict_without_choices_is_refused() -> None:
    encoder, _ = encoder_for(TALK)
    with pytest.raises(DataError, match="row 2 has nothing to choose from in choices"):
        encoder.encode(pa.table({"context": ["a", "b"], "choices": [["g"], []]}))
