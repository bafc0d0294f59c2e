"""Reads label columns: which classes there are, of which kind they are, and each row's label as numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.ragged import array_of
from burnish.data.columns.parse_columns import LARGEST, MISSING, comma_to_point, is_number, numbers
from burnish.errors import DataError
from burnish.spec.values import Array, FeatureLimit, Profile, RowFault
from burnish.tasks.tabular.column_types import is_list

_MANY_NUMBERS = 20
"""More distinct numbers than this are a quantity, not classes."""
_MANY_WORDS = 100
"""More distinct words than this are hardly classes."""
_SHOWN_WORDS = 5
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")
_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no", "")


@dataclass(frozen=True)
class LabelColumns:
    """One column of labels, or several columns of yes and no."""

    names: tuple[str, ...]
    separator: str | None = None

    def guess_kind(self, table: pa.Table) -> str:
        """Tell binary, multiclass, multilabel or regression from the training rows."""
        if len(self.names) > 1 or self.separator is not None or is_list(table[self.names[0]].type):
            return "multilabel"
        read = numbers(as_text(table, self.names[0]))
        known = np.unique(read.values[np.isfinite(read.values)])
        if read.fits() and (len(known) > _MANY_NUMBERS or np.any(known != np.round(known))):
            return "regression"
        return "binary" if len(self.classes(table)) <= 2 else "multiclass"

    def classes(self, table: pa.Table) -> tuple[str, ...]:
        """List the distinct labels: numbers by value, words by alphabet."""
        if len(self.names) > 1:
            return self.names
        distinct = [value for value in pc.unique(self._flat(table)).to_pylist() if value]
        given = [value for value in distinct if value.lower() not in MISSING]
        if given and all(_number(value) is not None for value in given):
            distinct = given  # among numbers, NA and the like are no class
        is_numeric = all(_NUMBER.fullmatch(value) for value in distinct)
        return tuple(sorted(distinct, key=lambda value: (Decimal(value), value)) if is_numeric else sorted(distinct))

    def counts(self, table: pa.Table, classes: Sequence[str]) -> dict[str, int]:
        """Count the rows that carry each class."""
        if len(self.names) > 1:
            return {name: int(_yes_no(table, name)[0].sum()) for name in self.names}
        found = {item["values"]: item["counts"] for item in pc.value_counts(self._flat(table)).to_pylist()}
        return {name: int(found.get(name, 0)) for name in classes}

    def range(self, table: pa.Table) -> dict[str, float]:
        """Tell the smallest, the largest and the mean number."""
        values = self.known_numbers(table)
        if not len(values):
            return {}
        return {"lowest": float(values.min()), "highest": float(values.max()), "mean": float(values.mean())}

    def known_numbers(self, table: pa.Table) -> "Array":
        """Give the numbers of the rows that hold one."""
        values, faults = self.numbers(table)
        return np.delete(values, [fault.row for fault in faults])

    def class_indices(self, table: pa.Table, classes: Sequence[str]) -> tuple["Array", list[RowFault]]:
        """Give each row's class as an index, and the rows whose label is none of the classes."""
        column = as_text(table, self.names[0])
        indices = pc.index_in(column, value_set=pa.array(classes, pa.string()))
        wrong = pc.is_null(indices).to_numpy(zero_copy_only=False)
        faults = [_unknown(int(row), column[int(row)].as_py(), classes) for row in np.flatnonzero(wrong)]
        return pc.fill_null(indices, 0).to_numpy(zero_copy_only=False).astype(np.int64), faults

    def numbers(self, table: pa.Table) -> tuple["Array", list[RowFault]]:
        """Give each row's label as a number, and the rows that hold none."""
        column = as_text(table, self.names[0])
        values = numbers(column).values
        wrong = np.flatnonzero(~np.isfinite(values))
        texts = column.take(pa.array(wrong)).to_pylist()
        return np.where(np.isfinite(values), values, 0.0), [
            RowFault(int(row), f"label {text!r} {_no_number(text)}") for row, text in zip(wrong, texts, strict=True)
        ]

    def refuse_words(self, table: pa.Table, *, instead: str | None = None) -> None:
        """Refuse to learn words as numbers: once, for most rows hold one; `instead` says what to set."""
        column = as_text(table, self.names[0])
        counts = {item["values"]: item["counts"] for item in pc.value_counts(column).to_pylist() if item["values"]}
        is_wrong = numbers(pa.array(list(counts), pa.string())).is_wrong
        words = sorted(value for value, wrong in zip(counts, is_wrong, strict=True) if wrong)
        if 2 * sum(counts[word] for word in words) <= sum(counts.values()):
            return
        shown = ", ".join([*words[:_SHOWN_WORDS], *(["…"] if len(words) > _SHOWN_WORDS else [])])
        remedy = instead or f"set task.kind: {'binary' if len(words) == 2 else 'multiclass'}"
        if len(words) > _MANY_WORDS:
            remedy = "write its values as plain numbers, like 1234.5"
        if words and numbers(comma_to_point(pa.array(words))).fits():
            remedy = "if its commas are decimal marks, set data.decimal: ','"
        raise DataError(f"column {self.names[0]} holds words ({shown}), so it cannot be learned as a number; {remedy}")

    def indicators(self, table: pa.Table, classes: Sequence[str]) -> tuple["Array", list[RowFault]]:
        """Give a 0/1 matrix, rows by classes."""
        if len(self.names) > 1:
            return self._indicators_by_column(table)
        lists = self._lists(table)
        flat = lists.flatten()
        owners = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
        indices = pc.index_in(flat, value_set=pa.array(classes, pa.string()))
        wrong = np.flatnonzero(pc.is_null(indices).to_numpy(zero_copy_only=False))
        faults = [_unknown(int(owners[at]), flat[int(at)].as_py(), classes) for at in wrong]
        matrix = np.zeros((len(table), len(classes)), np.float32)
        known = pc.is_valid(indices).to_numpy(zero_copy_only=False)
        matrix[owners[known], pc.drop_null(indices).to_numpy(zero_copy_only=False)] = 1
        return matrix, faults

    def _indicators_by_column(self, table: pa.Table) -> tuple["Array", list[RowFault]]:
        matrix = np.zeros((len(table), len(self.names)), np.float32)
        faults: list[RowFault] = []
        for number, name in enumerate(self.names):
            yes, wrong = _yes_no(table, name)
            matrix[:, number] = yes
            faults += [RowFault(int(row), f"column {name} must hold 0 or 1") for row in np.flatnonzero(wrong)]
        return matrix, faults

    def _flat(self, table: pa.Table) -> pa.Array:
        column = table[self.names[0]]
        return self._lists(table).flatten() if self.separator or is_list(column.type) else as_text(table, self.names[0])

    def _lists(self, table: pa.Table) -> pa.Array:
        column = table[self.names[0]].combine_chunks()
        if is_list(column.type):
            lists = _cast(column, pa.list_(pa.string()), name=self.names[0])
            sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
            offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
            return pa.ListArray.from_arrays(offsets, pc.utf8_trim_whitespace(lists.flatten()))
        parts = pc.split_pattern(pc.fill_null(as_text(table, self.names[0]), ""), pattern=self.separator or ";")
        trimmed = pc.utf8_trim_whitespace(parts.flatten())
        lists = pa.ListArray.from_arrays(parts.offsets, trimmed)
        return _without_blanks(lists)


def label_limit(features: pa.Table, profile: Profile) -> FeatureLimit:
    """Give the limits of encoded labels: numbers, yes and no a class, or the number of a class."""
    values = array_of(features["label"])
    if profile.kind == "regression":
        return FeatureLimit("label", values, -LARGEST, LARGEST)
    return FeatureLimit("label", values, 0, 1 if profile.kind == "multilabel" else len(profile.labels) - 1)


def as_text(table: pa.Table, name: str) -> pa.Array:
    """Give a column as one array of trimmed strings; whole floats such as 1.0 stay as they are written."""
    whole = table[name].combine_chunks()
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    return pc.utf8_trim_whitespace(_cast(whole, pa.string(), name=name))


def _cast(column: pa.Array, kind: pa.DataType, *, name: str) -> pa.Array:
    try:
        return pc.cast(column, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"the column `{name}` holds {column.type}, and a label is a single word or number, or a list of them"
        ) from error


def _without_blanks(lists: pa.ListArray) -> pa.ListArray:
    values = lists.flatten()
    owners = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    keep = pc.not_equal(values, "").to_numpy(zero_copy_only=False)
    sizes = np.bincount(owners[keep], minlength=len(lists))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, values.filter(pa.array(keep)))


def _no_number(text: str | None) -> str:
    if _number(text) is not None:
        return f"is too large to be learned; at most {LARGEST:g} is allowed"
    has_comma = text is not None and "," in text and np.isfinite(numbers(comma_to_point(pa.array([text]))).values[0])
    return "is not a number" + "; if its comma is a decimal mark, set data.decimal: ','" * bool(has_comma)


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and is_number(text) else None


def _yes_no(table: pa.Table, name: str) -> tuple[Array, Array]:
    text = pc.fill_null(pc.utf8_lower(as_text(table, name)), "")
    yes = pc.is_in(text, value_set=pa.array(_TRUE)).to_numpy(zero_copy_only=False)
    no = pc.is_in(text, value_set=pa.array(_FALSE)).to_numpy(zero_copy_only=False)
    return yes, ~(yes | no)


def _unknown(row: int, value: str | None, classes: Sequence[str]) -> RowFault:
    shown = ", ".join(classes[:10]) + (f" … ({len(classes)} in all)" if len(classes) > 10 else "")
    return RowFault(row, "the label is empty" if not value else f"label {value!r} is not one of {shown}")
