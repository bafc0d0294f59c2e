"""Answers are scored by SQuAD's rules, to the last digit."""

import gzip
import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.metrics.answer_scores import best_threshold, exact_match, f1
from burnish.metrics.language import Answerability, AnswerF1, BestThreshold, ExactMatch
from burnish.metrics.tally import rehearse
from burnish.spec.values import Outcome
from tests import squad_rules as rules
from tests.shared_data import shared_data

ALL = (AnswerF1(), ExactMatch(), Answerability(), BestThreshold())


def outcome(
    said: Sequence[str],
    right: Sequence[tuple[str, ...]],
    *,
    odds: Sequence[float] | None = None,
    best: Sequence[str] | None = None,
) -> Outcome:
    truth = np.empty(len(right), dtype=object)
    truth[:] = list(right)
    outputs = np.stack([np.zeros(len(said)), np.zeros(len(said)) if odds is None else np.asarray(odds)], axis=1)
    answers = pa.table({"predicted": list(said), "best_answer": pa.array(list(best or said), pa.string())})
    decided = np.array(list(said), dtype=object)
    return Outcome("spans", np.arange(len(said)), outputs, decided, truth, answers=answers)


def scores(of: Outcome, weights: np.ndarray | None = None) -> dict[str, np.ndarray]:
    return {name: value for metric in ALL for name, value in metric.scores(of, weights).items()}


@pytest.mark.parametrize(
    ("said", "right", "exact", "overlap"),
    [
        ("The Cat.", ("cat",), 1.0, 1.0),
        ("a cat", ("the dog", "an  CAT!"), 1.0, 1.0),
        ("red cat", ("cat",), 0.0, 2 / 3),
        ("", (), 1.0, 1.0),
        ("cat", (), 0.0, 0.0),
        ("", ("cat",), 0.0, 0.0),
        ("the", ("the",), 1.0, 1.0),
        ("U.S.A", ("usa",), 1.0, 1.0),
        ("cat cat", ("cat",), 0.0, 2 / 3),
    ],
)
def test_the_rules(said: str, right: tuple[str, ...], exact: float, overlap: float) -> None:
    assert exact_match(said, right) == exact
    assert f1(said, right) == pytest.approx(overlap)


TEXT = st.text(alphabet="aAnthe —_é1.,'\t ", max_size=12)


@given(TEXT, st.lists(TEXT, max_size=3))
def test_any_answer_scores_as_the_rules_written_a_second_time(said: str, right: list[str]) -> None:
    assert exact_match(said, tuple(right)) == rules.exact(said, right)
    assert f1(said, tuple(right)) == rules.overlap(said, right)


def test_questions_with_and_without_an_answer_are_told_apart() -> None:
    found = scores(outcome(["cat", "red dog", "", "x"], [("cat",), ("dog",), (), ()]))
    assert found["f1"][0] == pytest.approx((1 + 2 / 3 + 1 + 0) / 4)
    assert found["has_answer_f1"][0] == pytest.approx((1 + 2 / 3) / 2)
    assert found["has_answer_exact_match"][0] == 0.5
    assert found["no_answer_f1"][0] == 0.5


def test_a_sort_of_questions_that_is_not_there_has_no_score() -> None:
    assert np.isnan(scores(outcome(["cat"], [("cat",)]))["no_answer_f1"][0])


def test_the_names_are_known_before_there_are_rows() -> None:
    assert rehearse(ALL, kind="spans", labels=()) == tuple(name for metric in ALL for name in metric.names())
    assert not any(metric.applies("binary") for metric in ALL)


ROW = st.tuples(st.sampled_from(["cat", "dog", "red cat"]), st.sampled_from([(), ("cat",), ("dog", "cat")]))


@given(st.lists(st.tuples(ROW, st.floats(-5, 5)), min_size=1, max_size=12))
def test_the_best_threshold_is_the_best_of_all(rows: list[tuple[tuple[str, tuple[str, ...]], float]]) -> None:
    best, right, odds = [row[0][0] for row in rows], [row[0][1] for row in rows], [row[1] for row in rows]
    names = [str(number) for number in range(len(rows))]
    golds, said, known = (dict(zip(names, each, strict=True)) for each in (right, best, odds))
    of = outcome([""] * len(rows), right, odds=odds, best=best)
    if len(set(odds)) == len(odds):  # where odds are the same, the published search stops between them
        wanted = rules.best_with_threshold(golds, said, known, score=rules.overlap)[0]
        assert scores(of)["best_f1"][0] == pytest.approx(wanted)
        wanted = rules.best_with_threshold(golds, said, known, score=rules.exact)[0]
        assert scores(of)["best_exact_match"][0] == pytest.approx(wanted)
    threshold = best_threshold(of)
    decided = {name: said[name] if known[name] <= threshold else "" for name in names}
    wanted = rules.best_with_threshold(golds, said, known, score=rules.overlap)[0]
    assert rules.official(golds, decided)["f1"] == pytest.approx(wanted)


def test_weights_are_repeated_rows() -> None:
    said, right, odds = ["cat", "dog", "red cat", ""], [("cat",), (), ("cat",), ("dog",)], [-1.0, 2.0, 0.5, -3.0]
    best = ["cat", "dog", "red cat", "dog"]
    times = np.array([2, 0, 1, 3])
    repeated = [list(np.repeat(np.array(each, dtype=object), times)) for each in (said, best, odds)]
    golds = [right[at] for at in np.repeat(np.arange(4), times)]
    whole = scores(outcome(repeated[0], golds, best=repeated[1], odds=repeated[2]))
    weighed = scores(outcome(said, right, best=best, odds=odds), times[None].astype(float))
    for name, value in whole.items():
        np.testing.assert_allclose(weighed[name], value, err_msg=name)


def questions(version: str) -> Mapping[str, tuple[str, ...]]:
    document = json.loads(gzip.decompress(shared_data("squad", f"dev-v{version}.json.gz").read_bytes()))
    return {
        question["id"]: tuple(answer["text"] for answer in question["answers"])
        for article in document["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    }


def perturbed(right: tuple[str, ...], random: np.random.Generator) -> str:
    """Make an answer that is right, nearly right, empty or wrong."""
    text = right[random.integers(len(right))] if right else "the sea"
    words = text.split()
    ways = [text, "", f"The {text}!", " ".join(words[:-1]), f"{text} {words[0]}", text.upper(), words[-1], "a: sea"]
    return ways[random.integers(len(ways))]


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_real_questions_score_as_the_rules_written_a_second_time(version: str) -> None:
    golds = questions(version)
    random = np.random.default_rng(0)
    said = {name: perturbed(right, random) for name, right in golds.items()}
    wanted = rules.official(golds, said)
    found = {name: value[0] for name, value in scores(outcome(list(said.values()), list(golds.values()))).items()}
    assert (found["exact_match"], found["f1"]) == (wanted["exact"], pytest.approx(wanted["f1"], rel=1e-15))
    assert found["has_answer_exact_match"] == wanted["HasAns_exact"]
    assert found["has_answer_f1"] == pytest.approx(wanted["HasAns_f1"], rel=1e-14)
    if version == "2.0":
        assert found["no_answer_f1"] == wanted["NoAns_f1"] == wanted["NoAns_exact"]
