"""Lays texts and special tokens out in one padded rectangle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from burnish.data.batching.ragged import Ragged, positions, total_lengths
from burnish.data.columns.template import Piece, Template
from burnish.spec.values import Array


@dataclass(frozen=True)
class Padding:
    """What fills the room beside a short text, and how wide the rectangle gets."""

    token: int
    segment: int | None
    """The segment of padding; None for a model that knows no segments."""
    side: Literal["right", "left"] = "right"
    multiple: int = 1
    max_width: int | None = None


def pad(texts: Sequence[Ragged], template: Template, padding: Padding) -> dict[str, Array]:
    """Give `input_ids`, `attention_mask` and, where segments are known, `token_type_ids`, as int64."""
    lengths = total_lengths(texts) + template.num_special
    width = _width(lengths, padding)
    begins = width - lengths if padding.side == "left" else np.zeros_like(lengths)
    columns = np.arange(width)
    is_token = (columns >= begins[:, None]) & (columns < (begins + lengths)[:, None])
    ids = np.full((len(lengths), width), padding.token, dtype=np.int64)
    batch = {"input_ids": ids, "attention_mask": is_token.astype(np.int64)}
    segments = None
    if padding.segment is not None:
        segments = batch["token_type_ids"] = np.full_like(ids, padding.segment)
    for places, tokens, kinds in _parts(texts, template, starts=np.arange(len(lengths)) * width + begins):
        ids.reshape(-1)[places] = tokens
        if segments is not None:
            segments.reshape(-1)[places] = kinds
    return batch


def token_places(lengths: Array, template: Template, padding: Padding, *, width: int) -> Array:
    """Tell where the tokens of single texts stand in the flattened rectangle that `pad` gives."""
    begins = width - lengths - template.num_special if padding.side == "left" else np.zeros_like(lengths)
    return positions(np.arange(len(lengths)) * width + begins + len(template.pieces[0]), lengths)


def _width(lengths: Array, padding: Padding) -> int:
    longest = max(1, int(lengths.max(initial=0)))
    width = -(-longest // padding.multiple) * padding.multiple
    return width if padding.max_width is None else max(longest, min(width, padding.max_width))


def _parts(
    texts: Sequence[Ragged], template: Template, *, starts: Array
) -> Iterator[tuple[Array, Array | tuple[int, ...], int | tuple[int, ...]]]:
    """Give each part of all rows at once: the flat places it goes to, its tokens and their segments."""
    yield from _special(template.pieces[0], starts)
    starts = starts + len(template.pieces[0])
    for text, segment, piece in zip(texts, template.segments, template.pieces[1:], strict=True):
        yield positions(starts, text.lengths), text.values, segment
        starts = starts + text.lengths
        yield from _special(piece, starts)
        starts = starts + len(piece)


def _special(piece: Piece, starts: Array) -> Iterator[tuple[Array, tuple[int, ...], tuple[int, ...]]]:
    if len(piece):
        yield starts[:, None] + np.arange(len(piece)), piece.ids, piece.segments
