"""Lays texts and special tokens out in one padded rectangle; the tokenizer itself shows where special tokens go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
from tokenizers import Encoding, Tokenizer

from burnish.data.batching.ragged import Ragged, positions, total_lengths
from burnish.errors import ConfigError, Problem
from burnish.spec.values import Array

_WORDS = ("a", "b", "the", "of", "1", "2", "x", "y", ".", ",")
_MAX_VOCABULARY_PROBES = 500


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
    """Build `input_ids`, `attention_mask` and, where segments are known, `token_type_ids`, as int64."""
    lengths = total_lengths(texts) + template.num_special
    longest = max(1, int(lengths.max(initial=0)))
    width = -(-longest // padding.multiple) * padding.multiple
    width = width if padding.max_width is None else max(longest, min(width, padding.max_width))
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


def locate_tokens(lengths: Array, template: Template, padding: Padding, *, width: int) -> Array:
    """Tell where the tokens of single texts stand in the flattened rectangle that `pad` gives."""
    begins = width - lengths - template.num_special if padding.side == "left" else np.zeros_like(lengths)
    return positions(np.arange(len(lengths)) * width + begins + len(template.pieces[0]), lengths)


def _parts(
    texts: Sequence[Ragged], template: Template, *, starts: Array
) -> Iterator[tuple[Array, Array | tuple[int, ...], int | tuple[int, ...]]]:
    """Lay out each part of all rows at once: the flat places it goes to, its tokens and their segments."""
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


@dataclass(frozen=True)
class Piece:
    """Special tokens that stand together, each with its segment."""

    ids: tuple[int, ...] = ()
    segments: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Template:
    """What stands before, between and after the texts, and the segment that each text gets."""

    pieces: tuple[Piece, ...]
    """One more than there are texts."""
    segments: tuple[int, ...]
    """One a text."""

    @property
    def num_special(self) -> int:
        """Count the special tokens."""
        return sum(len(piece) for piece in self.pieces)


def learn_template(tokenizer: Tokenizer, *, num_texts: int) -> Template:
    """Learn the frame around one text or two by encoding a probe with and without it."""
    special = _wrap(tokenizer, [""] * num_texts).ids
    probes = list(islice(_probes(tokenizer, avoid=special), num_texts))
    if len(probes) < num_texts:
        raise _refusal(f"gives fewer than {num_texts} distinct tokens for plain words")
    return _frame(_wrap(tokenizer, [text for text, _ in probes]), [ids for _, ids in probes])


def learn_column_template(tokenizer: Tokenizer, num_columns: Sequence[int]) -> Template:
    """Learn the frame around one text or two, each of which may be several columns with a separator between them."""
    whole = learn_template(tokenizer, num_texts=len(num_columns))
    if all(count == 1 for count in num_columns):
        return whole
    # A line break stands in for the separator of a tokenizer that puts nothing between two texts, such as GPT-2's.
    line_break = tokenizer.encode("\n", add_special_tokens=False).ids
    separator = learn_template(tokenizer, num_texts=2).pieces[1].ids or tuple(line_break)
    pieces, segments = [whole.pieces[0]], list[int]()
    for count, segment, piece in zip(num_columns, whole.segments, whole.pieces[1:], strict=True):
        pieces += [*[Piece(separator, (segment,) * len(separator))] * (count - 1), piece]
        segments += [segment] * count
    return Template(tuple(pieces), tuple(segments))


def _wrap(tokenizer: Tokenizer, texts: Sequence[str]) -> Encoding:
    pair = texts[1] if len(texts) > 1 else None
    return tokenizer.encode(texts[0], pair, add_special_tokens=True)


def _frame(wrapped: Encoding, texts: Sequence[list[int]]) -> Template:
    pieces: list[Piece] = []
    segments: list[int] = []
    done = 0
    for ids in texts:
        start = _find(wrapped.ids, ids, start=done)
        pieces.append(_piece(wrapped, done, start))
        segments.append(wrapped.type_ids[start])
        done = start + len(ids)
    return Template((*pieces, _piece(wrapped, done, len(wrapped.ids))), tuple(segments))


def _piece(wrapped: Encoding, start: int, end: int) -> Piece:
    return Piece(tuple(wrapped.ids[start:end]), tuple(wrapped.type_ids[start:end]))


def _find(ids: list[int], part: list[int], *, start: int) -> int:
    for place in range(start, len(ids) - len(part) + 1):
        if ids[place : place + len(part)] == part:
            return place
    raise _refusal(f"changes a text when it adds special tokens: {part} became {ids}")


def _probes(tokenizer: Tokenizer, *, avoid: list[int]) -> Iterator[tuple[str, list[int]]]:
    """Find texts with ids that are no special tokens and that no earlier probe had: those are found again surely."""
    taken = set(avoid)
    for text in (*_WORDS, *_some_vocabulary(tokenizer)):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if ids and taken.isdisjoint(ids):
            taken.update(ids)
            yield text, ids


def _some_vocabulary(tokenizer: Tokenizer) -> Iterator[str]:
    for number in range(min(tokenizer.get_vocab_size(), _MAX_VOCABULARY_PROBES)):
        yield tokenizer.id_to_token(number) or ""


def _refusal(what: str) -> ConfigError:
    hint = "Burnish needs one that puts special tokens before, between and after the texts and leaves them whole"
    return ConfigError([Problem(f"this tokenizer {what}", (hint,))], subject="the tokenizer")
