"""Ways to write entities as tags: learned from training rows, checked in every row, rewritten one as another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.errors import DataError
from burnish.metrics.entities import (
    BEGIN,
    END,
    INSIDE,
    OUTSIDE,
    SINGLE,
    ChunkMarks,
    find_chunks,
    find_continued,
    read_marks,
    row_starts,
)
from burnish.spec.values import Array, Profile, RowFault, Rows
from burnish.tasks.token_classification.rows import TagItems, items_of

if TYPE_CHECKING:
    from burnish.tasks.token_classification import TokenClassification


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
    """Find how tags are written; B, I and O alone are IOB1 if every B stands where only IOB1 needs one."""
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
    goes_on = find_continued(places, types, lengths)
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
    chunks = find_chunks(tags, lengths, marks)
    places = np.full(len(tags), OUTSIDE, dtype=np.int64)
    types = marks.types[tags]
    places[types >= 0] = INSIDE
    if scheme in ("iobes", "bilou"):
        places[chunks.ends - 1] = END
        places[chunks.starts] = np.where(chunks.ends - chunks.starts == 1, SINGLE, BEGIN)
    else:
        needs_mark = scheme == "bio" or _touches(places, types, lengths)[chunks.starts]
        places[chunks.starts] = np.where(needs_mark, BEGIN, INSIDE)
    index = {name: number for number, name in enumerate(names)}
    # The index of each tag by place and type; type -1, the last column, is O.
    numbers = np.full((5, len(marks.names) + 1), index["O"], dtype=np.int64)
    for place, letter in _LETTERS[scheme].items():
        numbers[place, : len(marks.names)] = [index[f"{letter}-{name}" if name else letter] for name in marks.names]
    return numbers[places, types]


def tags_of(types: Sequence[str], scheme: str) -> tuple[str, ...]:
    """List every tag of a scheme, O first: a type of one word in training may have two elsewhere."""
    letters = _LETTERS[scheme].values()
    return ("O", *(f"{letter}-{name}" if name else letter for name in sorted(types) for letter in letters))


def _touches(places: "Array", types: "Array", lengths: "Array") -> "Array":
    """Tell for each word whether an entity of its own type stands directly before it."""
    if not len(places):
        return np.zeros(0, dtype=bool)
    is_same = np.append(False, (types[1:] == types[:-1]) & (places[:-1] != OUTSIDE))
    return np.asarray(is_same & ~row_starts(lengths))


def _told(mask: "Array", why: str) -> Impossible:
    words = np.flatnonzero(mask)
    return Impossible(words, (why,) * len(words))


_SHOWN = 20
_MOSTLY = 0.5


@dataclass(frozen=True)
class TagReading:
    """Turn written tags into numbers of the tags that are learned."""

    written: str
    """The scheme of the data."""
    learned: str
    """The scheme of the network; the same where nothing is rewritten."""
    names: tuple[str, ...]
    """The entity types, or the tags themselves where they mark none."""

    @classmethod
    def of(cls, profile: Profile) -> "TagReading":
        """Rebuild what `facts` wrote."""
        facts = profile.facts
        return cls(facts["written"], facts["learned"], tuple(facts["names"]))

    @property
    def facts(self) -> dict[str, Any]:
        """Plain values, for the profile."""
        return {"written": self.written, "learned": self.learned, "names": list(self.names)}

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every tag that may stand in the data."""
        return self.names if self.written == "none" else tags_of(self.names, self.written)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every tag that is learned."""
        return self.names if self.learned == "none" else tags_of(self.names, self.learned)

    def numbers(self, tags: TagItems) -> "Array":
        """Give each tag as its number among `labels`; unknown ones as 0."""
        found = self._found(tags)
        if self.written == self.learned:
            return found
        return rewritten(found, tags.lengths, marks=self._marks, scheme=self.learned, names=self.labels)

    def unknown(self, tags: TagItems) -> "Array":
        """Find the tags that are none, as positions over all rows."""
        return np.flatnonzero(pc.is_null(self._indices(tags)).to_numpy(zero_copy_only=False))

    def faults(self, tags: TagItems, words: TagItems, *, is_order_asked: bool) -> Iterator[RowFault]:
        """Find which rows hold a tag that is none or, if asked, one that cannot stand where it does."""
        row_of, place_of = tags.row_of, tags.place_of
        known = ", ".join(self.vocabulary[:_SHOWN]) + (" …" if len(self.vocabulary) > _SHOWN else "")
        for at in self.unknown(tags).tolist():
            tag = tags.flat[at].as_py()
            said = f"is {tag!r}, which is not one of {known}" if tag else "is empty"
            yield RowFault(int(row_of[at]), f"the tag of {_word(words, at, place_of)} {said}")
        if is_order_asked and self.written != "none":
            wrong = impossible(self._found(tags), tags.lengths, self._marks, self.written)
            for at, why in zip(wrong.words.tolist(), wrong.reasons, strict=True):
                said = f"the tag {tags.flat[at].as_py()} of {_word(words, at, place_of)} {why}"
                yield RowFault(int(row_of[at]), f"{said} in {self.written.upper()}")

    def num_impossible(self, tags: TagItems) -> int:
        """Count the tags that cannot stand where they do."""
        if self.written == "none":
            return 0
        return len(impossible(self._found(tags), tags.lengths, self._marks, self.written).words)

    @cached_property
    def _marks(self) -> ChunkMarks:
        marks = read_marks(self.vocabulary)
        assert marks is not None, "the tags of a scheme were made by it"
        return marks

    def _indices(self, tags: TagItems) -> pa.Array:
        return pc.index_in(tags.flat, value_set=pa.array(self.vocabulary, pa.string()))

    def _found(self, tags: TagItems) -> "Array":
        return np.asarray(pc.fill_null(self._indices(tags), 0).to_numpy(zero_copy_only=False), dtype=np.int64)


def _word(words: TagItems, at: int, place_of: "Array") -> str:
    return f"word {int(place_of[at]) + 1} ({words.flat[at].as_py()})"


def learn_reading(tags: TagItems, *, scheme: str, learn_as: str, names: Sequence[str] | None) -> TagReading:
    """Find out how training rows are tagged, unless the options say so."""
    counts = {str(each["values"]): int(each["counts"]) for each in pc.value_counts(tags.flat).to_pylist()}
    counts.pop("", None)  # told as a fault of its row
    written = _scheme(tags, counts) if scheme == "auto" else scheme
    if written == "none":
        if learn_as not in ("as_written", "none"):
            raise DataError(f"task.learn_as is {learn_as}, and the tags mark no entities: {_some(counts)}")
        return TagReading("none", "none", tuple(names or sorted(counts)))
    marks = read_marks([tag for tag in counts if _is_tag(tag)])
    types = tuple(names or (marks.names if marks else ()))
    if not types:
        raise DataError(f"task.scheme is {written}, and no tag marks an entity in it: {_some(counts)}")
    return TagReading(written, written if learn_as == "as_written" else learn_as, types)


def _scheme(tags: TagItems, counts: Mapping[str, int]) -> str:
    fitting = [tag for tag in counts if _is_tag(tag)]
    share = sum(counts[tag] for tag in fitting) / max(1, sum(counts.values()))
    # A few misspelt tags do not make parts of speech of entities: they are refused, row by row.
    is_other = len(fitting) < len(counts) and not any("-" in tag for tag in fitting)
    if is_other or share < _MOSTLY:
        return "none"
    marks = read_marks(fitting)
    assert marks is not None, "only tags that can be read were taken"
    keep = pc.is_in(tags.flat, value_set=pa.array(fitting, pa.string())).to_numpy(zero_copy_only=False)
    lengths = np.bincount(tags.row_of[keep], minlength=len(tags.lengths))
    numbers = pc.index_in(tags.flat.filter(pa.array(keep)), value_set=pa.array(fitting, pa.string()))
    return scheme_of(numbers.to_numpy(zero_copy_only=False), lengths, names=fitting, marks=marks)


def _is_tag(tag: str) -> bool:
    return read_marks([tag]) is not None


def _some(counts: Mapping[str, int]) -> str:
    return ", ".join(list(counts)[:_SHOWN]) or "there are none"


def profile_of(task: "TokenClassification", rows: Rows) -> Profile:
    """Return the tags that are learned, with their counts, and what is odd about those that are written."""
    items_of(rows.table[task.words], name=task.words)
    tags = items_of(rows.table[task.tags], name=task.tags)
    reading = learn_reading(tags, scheme=task.scheme, learn_as=task.learn_as, names=task.labels)
    if len(reading.labels) < 2:
        raise DataError(f"the column {task.tags} holds one tag, {', '.join(reading.labels)}; at least 2 are needed")
    counts = np.bincount(reading.numbers(tags), minlength=len(reading.labels)).tolist()
    facts = {**reading.facts, "label_counts": dict(zip(reading.labels, counts, strict=True))}
    wrong = reading.num_impossible(tags) if task.impossible == "count" else 0
    if wrong:
        share, scheme = f"{wrong:,} of {len(tags.flat):,} tags of train", reading.written.upper()
        note = f"{share} are not allowed where they are in {scheme}; entities are read as conlleval reads them"
        facts |= {"impossible_tags": wrong, "notes": [note]}
    return Profile("tags", reading.labels, facts)
