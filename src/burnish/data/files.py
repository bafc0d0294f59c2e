"""Rows from files: local, in a package, or behind a URL."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from burnish.data.options import FURTHER, AuditLevel, Filter, Limit, Names, SplitPlan
from burnish.data.sources.address import PACKAGE, DataFile
from burnish.spec.protocols import DataRequest, DataSource
from burnish.spec.values import Splits

Format = Literal[
    "auto", "csv", "tsv", "jsonl", "json", "parquet", "arrow", "text", "documents", "folders", "conll", "tfrecord"
]
SUFFIXES: Mapping[str, str] = {
    **dict.fromkeys([".csv"], "csv"),
    **dict.fromkeys([".tsv", ".tab"], "tsv"),
    **dict.fromkeys([".jsonl", ".ndjson", ".jsonlines"], "jsonl"),
    **dict.fromkeys([".json"], "json"),
    **dict.fromkeys([".parquet", ".pq"], "parquet"),
    **dict.fromkeys([".arrow", ".feather", ".ipc"], "arrow"),
    **dict.fromkeys([".conll", ".iob", ".iob2", ".bio"], "conll"),
    **dict.fromkeys([".tfrecord", ".tfrecords", ".tf_record"], "tfrecord"),
    **dict.fromkeys([".txt", ".text", ".raw"], "text"),
}
ENCODINGS = "an encoding of text, like utf-8, cp1252, latin-1 or utf-16"
Layout = Literal["id_label_alpha_text", "id_alpha_label_text_a_text_b", "squad"]
LAYOUTS: Mapping[str, tuple[str, ...]] = {
    "id_label_alpha_text": ("id", "label", "alpha", "text"),
    "id_alpha_label_text_a_text_b": ("id", "alpha", "label", "text_a", "text_b"),
}


class Files(DataSource):
    """CSV, TSV, JSON, Parquet, Arrow, TFRecord, plain text, CoNLL files or one folder per class, split as asked."""

    shorthand = "train"

    dir: str | None = None
    """Where relative paths start: a folder, a `package:` address or a URL."""
    train: Names
    """Paths, globs, `package:module/file` addresses or URLs."""
    validation: Names = ()
    test: Names = ()
    also: Annotated[Mapping[str, Names], FURTHER] = {}
    """Further sets to score when the run is over, by name, like `validation_de: de.jsonl`; never used to choose."""
    format: Format = "auto"
    """By default what the suffix says, after .gz or .zst; `documents` is text with a blank line between documents."""
    header: Literal["auto"] | bool = "auto"
    """Whether the first line of a CSV or TSV file names its columns; `auto`: unless `columns` does."""
    columns: Names = ()
    """Names for the columns of a CSV or TSV file without a header, or of a CoNLL file."""
    layout: Layout | None = None
    """A TSV file without header or quoting whose columns are these, further ones dropped; or SQuAD's JSON.

    A JSON file of that shape is read so by itself.
    """
    quoting: bool | None = None
    """Whether double quotes enclose fields; by default yes in CSV and no in TSV, where they are plain text."""
    delimiter: str | None = None
    """The character between fields; by default a comma in CSV, a tab in TSV, and blanks in CoNLL columns."""
    encoding: str = "utf-8"
    """What text files are written in, as Python calls it: cp1252, latin-1, shift_jis …; a byte-order mark wins."""
    decimal: Literal[".", ","] = "."
    """The decimal mark of numbers in CSV and TSV files; with a comma, 1.234,50 is a number."""
    split: SplitPlan = SplitPlan()
    limit: Limit = Limit()
    filter: Filter = Field(default_factory=dict)
    """Column to value or values, or a condition like "fare > 0 and trip_seconds < 3600": only such rows are used."""
    bad_rows: Literal["error", "skip"] = "error"
    max_bad_share: Annotated[float, Field(ge=0, le=1)] = 0.01
    """With `bad_rows: skip`, refuse if more than this share of a split is bad."""
    audit: AuditLevel = "warn"
    """What to do about held-out rows that occur in train, equal inputs with other labels, and leaks of the target."""

    @field_validator("train")
    @classmethod
    def _some(cls, train: tuple[str, ...]) -> tuple[str, ...]:
        if not train:
            raise ValueError("must name at least one file")
        return train

    @field_validator("delimiter")
    @classmethod
    def _one_character(cls, delimiter: str | None) -> str | None:
        delimiter = "\t" if delimiter == "\\t" else delimiter
        if delimiter is not None and (len(delimiter.encode()) != 1 or delimiter in '"\r\n'):
            raise ValueError("must be one ASCII character, and no quote or line end")
        return delimiter

    @field_validator("encoding")
    @classmethod
    def _of_text(cls, encoding: str) -> str:
        if not is_encoding(encoding):
            raise ValueError(f"must be {ENCODINGS}")
        return encoding

    @model_validator(mode="after")
    def _one_way_to_split(self) -> "Files":
        for name in ("validation", "test"):
            if getattr(self, name) and getattr(self.split, name) is not None:
                raise ValueError(
                    f"takes `{name}` (files) or `split.{name}` (a part of train), not both; null removes the part"
                )
            if getattr(self, name) and self.split.by is not None:
                raise ValueError(f"takes `{name}` (files) or `split.by` (a column), not both; null removes the column")
        return self

    @model_validator(mode="after")
    def _layout_alone(self) -> "Files":
        own, kind = ("json", "a JSON file") if self.layout == "squad" else ("tsv", "a TSV file without header")
        if self.layout and (self.columns or self.header is True or self.format not in ("auto", own)):
            raise ValueError(f"`layout` means {kind}: give no `columns`, `header` or other `format`")
        return self

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """List the paths of every set by the option that names them."""
        sets = {"train": self.train, "validation": self.validation, "test": self.test}
        return sets | {f"also.{name}": paths for name, paths in self.also.items()}

    def unreadable(self) -> Iterator[tuple[str, str]]:
        for option, written in ((option, path) for option, paths in self.paths.items() for path in paths):
            file = DataFile(written, os.path.join(self.dir or "", os.path.expanduser(written)))
            if "${" in file.location:
                yield (
                    option,
                    f"{written} contains a variable, and variables are not expanded here; write the path itself",
                )
            elif self.format == "auto" and not self.layout and not _may_be_read(file):
                yield option, f"{written} {unknown_suffix(file.suffix)}"

    def absent(self, columns: Sequence[str], *, place: str, task: str) -> Iterator[tuple[str, str]]:
        from burnish.data.inspection.header import find_absent  # not for experiments without files to wait for

        return find_absent(self, columns, place=place, task=task)

    def load(self, request: DataRequest) -> Splits:
        from burnish.data.sources.load_files import load_files  # keeps checking a configuration light

        return load_files(self, request)

    def digests(self, request: DataRequest) -> Mapping[str, str]:
        from burnish.data.sources.load_files import digest_files  # keeps checking a configuration light

        return digest_files(self)


def is_encoding(name: str) -> bool:
    """Tell whether Python knows an encoding of text by this name."""
    try:
        return "a,1\n".encode(name).decode(name) == "a,1\n"
    except (LookupError, ValueError):
        return False


def _may_be_read(file: DataFile) -> bool:
    # a folder inside a package may have any name, and so may one that is there, or a file that a pattern finds
    is_open = file.location.startswith(PACKAGE) or file.is_directory or any(mark in file.suffix for mark in "*?[")
    return is_open or file.suffix in ("", *SUFFIXES)


def unknown_suffix(suffix: str) -> str:
    """Say that a suffix, or none, tells no format, and which do."""
    if suffix in (".xlsx", ".xls", ".xlsm", ".ods"):
        return "is a spreadsheet; save the sheet as CSV, and use that file"
    found = f"the suffix {suffix}" if suffix else "no suffix"
    known = ", ".join(SUFFIXES)
    return f"has {found}, which is not a known format; set data.format, like csv or jsonl. Known suffixes are {known}"
