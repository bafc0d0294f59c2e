"""Audits the rows of a run: leakage and near duplicates between splits, and equal inputs with different labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.rng import mix
from burnish.spec.values import Array

NEAR = 0.8
"""The Jaccard similarity, over runs of three words, from which two texts are near duplicates."""
_SHINGLE, _FEWEST_WORDS, _MOST_WORDS, _MOST_ROWS = 3, 8, 200, 50_000
_BANDS, _BAND = 8, 4
"""32 hashes in bands of 4: a pair with similarity 0.8 shares a band with probability 0.985, one with 0.3 in 6%."""


@dataclass(frozen=True)
class Repeated:
    """Rows of a held-out split that training has seen."""

    twin: Array
    """For each row the training row that is the same or nearly so, or -1."""
    is_exact: Array
    """Whether the twin is the same but for case and blanks."""

    @property
    def is_repeated(self) -> Array:
        """Which rows have a twin."""
        return self.twin >= 0


@dataclass(frozen=True)
class Audit:
    """What was found in the rows of a run."""

    repeated: Mapping[str, Repeated]
    """By held-out split."""
    conflicts: tuple[tuple[int, int], ...]
    """Pairs of training rows with the same inputs and different labels; one for each such input."""


def audit(tables: Mapping[str, pa.Table], *, inputs: Sequence[str], labels: Sequence[str] = ()) -> Audit:
    """Compare the rows of `train` with each other and with those of every other split."""
    names = [name for name in inputs if all(_is_comparable(table, name) for table in tables.values())]
    columns = {name: [_normalise(table[name]) for table in tables.values()] for name in names}
    keys = dict(zip(tables, _number_rows([*columns.values()]), strict=True)) if names else {}
    if not keys or not len(keys["train"]):
        return Audit({}, ())
    repeated = {split: _find_exact(keys["train"], key) for split, key in keys.items() if split != "train"}
    texts = [_join_texts([parts[number] for parts in columns.values()]) for number in range(len(tables))]
    if all(text is not None for text in texts):
        repeated = _add_near(repeated, dict(zip(tables, texts, strict=True)))
    known = [name for name in labels if _is_comparable(tables["train"], name)]
    answers = _number_rows([[_normalise(tables["train"][name])] for name in known])[0] if known else None
    return Audit(repeated, () if answers is None else _find_conflicts(keys["train"], answers))


def _is_comparable(table: pa.Table, name: str) -> bool:
    if name not in table.column_names:
        return False
    kind = table.schema.field(name).type
    return not pa.types.is_nested(kind) or (pa.types.is_list(kind) and pa.types.is_string(kind.value_type))


def _normalise(column: pa.ChunkedArray) -> pa.Array:
    """Take case and blanks out of texts; a list of words is one text."""
    values = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_list(values.type) and pa.types.is_string(values.type.value_type):
        values = pc.binary_join(values, " ")
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return pc.utf8_trim_whitespace(pc.replace_substring_regex(pc.utf8_lower(values), r"\s+", " "))
    return values


def _number_rows(columns: Sequence[Sequence[pa.Array]]) -> list[Array]:
    """Number rows so that equal rows of any table have equal numbers."""
    sizes = [len(part) for part in columns[0]]
    keys = np.zeros(sum(sizes), np.int64)
    for parts in columns:
        is_mixed = len({part.type for part in parts}) > 1 or pa.types.is_string(parts[0].type)
        whole = pa.concat_arrays([part.cast(pa.large_string()) if is_mixed else part for part in parts])
        codes = whole.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
        keys = np.unique(keys * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return np.split(keys, np.cumsum(sizes)[:-1])


def _find_exact(train: Array, other: Array) -> Repeated:
    order = np.argsort(train, kind="stable")
    places = np.minimum(np.searchsorted(train[order], other), len(train) - 1)
    twin = np.where(train[order][places] == other, order[places], -1)
    return Repeated(twin, twin >= 0)


def _find_conflicts(keys: Array, labels: Array) -> tuple[tuple[int, int], ...]:
    """Find inputs with several labels."""
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    pairs = np.flatnonzero(same & (labels[order][1:] != labels[order][:-1]))
    _inputs, first = np.unique(keys[order][pairs], return_index=True)
    return tuple((int(order[place]), int(order[place + 1])) for place in pairs[first])


def _join_texts(columns: Sequence[pa.Array]) -> pa.Array | None:
    """One text a row, or None where the inputs are not texts of some length."""
    if not all(pa.types.is_string(column.type) or pa.types.is_large_string(column.type) for column in columns):
        return None
    joined = pc.binary_join_element_wise(*(column.fill_null("") for column in columns), " ") if columns else None
    words = pc.mean(pc.count_substring(joined, " ")).as_py() if joined is not None and len(joined) else None
    return joined if words is not None and words + 1 >= _FEWEST_WORDS else None


def _add_near(repeated: Mapping[str, Repeated], texts: Mapping[str, pa.Array]) -> dict[str, Repeated]:
    splits = [text.slice(0, _MOST_ROWS) for text in texts.values()]
    shingles = dict(zip(texts, _cut_shingles(splits), strict=True))
    prints = {split: _MinHashes.of(each) for split, each in shingles.items()}
    return {
        split: _match(found, (shingles["train"], prints["train"]), (shingles[split], prints[split]))
        for split, found in repeated.items()
    }


@dataclass(frozen=True)
class _Shingles:
    """The runs of words of every text, hashed: those of text `i` are `values[starts[i]:starts[i + 1]]`."""

    values: Array
    starts: Array

    def of(self, row: int) -> Array:
        return self.values[self.starts[row] : self.starts[row + 1]]


def _cut_shingles(texts: Sequence[pa.Array]) -> Iterator[_Shingles]:
    words = pc.list_slice(pc.utf8_split_whitespace(pa.concat_arrays(texts)), 0, _MOST_WORDS)
    codes = words.flatten().dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.uint64)
    counts = pc.list_value_length(words).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    number = np.maximum(counts - _SHINGLE + 1, 0)
    mixed = mix(codes + np.uint64(1))
    runs = mixed[: len(mixed) - _SHINGLE + 1].copy() if len(mixed) >= _SHINGLE else mixed[:0].copy()
    for offset in range(1, _SHINGLE):
        runs = mix(runs * np.uint64(31) + mixed[offset : offset + len(runs)])
    # A run that begins near the end of a text would reach into the next one.
    starts_of_words = np.cumsum(counts) - counts
    inside = np.arange(len(codes)) - np.repeat(starts_of_words, counts) < np.repeat(number, counts)
    values, first = runs[np.flatnonzero(inside)], 0
    for text in texts:
        own = np.concatenate([[0], np.cumsum(number[first : first + len(text)])])
        begin = int(number[:first].sum())
        yield _Shingles(values[begin : begin + int(own[-1])], own)
        first += len(text)


@dataclass(frozen=True)
class _MinHashes:
    """A key for each band of each text that is long enough."""

    rows: Array
    bands: Array

    @classmethod
    def of(cls, shingles: _Shingles) -> "_MinHashes":
        rows = np.flatnonzero(np.diff(shingles.starts) >= _FEWEST_WORDS - _SHINGLE + 1)
        # Texts that are too short have few runs, which count as the tail of the text before them: cut them out first.
        kept = np.repeat(np.isin(np.arange(len(shingles.starts) - 1), rows), np.diff(shingles.starts))
        values, starts = shingles.values[kept], np.cumsum(np.diff(shingles.starts)[rows])
        starts = np.concatenate([[0], starts])[:-1].astype(np.int64)
        bands, keys = np.zeros((_BANDS, len(rows)), np.uint64), mix(np.arange(1, _BANDS * _BAND + 1, dtype=np.uint64))
        for number in range(_BANDS * _BAND if len(rows) else 0):
            least = np.minimum.reduceat(mix(values ^ keys[number]), starts)
            bands[number // _BAND] = mix(bands[number // _BAND] * np.uint64(31) + least)
        return cls(rows, bands)


def _match(found: Repeated, train: tuple[_Shingles, _MinHashes], other: tuple[_Shingles, _MinHashes]) -> Repeated:
    twin = found.twin.copy()
    for band in range(_BANDS):
        order = np.argsort(train[1].bands[band], kind="stable")
        known = train[1].bands[band][order]
        if not len(known):
            break
        places = np.minimum(np.searchsorted(known, other[1].bands[band]), len(known) - 1)
        for match in np.flatnonzero((known[places] == other[1].bands[band]) & (twin[other[1].rows] < 0)):
            row, candidate = int(other[1].rows[match]), int(train[1].rows[order[places[match]]])
            pair = train[0].of(candidate), other[0].of(row)
            if len(np.intersect1d(*pair)) >= NEAR * max(1, len(np.union1d(*pair))):
                twin[row] = candidate
    return Repeated(twin, found.is_exact)
