"""Turns likelihoods and guesses of tokens into one answer a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

from burnish.metrics.tokens import RIGHT, TOKENS, UNLIKELIHOOD
from burnish.spec.values import Outcome

if TYPE_CHECKING:
    from burnish.spec.values import Array


def decode(outputs: Mapping[str, Array], *, num_rows: int | None) -> Outcome:
    """Add up the tokens of each row, or collect the guesses at its places, whatever order they came in."""
    order = np.lexsort((outputs["at_place"], outputs["part"]))
    rows, answers = outputs["at_row"][order], outputs["logits"][order].astype(np.float64)
    count = int(rows.max(initial=-1)) + 1 if num_rows is None else num_rows
    return _likelihoods(rows, answers, count) if "label" in outputs else _guesses(rows, answers, count)


def in_words(outcome: Outcome, tokenizer: Tokenizer) -> Outcome:
    """Put guessed ids into a column of answers; likelihoods have theirs already."""
    if outcome.answers is not None:
        return outcome
    best = [[_listed(place, tokenizer) for place in places] for places in outcome.decisions]
    firsts = [", ".join(str(place[0]["token"]) for place in places) for places in best]
    kind = pa.list_(pa.list_(pa.struct([("token", pa.string()), ("probability", pa.float64())])))
    return replace(outcome, answers=pa.table({"predicted": firsts, "guesses": pa.array(best, kind)}))


def _likelihoods(rows: Array, answers: Array, count: int) -> Outcome:
    sums = np.zeros((count, 3))
    sums[:, UNLIKELIHOOD] = np.bincount(rows, weights=answers[:, 0], minlength=count)
    sums[:, TOKENS] = np.bincount(rows, minlength=count)
    sums[:, RIGHT] = np.bincount(rows, weights=answers[:, 1], minlength=count)
    return Outcome(
        kind="likelihood",
        rows=np.arange(count),
        outputs=sums,
        decisions=sums[:, RIGHT].astype(np.int64),
        truth=sums[:, TOKENS].astype(np.int64),
        answers=_shown(sums),
    )


def _shown(sums: Array) -> pa.Table:
    tokens = sums[:, TOKENS]
    with np.errstate(all="ignore"):
        each = np.exp(sums[:, UNLIKELIHOOD] / tokens)
    told = [f"perplexity {value:.4g}" if number else "no tokens" for value, number in zip(each, tokens, strict=True)]
    return pa.table(
        {
            "predicted": told,
            "unlikelihood": sums[:, UNLIKELIHOOD],
            "tokens": tokens.astype(np.int64),
            "right_guesses": sums[:, RIGHT].astype(np.int64),
        }
    )


def _guesses(rows: Array, answers: Array, count: int) -> Outcome:
    """Keep, for every place of a row, its best ids and their log-probabilities side by side."""
    ends = np.cumsum(np.bincount(rows, minlength=count))
    order = np.argsort(rows, kind="stable")
    decisions = np.empty(count, dtype=object)
    decisions[:] = np.split(answers[order], ends[:-1]) if count else []
    firsts = np.zeros((count, answers.shape[1] // 2))
    seen, where = np.unique(rows, return_index=True)
    firsts[seen] = answers[where, answers.shape[1] // 2 :]
    return Outcome(kind="likelihood", rows=np.arange(count), outputs=firsts, decisions=decisions, truth=None)


def _listed(place: Array, tokenizer: Tokenizer) -> list[dict[str, object]]:
    ids, logs = np.split(place, 2)
    return [
        {"token": _written(int(number), tokenizer), "probability": float(np.exp(log))}
        for number, log in zip(ids, logs, strict=True)
    ]


def _written(number: int, tokenizer: Tokenizer) -> str:
    """Write a token as text, or as its name where it is no whole text of its own."""
    return tokenizer.decode([number], skip_special_tokens=False) or str(tokenizer.id_to_token(number))
