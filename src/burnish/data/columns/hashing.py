"""Hashes of text and of combinations, the same in every process, on every machine and in every version."""

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from burnish.spec.values import Array

_START = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MIX_1, _MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)
_LONGEST = 256
"""Bytes of a value that are hashed as they are; a longer one is hashed by its digest, so that none takes long."""


def hash_texts(values: pa.Array) -> "Array":
    """Compute the 64-bit FNV-1a hash of each text's UTF-8 bytes; a null hashes as the empty text."""
    whole = pa.concat_arrays([_shorten(values).cast(pa.large_string()).fill_null("")])
    _, offsets, content = whole.buffers()
    places = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    data = np.frombuffer(content, np.uint8) if content is not None else np.empty(0, np.uint8)
    starts, lengths = places[:-1], np.diff(places)
    hashes = np.full(len(values), _START)
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[order], lengths[order]
    active = len(values)
    for place in range(int(lengths[0]) if len(values) else 0):
        active = int(np.searchsorted(-lengths[:active], -place, side="left"))
        rows = order[:active]
        hashes[rows] = (hashes[rows] ^ data[starts[:active] + place].astype(np.uint64)) * _PRIME
    return hashes


def combine_hashes(parts: Sequence["Array"]) -> "Array":
    """Mix the hashes of several columns into one a row; the order of the columns matters."""
    total = np.zeros_like(parts[0], dtype=np.uint64)
    for part in parts:
        total = _mix(total * _PRIME + part.astype(np.uint64))
    return total


def assign_buckets(hashes: "Array", size: int) -> "Array":
    """Map each hash to one of `size` numbers from 0."""
    return np.asarray((_mix(hashes) % np.uint64(size)).astype(np.int64))


def _mix(values: "Array") -> "Array":
    """Spread every bit over all others, so that a remainder depends on the whole hash."""
    values = (values ^ (values >> _SHIFT)) * _MIX_1
    values = (values ^ (values >> _SHIFT)) * _MIX_2
    return np.asarray(values ^ (values >> _SHIFT))


def _shorten(values: pa.Array) -> pa.Array:
    sizes = pa.compute.binary_length(values)
    if not pa.compute.any(pa.compute.greater(sizes, _LONGEST)).as_py():
        return values
    texts = values.to_pylist()
    for at in np.flatnonzero(sizes.fill_null(0).to_numpy(zero_copy_only=False) > _LONGEST):
        texts[at] = hashlib.blake2b(texts[at].encode(), digest_size=32).hexdigest()
    return pa.array(texts, values.type)
