"""Finds files that are not there and columns that they lack without reading rows, so that training need not start."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from burnish.data.files import Files
from burnish.data.options import filter_columns
from burnish.data.readers.encoding import NotUtf8, as_utf8, is_plain
from burnish.data.readers.open_file import UTF8_MARK, first_bytes
from burnish.data.readers.read import DELIMITERS, find_dialect, find_format, parse, read
from burnish.data.readers.read_delimited import find_shape
from burnish.data.rows import explain_missing
from burnish.data.sources.address import DataFile, find, find_shared, is_url, join_address
from burnish.errors import DataError

_HEAD_BYTES = 1 << 20
_SENTENCES_BYTES = 1 << 16
_WHOLE_BYTES = 1 << 22
"""A file up to this size is read whole where its first bytes do not name all columns."""
_OF_TEXTS = {"text": ("text",), "documents": ("text",), "folders": ("text", "label", "id")}


def find_absent(options: Files, columns: Sequence[str], *, place: str, task: str) -> Iterator[tuple[str, str]]:
    """Yield an option and a sentence for each file that is missing or in two splits, and each column that is missing.

    `columns` are those of the task; `place` and `task` are how the options of data and task begin. A URL is not
    opened, and so its columns are not known.
    """
    faulty = {option for option, _ in options.unreadable()}
    found: dict[str, list[DataFile]] = {}
    for option, paths in options.paths.items():
        if option in faulty:
            continue
        try:
            files = [file for written in paths for file in _find(written, options, option=f"{place}.{option}")]
            names = [_columns(file, options) for file in files]
        except DataError as error:
            yield f"{place}.{option}", _add_place(str(error), options, option, place=place)
            continue
        found[option] = files
        known = [name for each in names if each is not None for name in each]
        if files and None not in names:
            wanted = {
                task: columns,
                **{f"{place}.{why}": each for why, each in _named_columns(options, option).items()},
            }
            yield from _find_lacking(wanted, list(dict.fromkeys(known)), files=files)
    for option, sentence in find_shared(found):
        yield f"{place}.{option}", f"{place}.{option}: {sentence}"


def _add_place(sentence: str, options: Files, option: str, *, place: str) -> str:
    """Begin a refusal with its option; a file that is not here may be in a folder that was not named."""
    sentence = sentence if sentence.startswith(place) else f"{place}.{option}: {sentence}"
    is_bare = options.dir is None and not any("/" in written for written in options.paths[option])
    is_bare = is_bare and any(words in sentence for words in ("there is no file", "no file matches"))
    return f"{sentence}; set {place}.dir if it is in another folder" if is_bare else sentence


def _find(written: str, options: Files, *, option: str) -> list[DataFile]:
    address = join_address(options.dir, written)
    return [DataFile(address, address)] if is_url(address) else find(written, base=options.dir, option=option)


def _columns(file: DataFile, options: Files) -> Sequence[str] | None:
    """Name the columns of a file; None where that would take a connection or the whole of a large file."""
    if file.is_remote:
        return None
    kind, path = find_format(file, options), Path(file.location)
    try:
        if kind in _OF_TEXTS:
            return _OF_TEXTS[kind]
        if kind in DELIMITERS:
            head = first_bytes(path, file=file, size=_HEAD_BYTES)
            if not is_plain(head[: min(len(UTF8_MARK) + 1, head.size)].to_pybytes(), options.encoding):
                head = as_utf8(head[: min(_HEAD_BYTES, head.size)], stated=options.encoding, name=file.name)
            return find_shape(head, find_dialect(kind, options), name=file.name).wanted
        if kind == "conll":
            body = first_bytes(path, file=file, size=_HEAD_BYTES)
            begun = body[: min(_SENTENCES_BYTES, body.size)].to_pybytes()
            end = max(begun.rfind(b"\n\n"), begun.rfind(b"\n\r\n"))
            rows, _ = parse(body if end < 0 else body[:end], kind, name=file.name, options=options)
            return list(rows.table.column_names)
        if kind == "parquet" and file.compression is None:
            return list(pa.parquet.read_schema(path).names)
        return list(read(file, options).rows.table.column_names) if path.stat().st_size <= _WHOLE_BYTES else None
    except NotUtf8 as error:
        raise error.advised() from None
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{file.name} could not be read: {error}") from error


def _named_columns(options: Files, option: str) -> dict[str, tuple[str, ...]]:
    """Name the columns that the options of the data name in the files of a set, by option."""
    by, is_train = options.split.by, option == "train"
    return {
        "filter": filter_columns(options.filter),
        "split.by": (by,) if by is not None and is_train else (),
        "split.group": options.split.group if by is None or is_train else (),
    }


def _find_lacking(
    wanted: Mapping[str, Sequence[str]], there: Sequence[str], *, files: Sequence[DataFile]
) -> Iterator[tuple[str, str]]:
    for why, needed in wanted.items():
        sentence = explain_missing(needed, there, why=why, files=[file.name for file in files])
        if sentence is not None:
            yield why, sentence
