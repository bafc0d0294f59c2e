"""Ranks are those of a slow count by hand, and texts that are alike are one passage."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from burnish.data.truncation import Head, Windows
from burnish.metrics.classification import LogLoss
from burnish.metrics.language import Mrr, RecallAt
from burnish.metrics.tally import Tally
from burnish.spec.values import Profile
from burnish.tasks.embedding.task import Retrieval, Similarity

TASK = Retrieval(truncation=Head(), temperature=0.5)


def decoded(queries, passages, *, asked, given_, order=None):
    table = pa.table({"query": asked, "passage": given_})
    logits = np.concatenate([np.array(queries) / 0.5, np.array(passages)], axis=1).astype(np.float32)
    order = np.arange(len(asked)) if order is None else order
    outputs = {"logits": logits[order], "row": order, "label": np.zeros(len(asked)), "part": order}
    return TASK.decode(outputs, Profile("retrieval"), table)


def counted(queries, passages, asked, given_):
    """Count the rank of each row's passage, one by one."""
    vectors = dict(zip(given_, passages, strict=True))
    ranks = []
    for query, text, own in zip(queries, asked, given_, strict=True):
        right = {passage for each, passage in zip(asked, given_, strict=True) if each == text}
        score = np.dot(query, vectors[own])
        ranks.append(1 + sum(np.dot(query, vectors[each]) >= score for each in vectors if each not in right))
    return ranks


@given(st.integers(1, 12), st.integers(0, 10_000), st.integers(1, 4))
def test_ranks_are_those_counted_by_hand(n, seed, distinct):
    random = np.random.default_rng(seed)
    asked = [f"q{number}" for number in random.integers(0, max(1, n // 2) + 1, n)]
    given_ = [f"p{number}" for number in random.integers(0, distinct * n, n)]
    of_passage = {text: random.integers(-3, 4, 3) for text in sorted(set(given_))}
    of_query = {text: random.integers(-3, 4, 3) for text in sorted(set(asked))}
    queries, passages = [of_query[each] for each in asked], [of_passage[each] for each in given_]
    outcome = decoded(queries, passages, asked=asked, given_=given_, order=random.permutation(n))
    assert outcome.rows.tolist() == list(range(n))
    assert outcome.decisions.tolist() == counted(queries, passages, asked, given_)


def test_a_network_that_says_the_same_of_everything_has_found_nothing():
    outcome = decoded(np.ones((4, 2)), np.ones((4, 2)), asked=list("abcd"), given_=list("wxyz"))
    assert outcome.decisions.tolist() == [4, 4, 4, 4]


def test_scores_are_shares_of_ranks():
    queries, passages = np.eye(4), np.eye(4)[[0, 1, 3, 2]]
    outcome = decoded(queries, passages, asked=list("abcd"), given_=list("wxyz"))
    scores = Tally([Mrr(), RecallAt(k=(1, 4))], [outcome]).scores()
    assert outcome.decisions.tolist() == [1, 1, 4, 4]
    assert scores == {"mrr": pytest.approx(0.625), "recall_at_1": 0.5, "recall_at_4": 1.0}
    assert outcome.answers["predicted"].to_pylist() == ["w", "x", "z", "y"]
    assert outcome.answers["truth"].to_pylist() == ["w", "x", "y", "z"]


def test_the_loss_is_how_unlikely_each_passage_is_among_all_of_the_split():
    random = np.random.default_rng(3)
    queries, passages = random.normal(size=(5, 3)) * 900, random.normal(size=(5, 3))
    outcome = decoded(queries, passages, asked=list("abcde"), given_=list("vwxyz"))
    expected = torch.nn.functional.cross_entropy(torch.tensor(queries @ passages.T / 0.5), torch.arange(5))
    assert Tally([LogLoss()], [outcome]).scores() == {"log_loss": pytest.approx(float(expected), rel=1e-5)}


def test_negatives_are_left_out_of_the_ranks():
    task = Retrieval(truncation=Head(), temperature=1.0, negative="not")
    assert task.training_columns == ("query", "passage", "not")
    table = pa.table({"query": ["a", "b"], "passage": ["x", "y"], "not": ["y", "x"]})
    logits = np.concatenate([np.eye(2), np.eye(2), np.eye(2) * 9], axis=1).astype(np.float32)
    outputs = {"logits": logits, "row": np.arange(2), "label": np.full(2, 3), "part": np.arange(2)}
    assert task.decode(outputs, Profile("retrieval"), table).decisions.tolist() == [1, 1]


def test_without_passages_the_answer_is_the_embedding():
    outputs = {"logits": np.array([[2.0, 4.0]], np.float32), "row": np.array([0]), "part": np.array([0])}
    outcome = TASK.decode(outputs, Profile("retrieval"), pa.table({"query": ["a"]}))
    assert outcome.truth is None
    assert outcome.outputs.tolist() == [[1.0, 2.0]]
    assert outcome.answers.to_pylist() == [{"predicted": "2 numbers: 1.000, 2.000, …", "embedding": [1.0, 2.0]}]


@pytest.mark.parametrize("task", [Retrieval, Similarity])
def test_windows_are_refused(task):
    with pytest.raises(ValidationError, match="one stretch of text"):
        task(truncation=Windows())


def test_a_scale_must_rise():
    with pytest.raises(ValidationError, match="does not rise: 5 to 0"):
        Similarity(truncation=Head(), scale=(5, 0))
