"""What a column of the rows is: its name, its kind, and what stands for a missing value."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from burnish.errors import DataError
from burnish.spec.values import Profile

Kind = Literal["number", "integer", "boolean", "text", "flag", "time", "words", "texts"]
"""A `flag` and a `time` stay as they are written, and must be readable as such; `words` are a list of them or a text to
find them in; `texts` a list of texts or a single one."""
Value = float | int | bool | str


@dataclass(frozen=True)
class ColumnSpec:
    """Name a column and say what its values are."""

    name: str
    kind: Kind = "text"
    default: Value | None = None
    """What a missing value becomes."""
    is_required: bool = True
    """Whether a row without a value is refused if there is no default; else the value stays missing."""

    is_read: bool = True
    """False for a column that only holds its place in rows without names."""
    is_placed: bool = True
    """False where its place in rows without names is not known."""

    @property
    def must_be_given(self) -> bool:
        """Tell whether a row without a value is refused."""
        return self.is_read and self.is_required and self.default is None


@runtime_checkable
class KnowsColumns(Protocol):
    """A task that can tell more of its columns than their names."""

    def input_specs(self, profile: Profile) -> Sequence[ColumnSpec]:
        """Describe the columns that prediction reads, in their order."""
        ...


def read_columns(columns: Iterable[ColumnSpec]) -> list[ColumnSpec]:
    """Give the columns whose values are read."""
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


def columns_of(task: object, profile: Profile) -> tuple[ColumnSpec, ...]:
    """Give the columns that a task describes, else texts under the names of its `input_columns`."""
    if isinstance(task, KnowsColumns):
        return tuple(task.input_specs(profile))
    return text_columns(getattr(task, "input_columns", ()))
