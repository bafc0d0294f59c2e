"""What rows are made of: the formats they come in, and the name, kind and default of each column."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from burnish.errors import DataError
from burnish.nearest import nearest
from burnish.spec.values import Profile

if TYPE_CHECKING:
    from burnish.spec.protocols import Task  # pydantic, which help must not load

Kind = Literal["number", "integer", "boolean", "text", "flag", "time", "words", "texts"]
"""A `flag` and a `time` stay as they are written, and must be readable as such; `words` are a list of them or a text to
find them in; `texts` a list of texts or a single one."""
Value = float | int | bool | str
FormatName = Literal["json", "jsonl", "json_lists", "csv", "csv_rows", "example", "squad"]
FORMAT_NAMES: tuple[FormatName, ...] = get_args(FormatName)

CONTENT_TYPES: Mapping[str, FormatName] = {
    "application/json": "json",
    "application/jsonl": "jsonl",
    "application/x-ndjson": "jsonl",
    "application/x-jsonlines": "jsonl",
    "text/csv": "csv",
    "application/x-tfrecord": "example",
    "application/octet-stream": "example",
    "application/x-protobuf": "example",
}


@dataclass(frozen=True)
class ColumnSpec:
    """Name a column and say what its values are."""

    name: str
    kind: Kind = "text"
    default: Value | None = None
    """What a missing value becomes."""
    is_required: bool = True
    """Whether a row without a value is refused if there is no default; else the value stays missing."""

    always_given: bool = False
    """Whether every training row had a value: then a row without one is refused, unless missing values are allowed."""
    is_read: bool = True
    """False for a column that only holds its place in rows without names."""
    is_placed: bool = True
    """False where its place in rows without names is not known."""
    is_category: bool = False
    """Whether its texts are values of a category."""
    values: tuple[str, ...] = ()
    """The values that a category had in training, where they are known one by one."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Statistics of the training rows, and as `fill` what a missing number or time counts as."""

    @property
    def must_be_given(self) -> bool:
        """Tell whether a row without a value is refused."""
        return self.is_read and self.is_required and self.default is None


def allow_missing(columns: Iterable[ColumnSpec]) -> tuple[ColumnSpec, ...]:
    """Let rows lack what every training row had; what no prediction can do without must still be given."""
    return tuple(replace(spec, always_given=False) for spec in columns)


def read_columns(columns: Iterable[ColumnSpec]) -> list[ColumnSpec]:
    """Select the columns whose values are read."""
    return [spec for spec in columns if spec.is_read]


def cell_names(columns: Sequence[ColumnSpec]) -> list[str]:
    """Name the cells of a row without names, in their order; refuse where it is not known."""
    if not all(spec.is_placed for spec in columns):
        raise DataError(
            "rows without names cannot be read: the order of the columns was not recorded when this model was saved, "
            "by an older version of Burnish; give each value by name (json, jsonl, csv with a header): "
            f"{', '.join(spec.name for spec in read_columns(columns))}"
        )
    return [spec.name for spec in columns]


def text_columns(names: Iterable[str]) -> tuple[ColumnSpec, ...]:
    """Describe columns of text that every row must have."""
    return tuple(ColumnSpec(name) for name in names)


def describe_columns(task: "Task", profile: Profile) -> tuple[ColumnSpec, ...]:
    """Describe the columns of a task's rows as the task does, else texts under the names of its `input_columns`."""
    return tuple(task.input_specs(profile)) or text_columns(task.input_columns)


def find_format(content_type: str) -> FormatName:
    """Find the format that a Content-Type header means, or refuse with those there are."""
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    found = CONTENT_TYPES.get(kind)
    if found is None:
        close = nearest(kind, CONTENT_TYPES)
        hint = f"Did you mean `{close}`? " if close else ""
        raise DataError(f"no rows are read from `{kind}`. {hint}The types are {', '.join(CONTENT_TYPES)}")
    return "csv_rows" if found == "csv" and "header=absent" in parameters else found
