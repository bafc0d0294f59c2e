"""Looks at a data file the way a person would: what each column holds, and which files lie beside it."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.columns.parse_columns import comma_to_point, find_decimal, parse_numbers, parse_times
from burnish.data.files import SUFFIXES, Files
from burnish.data.inspection.faults import BadRow
from burnish.data.readers.encoding import NotUtf8, as_utf8, find_encoding
from burnish.data.readers.open_file import hold_local, open_unpacked, text_body
from burnish.data.readers.read import ReadFile, find_dialect, find_format, read
from burnish.data.readers.scan import Dialect, decode_lossy, lost_bytes, scan_records
from burnish.data.rows import count_values
from burnish.data.sources.address import DataFile, find
from burnish.data.splits.arrange import SPELLINGS
from burnish.data.splits.splits import sample
from burnish.spec.values import Rows

_SAMPLED = 5000
_HEAD = 1 << 16
_SEPARATORS = (";", "|", ",")
_DELIMITERS = (",", ";", "\t", "|")
_LOOKED_AT = 20
_MOST_ROWS = 0.75
"""The share of rows that a delimiter divides alike, though some of them are broken."""
_DELIMITED = ("csv", "tsv")
_MOST_TAGS = 200
_PROSE_WORDS = 6
_MOST_REPEATING = 0.9
_FEWEST_ROWS, _MOST_UNIQUE, _RUN = 20, 0.95, 1.05
_ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|no|nr|rownames?|row_?(number|num|names?|id))$", re.IGNORECASE)
_TIMES_READ, _PROSE_READ = 1000, 1000
_SENTENCE_WORDS, _LONG_PROSE = 5.5, 10.0
_LEAST_DISTINCT_PROSE, _LEAST_SPELT, _LEAST_JOINED, _MOST_CAPITALS = 0.5, 0.7, 0.3, 0.6
_MARKS = ".,;:!?\"'()[]"
_JOINING = {
    *("the", "a", "an", "of", "to", "and", "is", "in", "it", "for", "on", "with", "this", "that", "i", "you", "my"),
    *("was", "not", "are", "be", "but", "have", "der", "die", "das", "und", "ist", "nicht", "ein", "ich", "mit"),
    *("le", "la", "les", "et", "est", "des", "un", "une", "pas", "el", "los", "que", "en", "il", "di", "che", "non"),
    *("het", "een", "van"),
}
"""Words that join others to a sentence, of several languages."""
_UNKNOWN = "unknown"
_NEW_DOCUMENT = "-DOCSTART-"
_TAG_OF_NAME = re.compile(r"O|[BIESLU]-\S+")
_FEWEST_TOKENS = 4
_LONGEST_SENTENCE = 300
_MOST_KINDS = 100
"""More kinds of words in the last column are no tags."""

_YES_NO = ({"0", "1"}, {"true", "false"})


@dataclass(frozen=True)
class ColumnFacts:
    """What one column holds."""

    name: str
    num_distinct: int
    share_distinct: float
    mean_words: float
    long_words: int
    """Words that 95 of 100 cells do not exceed."""
    is_number: bool
    is_whole: bool
    is_list: bool
    separator: str | None
    """What joins several tags in one cell, if that is what it looks like."""
    values: tuple[str, ...]
    """The distinct values, most frequent first, as far as sampled."""
    share_filled: float = 1.0
    is_time: bool = False
    """Whether its words are dates or times."""
    is_prose: bool = False
    """Whether its cells are texts to be read: sentences, or many words, that hardly come back."""
    is_row_number: bool = False
    """Whether it numbers the rows, or is an id of each."""

    @property
    def numbers(self) -> list[float]:
        """Read the values of a column of numbers."""
        return [float(value) for value in parse_numbers(pa.array(self.values, pa.string())).values]

    @property
    def is_yes_no(self) -> bool:
        """Tell whether it holds nothing but 0 and 1, or true and false."""
        return {value.lower() for value in self.values} in _YES_NO


@dataclass(frozen=True)
class FileFacts:
    """What a data file holds, and the options that read it right."""

    options: Files
    columns: tuple[ColumnFacts, ...]
    num_rows: int
    bad: tuple[BadRow, ...]
    """The rows that could not be read."""
    has_header: bool


def inspect_file(path: str, *, encoding: str | None = None) -> FileFacts:
    """Read a file and describe its columns."""
    try:
        file = find(path, option="the data file")[0]
        options = _options(Files(train=path), file, encoding=encoding)
        reading = read(file, options)
        if (kind := find_format(file, options)) in _DELIMITED:
            delimiter = find_dialect(kind, options).delimiter
            options = options.model_copy(update={"decimal": find_decimal(_some(reading.rows), delimiter=delimiter)})
            reading = reading if options.decimal == "." else read(file, options)
        has_header = options.header is not False
        return FileFacts(options, _columns(reading), len(reading.rows), reading.bad, has_header)
    except NotUtf8 as error:
        raise error.advised() from error


def find_siblings(path: str) -> dict[str, str]:
    """Find the splits beside a file called train, dev, test or the like; none if it is called nothing such."""
    trimmed = path.rstrip("/")
    folder, name = os.path.split(trimmed)
    if not _split_in(name) or not os.path.isdir(folder or "."):
        return {}
    shape = _shape(name)
    there = [entry for entry in sorted(os.listdir(folder or ".")) if _shape(entry) == shape]
    found = {_split_in(entry): os.path.join(folder, entry) for entry in reversed(there)}
    found[_split_in(name)] = trimmed
    return {split: found[split] for split in ("train", "validation", "test") if split in found}


def _split_in(name: str) -> str:
    return next((SPELLINGS[word] for word in re.split(r"[-_.]", name.lower()) if word in SPELLINGS), "")


def _shape(name: str) -> str:
    return re.sub(r"[^-_.]+", lambda word: "*" if word[0].lower() in SPELLINGS else word[0], name)


def _options(options: Files, file: DataFile, *, encoding: str | None) -> Files:
    kind = "folders" if file.is_directory else SUFFIXES.get(file.suffix, _UNKNOWN)
    if kind in ("parquet", "arrow", "folders"):
        return options
    with hold_local(file) as at:
        buffer = open_unpacked(at, file=file)
    if kind == _UNKNOWN:
        if not _has_tagged_words(decode_lossy(buffer[: min(_HEAD, buffer.size)].to_pybytes())):
            find_format(file, options)  # refuses the suffix
        options = options.model_copy(update={"format": "conll"})
    options = options.model_copy(update={"encoding": encoding or find_encoding(buffer)})
    if kind not in (*_DELIMITED, "text"):
        return options
    body = text_body(as_utf8(buffer, stated=options.encoding, name=file.name), name=file.name)
    head = decode_lossy(body[: min(_HEAD, body.size)].to_pybytes())
    if _has_tagged_words(head):
        return options.model_copy(update={"format": "conll"})
    if kind == "text":
        return options
    if kind == "csv" and (delimiter := _delimiter(head, is_whole=body.size <= _HEAD)) != ",":
        options = options.model_copy(update={"delimiter": delimiter})
    first = next(scan_records(head, find_dialect(kind, options)), None)
    if first is None or not _is_row(first.fields):
        return options
    return options.model_copy(update={"header": False})


def _has_tagged_words(head: str) -> bool:
    """Tell whether a file has one word a line with its tags in columns, and sentences apart, as CoNLL has.

    Tags of names tell by themselves (`O`, `B-PER`). Others, such as parts of speech, are few words that come back,
    and a blank line must end each sentence.
    """
    blocks = [block.splitlines() for block in re.split(r"\n[ \t]*(?:\n[ \t]*)+", head.replace("\r\n", "\n").strip())]
    sentences = [[line.split() for line in block if not line.startswith(_NEW_DOCUMENT)] for block in blocks]
    sentences[-1] = sentences[-1][:-1]  # the head may end within its last line
    tokens = [cells for sentence in sentences for cells in sentence]
    if len(tokens) < _FEWEST_TOKENS or {len(cells) for cells in tokens} != {len(tokens[0])} or len(tokens[0]) == 1:
        return False
    tags = Counter(cells[-1] for cells in tokens)
    if all(_TAG_OF_NAME.fullmatch(tag) for tag in tags):
        return len(tags) > 1
    is_apart = len(sentences) > 1 and max(map(len, sentences)) <= _LONGEST_SENTENCE
    words = {cells[0] for cells in tokens}
    has_words = sum(cells[0].isalpha() for cells in tokens) > len(tokens) / 2
    has_numbers = any(char.isdigit() for tag in tags for char in tag)
    return is_apart and has_words and not has_numbers and len(tags) <= _MOST_KINDS and len(tags) < len(words)


def _delimiter(head: str, *, is_whole: bool) -> str:
    """Find what divides all rows, or else most of them, into as many fields as the first."""
    first = head.partition("\n")[0]
    shares: dict[str, float] = {}
    for delimiter in sorted(_DELIMITERS, key=lambda each: -first.count(each)):
        found = list(islice(scan_records(head, Dialect(delimiter, quoting=True, header=None)), _LOOKED_AT + 1))
        whole = found if is_whole and len(found) <= _LOOKED_AT else found[:-1]  # the last one may be cut short
        sizes = [len(record.fields) for record in whole] or [0]
        shares[delimiter] = sizes.count(sizes[0]) / len(sizes) if sizes[0] > 1 else 0.0
    best = max(shares, key=lambda delimiter: shares[delimiter])
    return best if shares[best] >= _MOST_ROWS else ","


def _is_row(fields: Sequence[str]) -> bool:
    """Tell whether a first line is data: names are neither numbers nor sentences, nor the same twice."""
    given = comma_to_point(pa.array([field for field in fields if not lost_bytes(field)], pa.string()))
    has_number = bool(np.isfinite(parse_numbers(given).values).any())
    return has_number or any(len(field.split()) >= _PROSE_WORDS for field in fields)


def _columns(reading: ReadFile) -> tuple[ColumnFacts, ...]:
    rows = reading.rows
    few = _some(rows)
    return tuple(
        _facts(
            name, few.column(name).to_pylist(), num_distinct=_num_distinct(rows.table.column(name)), num_rows=len(rows)
        )
        for name in rows.table.column_names
    )


def _some(rows: Rows) -> pa.Table:
    return rows.table.filter(pa.array(sample(len(rows), _SAMPLED, seed=0, purpose=9)))


def _num_distinct(column: pa.ChunkedArray) -> int:
    """Count the values that are there; an empty cell is none."""
    has_blank = pa.types.is_string(column.type) and pc.any(pc.equal(column, "")).as_py()
    return count_values(column)[1] - bool(column.null_count) - bool(has_blank)


def _facts(name: str, cells: Sequence[object], *, num_distinct: int, num_rows: int) -> ColumnFacts:
    is_list = any(isinstance(cell, list) for cell in cells)
    filled = [_text(cell) for cell in cells if cell is not None and cell not in ("", [])]
    read = parse_numbers(pa.array(filled, pa.string()))
    is_known = np.isfinite(read.values)
    is_number = not is_list and bool(is_known.any()) and read.fits()
    filled = [text for text, known in zip(filled, is_known, strict=True) if known] if is_number else filled
    words = np.array([len(text.split()) for text in filled] or [0])
    is_whole = is_number and bool(np.all(np.mod(read.values[is_known], 1) == 0))
    is_words = not is_number and not is_list
    separator = _separator(filled) if is_words else None
    is_time = is_words and _are_times(filled)
    return ColumnFacts(
        name=name,
        num_distinct=num_distinct,
        share_distinct=num_distinct / max(1, num_rows),
        mean_words=float(words.mean()),
        long_words=int(np.quantile(words, 0.95)),
        is_number=is_number,
        is_whole=is_whole,
        is_list=is_list,
        separator=separator,
        values=tuple(value for value, _ in Counter(filled).most_common(1000)),
        share_filled=len(filled) / max(1, len(cells)),
        is_time=is_time,
        is_prose=is_words and not is_time and separator is None and _is_prose(filled),
        is_row_number=is_whole
        and num_rows >= _FEWEST_ROWS
        and num_distinct >= _MOST_UNIQUE * num_rows
        and (_ID_NAME.search(name) is not None or bool(np.ptp(read.values[is_known]) <= _RUN * num_rows)),
    )


def _are_times(cells: Sequence[str]) -> bool:
    """Tell whether cells are dates or times, in either order of day and month."""
    distinct = pa.array(list(dict.fromkeys(cells))[:_TIMES_READ], pa.string())
    return len(distinct) > 0 and any(parse_times(distinct, day_first=first).fits() for first in (False, True))


def _is_prose(cells: Sequence[str]) -> bool:
    """Tell sentences from names, titles, places and codes: many words, most of them spelt in letters, hardly repeated.

    Cells of fewer words must have those that join a sentence.
    """
    some = cells[:_PROSE_READ]
    if not some or len(set(some)) < _LEAST_DISTINCT_PROSE * len(some):
        return False
    words = [[word.strip(_MARKS).lower() for word in cell.split()] for cell in some]
    mean_words = sum(map(len, words)) / len(words)
    if mean_words < _SENTENCE_WORDS:
        return False
    every = [word for cell in words for word in cell]
    if sum(word.replace("'", "").replace("-", "").isalpha() for word in every) < _LEAST_SPELT * len(every):
        return False
    written = [word for cell in some for word in cell.split()]
    if sum(word[:1].isupper() and not word.isupper() for word in written) > _MOST_CAPITALS * len(written):
        return False  # titles and names
    num_joined = sum(not _JOINING.isdisjoint(cell) for cell in words)
    return mean_words >= _LONG_PROSE or num_joined >= _LEAST_JOINED * len(words)


def _text(cell: object) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    return ", ".join(map(_text, cell)) if isinstance(cell, list) else str(cell)


def _separator(cells: Sequence[str]) -> str | None:
    """Find what joins tags: cells come back, and come apart into fewer kinds of short pieces than there are cells."""
    kinds = set(cells)
    if len(kinds) > _MOST_REPEATING * len(cells):
        return None
    for separator in _SEPARATORS:
        joined = [cell for cell in cells if separator in cell]
        pieces = {piece.strip() for cell in kinds for piece in cell.split(separator)}
        are_tags = len(pieces) <= min(_MOST_TAGS, len(kinds)) and all(len(piece.split()) <= 3 for piece in pieces)
        if len(joined) >= 0.05 * len(cells) > 0 and are_tags:
            return separator
    return None
