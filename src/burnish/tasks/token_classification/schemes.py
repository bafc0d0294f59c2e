"""Ways to write entities as tags: tells them apart, finds impossible tags, rewrites one way as another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from burnish.metrics.entities import BEGIN, END, INSIDE, OUTSIDE, SINGLE, ChunkMarks, chunks_of, continued, row_starts
from burnish.spec.values import Array

Scheme = Literal["bio", "iob1", "iobes", "bilou", "none"]
_LETTERS = {
    "bio": {BEGIN: "B", INSIDE: "I"},
    "iob1": {BEGIN: "B", INSIDE: "I"},
    "iobes": {BEGIN: "B", INSIDE: "I", END: "E", SINGLE: "S"},
    "bilou": {BEGIN: "B", INSIDE: "I", END: "L", SINGLE: "U"},
}


@dataclass(frozen=True)
class Impossible:
    """Words whose tags no text could have, and why, like `must follow B or I of its type`."""

    words: "Array"
    """Positions, counted over all rows."""
    reasons: tuple[str, ...]


def scheme_of(tags: "Array", lengths: "Array", *, names: Sequence[str], marks: ChunkMarks | None) -> Scheme:
    """Tell how tags are written; B, I and O alone are IOB1 if every B stands where only IOB1 needs one."""
    if marks is None:
        return "none"
    letters = {name[:1] for name in names}
    if letters & set("ES"):
        return "iobes"
    if letters & set("LU"):
        return "bilou"
    is_wrong = {scheme: len(impossible(tags, lengths, marks, scheme).words) > 0 for scheme in ("bio", "iob1")}
    return "iob1" if is_wrong["bio"] and not is_wrong["iob1"] else "bio"


def impossible(tags: "Array", lengths: "Array", marks: ChunkMarks, scheme: str) -> Impossible:
    """Find the tags that cannot stand where they do."""
    places, types = marks.places[tags], marks.types[tags]
    goes_on = continued(places, types, lengths)
    if scheme == "bio":
        return _told((places == INSIDE) & ~goes_on, "must follow B or I of its type")
    if scheme == "iob1":
        return _told((places == BEGIN) & ~_touches(places, types, lengths), "must follow an entity of its type")
    is_lost = np.isin(places, (INSIDE, END)) & ~goes_on
    is_open = np.isin(places, (BEGIN, INSIDE)) & ~np.append(goes_on[1:], False)
    end = _LETTERS[scheme][END]
    lost, opened = _told(is_lost, "must follow B or I of its type"), _told(is_open, f"must lead to {end} of its type")
    return Impossible(np.concatenate([lost.words, opened.words]), (*lost.reasons, *opened.reasons))


def rewritten(tags: "Array", lengths: "Array", *, marks: ChunkMarks, scheme: str, names: Sequence[str]) -> "Array":
    """Write the entities of some tags in another scheme, as indices into `names`, the tags of that scheme."""
    chunks = chunks_of(tags, lengths, marks)
    places = np.full(len(tags), OUTSIDE, dtype=np.int64)
    types = marks.types[tags]
    places[types >= 0] = INSIDE
    if scheme in ("iobes", "bilou"):
        places[chunks.ends - 1] = END
        places[chunks.starts] = np.where(chunks.ends - chunks.starts == 1, SINGLE, BEGIN)
    else:
        needs_mark = scheme == "bio" or _touches(places, types, lengths)[chunks.starts]
        places[chunks.starts] = np.where(needs_mark, BEGIN, INSIDE)
    return _numbers(marks.names, scheme, names)[places, types]


def tags_of(types: Sequence[str], scheme: str) -> tuple[str, ...]:
    """List every tag of a scheme, O first: a type of one word in training may have two elsewhere."""
    letters = _LETTERS[scheme].values()
    return ("O", *(f"{letter}-{name}" if name else letter for name in sorted(types) for letter in letters))


def _numbers(types: Sequence[str], scheme: str, names: Sequence[str]) -> "Array":
    """Give the index of each tag by place and type; type -1, the last column, is O."""
    index = {name: number for number, name in enumerate(names)}
    numbers = np.full((5, len(types) + 1), index["O"], dtype=np.int64)
    for place, letter in _LETTERS[scheme].items():
        numbers[place, : len(types)] = [index[f"{letter}-{name}" if name else letter] for name in types]
    return numbers


def _touches(places: "Array", types: "Array", lengths: "Array") -> "Array":
    """Tell for each word whether an entity of its own type stands directly before it."""
    if not len(places):
        return np.zeros(0, dtype=bool)
    is_same = np.append(False, (types[1:] == types[:-1]) & (places[:-1] != OUTSIDE))
    return np.asarray(is_same & ~row_starts(lengths))


def _told(mask: "Array", why: str) -> Impossible:
    words = np.flatnonzero(mask)
    return Impossible(words, (why,) * len(words))
