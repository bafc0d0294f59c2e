"""Entities are scored with the digits of seqeval and conlleval, whole and under any weights of rows."""

import gzip
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import accuracy_score, f1_score, precision_score, recall_score

from burnish.errors import ConfigError
from burnish.metrics.language import Entities, TokenAccuracy
from burnish.metrics.tally import Tally, rehearse
from burnish.spec.values import Outcome
from tests.shared_data import shared_data
from tests.unit.metrics.conlleval import conlleval, rates

BIO = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
IOBES = ("O", *(f"{letter}-{kind}" for letter in "BIES" for kind in ("PER", "LOC")))


def rows_of(tags: list[list[str]], labels: tuple[str, ...]) -> np.ndarray:
    rows = [np.array([labels.index(tag) for tag in row], dtype=np.int64) for row in tags]
    return np.fromiter(rows, dtype=object, count=len(rows))


def outcome(truth: list[list[str]], said: list[list[str]], labels: tuple[str, ...]) -> Outcome:
    size = (len(truth), len(labels))
    return Outcome("tags", np.arange(size[0]), np.zeros(size), rows_of(said, labels), rows_of(truth, labels), labels)


def scored(truth: list[list[str]], said: list[list[str]], labels: tuple[str, ...]) -> dict[str, float]:
    tally = Tally([Entities(), TokenAccuracy()], [outcome(truth, said, labels)])
    return tally.scores()


@st.composite
def tagged(draw: st.DrawFn, labels: tuple[str, ...]) -> tuple[list[list[str]], list[list[str]]]:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = random.integers(1, 9, draw(st.integers(1, 12)))
    truth = [[str(tag) for tag in random.choice(labels, length)] for length in lengths]
    said = [[tag if random.random() < 0.7 else str(random.choice(labels)) for tag in row] for row in truth]
    return truth, said


def agrees_with_both(truth: list[list[str]], said: list[list[str]], labels: tuple[str, ...]) -> None:
    found = scored(truth, said, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, score in (("f1", f1_score), ("precision", precision_score), ("recall", recall_score)):
            assert found[name] == pytest.approx(score(truth, said), abs=1e-12)
        assert found["token_accuracy"] == pytest.approx(accuracy_score(truth, said), abs=1e-12)
    for kind, counts in conlleval(truth, said).items():
        names = [f"{name}{'' if kind is None else '_' + kind.lower()}" for name in ("precision", "recall", "f1")]
        assert [found[name] for name in names] == pytest.approx(rates(counts), abs=1e-12)


@settings(max_examples=60)
@given(tagged(BIO))
def test_any_bio_tags_even_impossible_ones_score_as_seqeval_and_conlleval_do(pair) -> None:
    agrees_with_both(*pair, BIO)


@settings(max_examples=60)
@given(tagged(IOBES))
def test_any_iobes_tags_score_as_seqeval_does(pair) -> None:
    agrees_with_both(*pair, IOBES)


@given(tagged(BIO), st.integers(0, 1000))
def test_a_weight_counts_a_row_as_often_as_repeating_it_does(pair, seed: int) -> None:
    truth, said = pair
    weights = np.random.default_rng(seed).integers(0, 4, (3, len(truth)))
    found = Entities().scores(outcome(truth, said, BIO), weights.astype(float))
    for number, row in enumerate(weights):
        repeated = np.repeat(np.arange(len(truth)), row).tolist()
        if repeated:
            whole = scored([truth[at] for at in repeated], [said[at] for at in repeated], BIO)
            assert {name: values[number] for name, values in found.items()} == pytest.approx(
                {name: whole[name] for name in found}
            )


def test_a_real_file_with_corrupted_predictions_gives_the_digits_of_seqeval_and_conlleval() -> None:
    text = gzip.decompress(shared_data("conll2003", "test.txt.gz").read_bytes()).decode()
    blocks = [block.splitlines() for block in text.split("\n\n") if block.strip() and "-DOCSTART-" not in block]
    truth = [[line.split(" ")[-1] for line in block] for block in blocks]
    labels = tuple(sorted({tag for row in truth for tag in row}))
    random = np.random.default_rng(0)
    said = [[str(random.choice(labels)) if random.random() < 0.05 else tag for tag in row] for row in truth]
    assert len(truth) == 3453
    agrees_with_both(truth, said, labels)


def test_bilou_is_iobes_by_other_letters() -> None:
    truth = [["B-PER", "L-PER", "O", "U-LOC"], ["O", "O"]]
    said = [["B-PER", "L-PER", "O", "U-PER"], ["U-LOC", "O"]]
    labels = ("O", "B-PER", "I-PER", "L-PER", "U-PER", "B-LOC", "I-LOC", "L-LOC", "U-LOC")
    found = scored(truth, said, labels)
    assert (found["precision"], found["recall"]) == (pytest.approx(1 / 3), pytest.approx(1 / 2))


def test_parts_of_speech_have_no_entities() -> None:
    with pytest.raises(ConfigError, match="entities needs tags such as B-PER, I-PER and O, and the tags are NN, VB"):
        rehearse([Entities()], kind="tags", labels=("NN", "VB"))


def test_an_empty_set_names_every_score() -> None:
    names = rehearse([Entities(), TokenAccuracy()], kind="tags", labels=("O", "B-PER", "I-PER"))
    assert names == ("f1", "precision", "recall", "f1_per", "precision_per", "recall_per", "token_accuracy")
