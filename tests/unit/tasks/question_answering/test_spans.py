"""The spans that are found are the best there are, whatever order the places came in."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from burnish.tasks.question_answering.decoder import INVALID, Search, search_beams, search_places

Row = dict[tuple[int, int], float]


def places(windows: list[tuple[int, int]], *, seed: int, null_first: bool = True) -> dict[str, np.ndarray]:
    """Score the places of windows (row, tokens): token i of a row stands at the characters 10 i to 10 i + 5."""
    random = np.random.default_rng(seed)
    columns: dict[str, list[np.ndarray]] = {name: [] for name in ("row", "part", "at_start", "at_end", "logits")}
    for part, (row, size) in enumerate(windows):
        begins, ends = np.arange(size) * 10, np.arange(size) * 10 + 5
        at = [np.insert(each, 0 if null_first else size, -1) for each in (begins, ends)]
        columns["row"].append(np.full(size + 1, row))
        columns["part"].append(np.full(size + 1, part))
        columns["at_start"].append(at[0])
        columns["at_end"].append(at[1])
        columns["logits"].append(random.normal(size=(size + 1, 2)).astype(np.float32))
    return {name: np.concatenate(values) for name, values in columns.items()}


def by_hand(outputs: dict[str, np.ndarray], *, max_tokens: int) -> tuple[dict[int, Row], dict[int, float]]:
    """Try every pair of every window."""
    found: dict[int, Row] = {}
    nulls: dict[int, float] = {}
    for part in np.unique(outputs["part"]):
        mine = np.flatnonzero(outputs["part"] == part)
        row = int(outputs["row"][mine[0]])
        null = mine[outputs["at_start"][mine] < 0][0]
        nulls[row] = min(nulls.get(row, np.inf), float(outputs["logits"][null].astype(float).sum()))
        tokens = mine[outputs["at_start"][mine] >= 0]
        for first, last in product(range(len(tokens)), repeat=2):
            if 0 <= last - first < max_tokens:
                score = float(outputs["logits"][tokens[first], 0]) + float(outputs["logits"][tokens[last], 1])
                span = (int(outputs["at_start"][tokens[first]]), int(outputs["at_end"][tokens[last]]))
                best = found.setdefault(row, {})
                best[span] = max(best.get(span, -np.inf), score)
    return found, nulls


def few_by_hand(outputs: dict[str, np.ndarray], *, n_best: int, max_tokens: int) -> dict[int, Row]:
    """Pair the best starts with the best ends of each window, add its best token, and keep the best spans of a row."""
    found: dict[int, Row] = {}
    for part in np.unique(outputs["part"]):
        mine = [at for at in np.flatnonzero(outputs["part"] == part) if outputs["at_start"][at] >= 0]
        logits = outputs["logits"].astype(float)
        starts, ends = (sorted(mine, key=lambda at, side=side: -logits[at, side])[:n_best] for side in range(2))
        pairs = [(first, last) for first, last in product(starts, ends) if 0 <= last - first < max_tokens]
        pairs = sorted(pairs, key=lambda pair: -(logits[pair[0], 0] + logits[pair[1], 1]))[:n_best]
        token = max(mine, key=lambda at: logits[at].sum())
        best = found.setdefault(int(outputs["row"][mine[0]]), {})
        for first, last in [*pairs, (token, token)]:
            span = (int(outputs["at_start"][first]), int(outputs["at_end"][last]))
            best[span] = max(best.get(span, -np.inf), logits[first, 0] + logits[last, 1])
    return {row: dict(sorted(spans.items(), key=lambda each: -each[1])[:n_best]) for row, spans in found.items()}


def rows_of(found: Search) -> dict[int, Row]:
    spans = found.spans
    lists: dict[int, Row] = {}
    for row, begin, end, score in zip(spans.rows, spans.begins, spans.ends, spans.scores, strict=True):
        lists.setdefault(int(found.rows[row]), {})[int(begin), int(end)] = float(score)
    return lists


WINDOWS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=6)


@given(WINDOWS, st.integers(0, 99), st.integers(1, 4), st.booleans())
def test_with_room_for_all_pairs_all_are_found(
    windows: list[tuple[int, int]], seed: int, max_tokens: int, null_first: bool
) -> None:
    windows = sorted(windows)
    outputs = places(windows, seed=seed, null_first=null_first)
    wanted, nulls = by_hand(outputs, max_tokens=max_tokens)
    found = search_places(outputs, n_best=200, max_tokens=max_tokens)
    assert rows_of(found) == {row: pytest.approx(spans) for row, spans in wanted.items()}
    assert dict(zip(found.rows.tolist(), found.nulls, strict=True)) == pytest.approx(nulls)


@example([(0, 8), (0, 8)], 79, 1)
@given(WINDOWS, st.integers(0, 99), st.integers(1, 5))
def test_few_are_kept_best_first_and_the_order_of_places_means_nothing(
    windows: list[tuple[int, int]], seed: int, n_best: int
) -> None:
    outputs = places(sorted(windows), seed=seed)
    found = search_places(outputs, n_best=n_best, max_tokens=3)
    lists = rows_of(found)
    assert lists == {
        row: pytest.approx(spans) for row, spans in few_by_hand(outputs, n_best=n_best, max_tokens=3).items()
    }
    for spans in lists.values():
        assert list(spans.values()) == sorted(spans.values(), reverse=True)
    # Batches may come in any order; only the places of one window stay in theirs.
    parts = np.random.default_rng(seed).permutation(len(windows))
    order = np.concatenate([np.flatnonzero(outputs["part"] == part) for part in parts])
    again = search_places({name: values[order] for name, values in outputs.items()}, n_best=n_best, max_tokens=3)
    assert rows_of(again) == lists


def test_a_window_whose_best_starts_stand_behind_its_ends_still_answers() -> None:
    outputs = places([(0, 4)], seed=0)
    outputs["logits"][:] = -5
    outputs["logits"][4, 0] = outputs["logits"][1, 1] = 5
    found = search_places(outputs, n_best=1, max_tokens=3)
    assert rows_of(found) == {0: {(0, 5): pytest.approx(0.0)}}


def test_beams_are_merged_over_windows() -> None:
    none = 3 * INVALID
    logits = np.array([[0.5, -1.0, 0, 9, -2.0, 3, 4], [-0.25, -0.5, 0, 9, none, 0, 0], [1.0, none, 0, 0, none, 0, 0]])
    outputs = {"logits": logits.astype(np.float32), "row": np.array([4, 4, 7]), "part": np.arange(3)}
    found = search_beams(outputs, n_best=5)
    assert rows_of(found) == {4: {(0, 9): -0.5, (3, 4): -2.0}}
    assert found.nulls.tolist() == [-0.25 - 0.5, 1.0]
