"""Finds the chunks that tags such as B-PER mark, by the rules of conlleval."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from burnish.metrics.sums import Array

OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)
_PLACES = {"O": OUTSIDE, "B": BEGIN, "I": INSIDE, "E": END, "L": END, "S": SINGLE, "U": SINGLE}
_FORM = re.compile(r"O|([BIELSU])(?:-(.*))?", re.DOTALL)


@dataclass(frozen=True)
class ChunkMarks:
    """What each of some tags says: the place of a word in its chunk, and the chunk's type."""

    places: Array
    types: Array
    """Indices into `names`; -1 for a word outside of all chunks."""
    names: tuple[str, ...]


@dataclass(frozen=True)
class Chunks:
    """Runs of words that belong together: words `starts[i]` up to, not with, `ends[i]`, counted over all rows."""

    starts: Array
    ends: Array
    types: Array

    def __len__(self) -> int:
        return len(self.starts)


def marks_of(tags: Sequence[str]) -> ChunkMarks | None:
    """Read the tags of a scheme; None if one of them is no such tag, as in parts of speech."""
    found = [_FORM.fullmatch(tag) for tag in tags]
    read = [(match[1] or "O", match[2] or "") for match in found if match is not None]
    if len(read) < len(found):
        return None
    names = tuple(sorted({name for letter, name in read if letter != "O"}))
    types = [-1 if letter == "O" else names.index(name) for letter, name in read]
    return ChunkMarks(
        np.array([_PLACES[letter] for letter, _ in read], dtype=np.int64), np.array(types, np.int64), names
    )


def chunks_of(tags: Array, lengths: Array, marks: ChunkMarks) -> Chunks:
    """Find the chunks of rows whose tags stand one after the other; `lengths` has the number of words of each row.

    As in conlleval, a chunk need not begin as its scheme says: an I- after O, or after another type, opens one.
    """
    places, types = marks.places[tags], marks.types[tags]
    is_inside = places != OUTSIDE
    goes_on = continued(places, types, lengths)
    opens = is_inside & ~goes_on
    closes = is_inside & ~np.append(goes_on[1:], False)
    starts = np.flatnonzero(opens)
    return Chunks(starts, np.flatnonzero(closes) + 1, types[starts])


def continued(places: Array, types: Array, lengths: Array) -> Array:
    """Tell for each word whether it goes on with the chunk of the word before it."""
    before = np.append(OUTSIDE, places[:-1]) if len(places) else places
    type_before = np.append(-1, types[:-1]) if len(types) else types
    can_follow = np.isin(places, (INSIDE, END)) & np.isin(before, (BEGIN, INSIDE))
    return np.asarray(can_follow & (types == type_before) & ~row_starts(lengths))


def row_starts(lengths: Array) -> Array:
    """Mark the first word of each row."""
    total = int(np.sum(lengths))
    is_first = np.zeros(total, dtype=bool)
    begins = np.cumsum(lengths) - lengths
    is_first[begins[np.asarray(lengths) > 0]] = True
    return is_first
