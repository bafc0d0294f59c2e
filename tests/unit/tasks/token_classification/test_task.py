"""Words become tokens and tokens become tags again: labels, windows, what is refused, what is said of an answer."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from tokenizers.processors import BertProcessing

from burnish.data.batching.padding import Padding
from burnish.data.tokens.text import choose_padding
from burnish.data.tokens.tokens import TextAssets
from burnish.errors import ConfigError, DataError
from burnish.metrics.tally import rehearse
from burnish.spec.values import Outcome, Profile, RandomKey, RowOrigins, Rows
from burnish.tasks.token_classification import TokenClassification
from burnish.tasks.token_classification.encoder import IGNORED, TagEncoder

PAD, CLS, SEP, UNK = range(4)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TRAIN = RandomKey(seed=0, epoch=0, is_training=True)
EVAL = RandomKey(seed=0, epoch=0, is_training=False)


def spelling(*, side: str = "right") -> TextAssets:
    """A tokenizer that spells: each letter is a token, and the control character NUL is none."""
    vocabulary = {"[PAD]": PAD, "[CLS]": CLS, "[SEP]": SEP, "[UNK]": UNK}
    vocabulary |= {letter: 10 + number for number, letter in enumerate(LETTERS)}
    vocabulary |= {f"##{letter}": 50 + number for number, letter in enumerate(LETTERS)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = BertProcessing(("[SEP]", SEP), ("[CLS]", CLS))
    files = {"tokenizer.json": tokenizer.to_str().encode()}
    return TextAssets(tokenizer, PAD, 0, side, 512, True, files)


def rows(words: list[list[str] | None], tags: list[list[str] | None]) -> Rows:
    lists = pa.list_(pa.string())
    table = pa.table({"words": pa.array(words, lists), "tags": pa.array(tags, lists)})
    return Rows(table, RowOrigins(("x.txt",), np.zeros(len(words), int), np.arange(len(words)), (1,)))


def encoder_for(data: Rows, *, side: str = "right", **options: object) -> tuple[TagEncoder, Profile]:
    task = TokenClassification(**options)
    profile = task.profile(data)
    return task.encoder(profile, spelling(side=side)), profile


PAIR = rows([["ab", "c"], ["d", "efg", "h"]], [["B-PER", "O"], ["O", "B-LOC", "I-LOC"]])


PAIR_PROFILE = TokenClassification().profile(PAIR)


def test_the_first_token_of_a_word_has_its_label() -> None:
    encoder, profile = encoder_for(PAIR)
    batch = encoder.collate(encoder.encode(PAIR.table), np.array([0, 1]), TRAIN)
    o, per, loc, inside = (profile.labels.index(name) for name in ("O", "B-PER", "B-LOC", "I-LOC"))
    x = IGNORED
    assert batch["input_ids"].tolist() == [[CLS, 10, 51, 12, SEP, PAD, PAD], [CLS, 13, 14, 55, 56, 17, SEP]]
    assert batch["label"].tolist() == [[x, per, x, o, x, x, x], [x, o, loc, x, x, inside, x]]
    assert batch["scored"].tolist() == (batch["label"] != x).tolist()
    assert batch["row"].tolist() == [0, 1]


def test_all_tokens_of_a_word_learn_its_label_and_only_the_first_is_asked() -> None:
    encoder, profile = encoder_for(PAIR, label_on="all")
    features = encoder.encode(PAIR.table)
    loc, inside = profile.labels.index("B-LOC"), profile.labels.index("I-LOC")
    training, asked = (encoder.collate(features, np.array([1]), draw) for draw in (TRAIN, EVAL))
    assert training["label"][0, 2:5].tolist() == [loc, inside, inside]
    assert training["scored"].sum() == 5
    assert asked["at_word"][asked["scored"]].tolist() == [0, 1, 2]


def test_padding_on_the_left_moves_labels_too() -> None:
    encoder, _ = encoder_for(PAIR, side="left")
    batch = encoder.collate(encoder.encode(PAIR.table), np.array([0, 1]), TRAIN)
    assert batch["input_ids"][0].tolist() == [PAD, PAD, CLS, 10, 51, 12, SEP]
    assert np.flatnonzero(batch["scored"][0]).tolist() == [3, 5]


words_of_letters = st.lists(st.text(LETTERS, min_size=1, max_size=9), min_size=1, max_size=30)


@settings(max_examples=50)
@given(st.lists(words_of_letters, min_size=1, max_size=4), st.integers(3, 16), st.integers(0, 8))
def test_every_word_is_asked_exactly_once_however_rows_are_windowed(words, max_length, stride) -> None:
    words = [*words, ["a"]]
    tags = [["B-X" if number % 3 else "O" for number in range(len(row), 0, -1)] for row in words]
    data = rows(words, tags)
    encoder, profile = encoder_for(data, max_length=max_length, stride=stride)
    features = encoder.encode(data.table)
    assert int(features["length"].to_numpy().max()) <= max_length
    batch = encoder.collate(features, np.arange(features.num_rows), EVAL)
    is_asked = batch["scored"]
    row_of = np.repeat(batch["row"], is_asked.sum(axis=1))
    order = np.lexsort((batch["at_word"][is_asked], row_of))
    ids, labels, places = (batch[name][is_asked][order].tolist() for name in ("input_ids", "label", "at_word"))
    assert places == [number for row in words for number in range(len(row))]
    assert ids == [10 + LETTERS.index(word[0]) for row in words for word in row]
    assert [profile.labels[label] for label in labels] == [tag for row in tags for tag in row]


def test_a_word_is_asked_in_the_window_that_shows_most_around_it() -> None:
    words = list("abcdefghij")
    data = rows([words], [["O"] * 9 + ["B-X"]])
    encoder, _ = encoder_for(data, max_length=8, stride=4)
    features = encoder.encode(data.table)
    asked = [[word for word in row if word >= 0] for row in features["word"].to_pylist()]
    assert [len(row) for row in features["a"].to_pylist()] == [6, 6, 6]
    assert asked == [[0, 1, 2, 3], [4, 5], [6, 7, 8, 9]]


def test_a_word_of_which_the_tokenizer_makes_nothing_is_an_unknown_one() -> None:
    data = rows([["a", "\x00", "b"]], [["O", "B-X", "O"]])
    encoder, _ = encoder_for(data)
    assert encoder.encode(data.table)["a"].to_pylist() == [[10, UNK, 11]]


def test_every_bad_row_is_told_at_once() -> None:
    encoder, _ = encoder_for(PAIR)
    data = rows([["a"], [], ["b", "c"], None, ["d"]], [["B-PER"], [], ["O"], ["O"], ["B-ORG"]])
    told = {fault.row: fault.what for fault in encoder.faults(data)}
    assert told.pop(4).startswith("the tag of word 1 (d) is 'B-ORG', which is not one of O, B-LOC")
    assert told == {1: "words is empty", 2: "words has 2 and tags 1 entries", 3: "words is empty"}


def test_unknown_tags_are_told_by_word_with_those_that_are_known() -> None:
    encoder, _ = encoder_for(PAIR)
    [fault] = encoder.faults(rows([["a", "b"]], [["O", "B-ORG"]]))
    assert fault.what == "the tag of word 2 (b) is 'B-ORG', which is not one of O, B-LOC, I-LOC, B-PER, I-PER"


def test_a_type_of_one_word_in_training_may_have_two_elsewhere() -> None:
    encoder, _ = encoder_for(PAIR)
    assert encoder.faults(rows([["a", "b"]], [["B-PER", "I-PER"]])) == []


def test_impossible_tags_are_refused_or_counted() -> None:
    data = rows([["a", "b"], ["c"]], [["B-X", "I-Y"], ["B-Y"]])
    [fault] = encoder_for(data, scheme="bio")[0].faults(data)
    assert fault.what == "the tag I-Y of word 2 (b) must follow B or I of its type in BIO"
    encoder, profile = encoder_for(data, scheme="bio", impossible="count")
    assert encoder.faults(data) == []
    assert profile.facts["impossible_tags"] == 1


def test_tags_are_rewritten_before_they_are_learned() -> None:
    encoder, profile = encoder_for(PAIR, learn_as="iobes")
    labels = encoder.encode(PAIR.table)["label"].to_pylist()[1]
    assert [profile.labels[label] for label in labels if label != IGNORED] == ["O", "B-LOC", "E-LOC"]
    assert profile.labels[:5] == ("O", "B-LOC", "I-LOC", "E-LOC", "S-LOC")


def test_parts_of_speech_are_labels_as_they_are() -> None:
    data = rows([["a", "b"]], [["NN", "VB"]])
    _, profile = encoder_for(data)
    assert (profile.kind, profile.labels) == ("tags", ("NN", "VB"))
    assert [type(each).__name__ for each in TokenClassification().metrics(profile)] == ["TokenAccuracy", "LogLoss"]


def test_a_misspelt_tag_does_not_turn_entities_into_something_else() -> None:
    data = rows([["a", "b", "c"]], [["B-X", "I-X", "i-X"]])
    encoder, profile = encoder_for(data)
    assert profile.facts["written"] == "bio"
    assert "'i-X', which is not one of O, B-X, I-X" in encoder.faults(data)[0].what


def test_columns_that_are_no_lists_are_refused() -> None:
    table = pa.table({"words": ["a b"], "tags": [["O"]]})
    with pytest.raises(DataError, match="the column `words` holds string, and a list is needed"):
        TokenClassification().profile(Rows(table, PAIR.places))


def test_a_limit_without_room_for_a_word_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"task\.max_length must be at least 3, got 2"):
        encoder_for(PAIR, max_length=2)


def answered(
    task: TokenClassification, profile: Profile, table: pa.Table, said: list[list[str]], *, seed: int = 0
) -> Outcome:
    """Decode logits that say these tags, in any order."""
    random = np.random.default_rng(seed)
    flat = [(row, word, tag) for row, tags in enumerate(said) for word, tag in enumerate(tags)]
    flat = [flat[at] for at in random.permutation(len(flat))]
    logits = np.array([[2.0 if label == tag else 0.0 for label in profile.labels] for _, _, tag in flat])
    outputs = {
        "logits": logits.reshape(len(flat), len(profile.labels)),
        "row": np.array([row for row, _, _ in flat]),
        "part": np.zeros(len(flat), int),
        "at_word": np.array([word for _, word, _ in flat]),
    }
    return task.decode(outputs, profile, table)


def test_answers_come_in_row_order_with_entities_and_their_places() -> None:
    task, profile = TokenClassification(), encoder_for(PAIR)[1]
    table = pa.table({"words": [["Ann", "Lee", "saw", "Rom"], ["no"], ["Île"]]})
    said = [["B-PER", "I-PER", "O", "B-LOC"], ["O"], ["B-LOC"]]
    outcome = answered(task, profile, table, said)
    found = outcome.answers.to_pydict()
    assert outcome.rows.tolist() == [0, 1, 2]
    assert found["tags"] == said
    assert found["predicted"] == ["PER Ann Lee; LOC Rom", "(none)", "LOC Île"]
    share = np.exp(2) / (np.exp(2) + 4)
    first, second = found["entities"][0]
    assert first == {"type": "PER", "text": "Ann Lee", "start": 0, "end": 7, "score": pytest.approx(share**2)}
    assert (second["start"], second["end"]) == (12, 15)
    assert found["entities"][1] == []
    assert found["confidence"] == pytest.approx([share**4, share, share])
    assert outcome.outputs.sum(axis=1) == pytest.approx([1, 1, 1])


def test_a_text_is_split_into_words_and_entities_point_into_it() -> None:
    task, profile = TokenClassification(), encoder_for(PAIR)[1]
    text = "  Ann-Lee,  of U.N.\tRom"
    table = task.table([{"text": text}, {"words": ""}], profile)
    said = [["B-PER", "O", "O", "O", "O", "B-LOC"], []]
    outcome = answered(task, profile, table, said)
    entities = outcome.answers["entities"].to_pylist()
    assert [text[each["start"] : each["end"]] for each in entities[0]] == ["Ann-Lee", "Rom"]
    assert [each["text"] for each in entities[0]] == ["Ann-Lee", "Rom"]
    assert [len(row) for row in outcome.decisions] == [6, 0]
    assert np.isfinite(outcome.outputs).all()


def test_rows_without_words_or_text_are_refused_all_at_once() -> None:
    with pytest.raises(DataError, match="a row needs words or text: a text, or a list of words; row 1, 3 has neither"):
        TokenClassification().table([{"word": "a"}, {"text": "a"}, {"words": [1]}], PAIR_PROFILE)


def test_metrics_of_the_task_can_be_rehearsed() -> None:
    names = rehearse(TokenClassification().metrics(PAIR_PROFILE), kind="tags", labels=PAIR_PROFILE.labels)
    assert names[0] == "f1"
    assert "recall_loc" in names


def test_padding_is_that_of_the_model() -> None:
    encoder, _ = encoder_for(PAIR)
    assert choose_padding(encoder.codec.assets) == Padding(PAD, segment=0, max_width=512)
