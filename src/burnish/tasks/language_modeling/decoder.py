"""Turns likelihoods and guesses of tokens into one answer a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

from burnish.metrics.confidence import RIGHT, TOKENS, UNLIKELIHOOD
from burnish.spec.values import Array, Outcome


def decode(outputs: Mapping[str, Array], *, num_rows: int | None) -> Outcome:
    """Add up the tokens of each row, or collect the guesses at its places, whatever order they came in."""
    order = np.lexsort((outputs["at_place"], outputs["part"]))
    rows, answers = outputs["at_row"][order], outputs["logits"][order].astype(np.float64)
    count = int(rows.max(initial=-1)) + 1 if num_rows is None else num_rows
    if "label" not in outputs:
        return _guesses(rows, answers, count)
    firsts = np.unique(outputs["part"][order], return_index=True)[1]  # a pair is told once, and repeated at its places
    sums = np.zeros((count, 3))
    sums[:, UNLIKELIHOOD] = np.bincount(rows, weights=answers[:, 0], minlength=count)
    sums[:, TOKENS] = np.bincount(rows, minlength=count)
    sums[:, RIGHT] = np.bincount(rows, weights=answers[:, 1], minlength=count)
    pairs = _pair_sums(rows[firsts], answers[firsts, 2:], count)
    return Outcome(
        kind="likelihood_of_pairs" if pairs.shape[1] else "likelihood",
        rows=np.arange(len(sums)),
        outputs=np.concatenate([sums, pairs], axis=1),
        decisions=sums[:, RIGHT].astype(np.int64),
        truth=sums[:, TOKENS].astype(np.int64),
        answers=_shown(np.concatenate([sums, pairs], axis=1)),
    )


def in_words(outcome: Outcome, tokenizer: Tokenizer) -> Outcome:
    """Put guessed ids into a column of answers; likelihoods have theirs already."""
    if outcome.answers is not None:
        return outcome
    best = [[_listed(place, tokenizer) for place in places] for places in outcome.decisions]
    firsts = [", ".join(str(place[0]["token"]) for place in places) for places in best]
    kind = pa.list_(pa.list_(pa.struct([("token", pa.string()), ("probability", pa.float64())])))
    return replace(outcome, answers=pa.table({"predicted": firsts, "guesses": pa.array(best, kind)}))


def _pair_sums(rows: Array, is_right: Array, count: int) -> Array:
    """Count the pairs of each row and those told rightly, in two columns; in none where no pairs were told."""
    if not is_right.shape[1]:
        return np.zeros((count, 0))
    columns = [np.bincount(rows, minlength=count), np.bincount(rows, weights=is_right[:, 0], minlength=count)]
    return np.stack(columns, axis=1)


def _shown(sums: Array) -> pa.Table:
    tokens = sums[:, TOKENS]
    with np.errstate(all="ignore"):
        each = np.exp(sums[:, UNLIKELIHOOD] / tokens)
    told = [f"perplexity {value:.4g}" if number else "no tokens" for value, number in zip(each, tokens, strict=True)]
    shown = {"predicted": told, "unlikelihood": sums[:, UNLIKELIHOOD]}
    counted = zip(("tokens", "right_guesses", "pairs", "right_pairs"), sums.T[TOKENS:], strict=False)
    return pa.table(shown | {name: counts.astype(np.int64) for name, counts in counted})


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
