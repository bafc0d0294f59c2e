"""Reads label columns: the classes, each row's label as numbers, and the scale that numbers are learned on."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from burnish.data.batching.ragged import read_column
from burnish.data.columns.parse_columns import LARGEST, MISSING, comma_to_point, is_number, parse_numbers
from burnish.errors import DataError
from burnish.spec.values import Array, FeatureLimit, Profile, RowFault

_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def is_list(kind: pa.DataType) -> bool:
    """Check whether a column holds lists."""
    return any(is_it(kind) for is_it in _LISTS)


def refuse_other_than_text(table: pa.Table, columns: Sequence[str]) -> None:
    """Refuse a text column of numbers, dates, lists or bytes: it was hardly meant to be read as words."""
    for name in columns:
        kind = table.schema.field(name).type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
            raise DataError(
                f"task: the column `{name}` holds {kind}, and text is needed; "
                "name another column, or write its values as text if they are meant to be read as words"
            )


def refuse_other_than_labels(table: pa.Table, columns: Sequence[str], *, kind: str) -> None:
    """Refuse labels that are sections or bytes, and lists where a row has one label."""
    for name in columns:
        found = table.schema.field(name).type
        holds_lists = is_list(found)
        if holds_lists and (kind not in ("auto", "multilabel") or len(columns) > 1):
            raise DataError(
                f"task: the column `{name}` holds lists of labels, which is multilabel; "
                f"{'name it alone in task.label' if len(columns) > 1 else f'task.kind is {kind}'}"
            )
        inner = found.value_type if holds_lists else found
        if pa.types.is_nested(inner) or pa.types.is_binary(inner) or pa.types.is_large_binary(inner):
            raise DataError(
                f"task: the column `{name}` holds {found}, and a label is a word, a number or a list of them"
            )


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
    label_map: Mapping[str, str] = field(default_factory=dict)
    """What a label counts as, by how it is written, where it is not what it says."""

    def guess_kind(self, table: pa.Table) -> str:
        """Tell binary, multiclass, multilabel or regression from the training rows."""
        if len(self.names) > 1 or self.separator is not None or is_list(table[self.names[0]].type):
            return "multilabel"
        read = parse_numbers(self._map(as_text(table, self.names[0])))
        known = np.unique(read.values[np.isfinite(read.values)])
        if read.fits() and (len(known) > _MANY_NUMBERS or np.any(known != np.round(known))):
            return "regression"
        return "binary" if len(self.classes(table)) <= 2 else "multiclass"

    def classes(self, table: pa.Table) -> tuple[str, ...]:
        """List the distinct labels: numbers by value, words by alphabet."""
        if len(self.names) > 1:
            return self.names
        distinct = [value for value in pc.unique(self.flat(table)).to_pylist() if value]
        given = [value for value in distinct if value.lower() not in MISSING]
        if given and all(_number(value) is not None for value in given):
            distinct = given  # among numbers, NA and the like are no class
        is_numeric = all(_NUMBER.fullmatch(value) for value in distinct)
        return tuple(sorted(distinct, key=lambda value: (Decimal(value), value)) if is_numeric else sorted(distinct))

    def counts(self, table: pa.Table, classes: Sequence[str]) -> dict[str, int]:
        """Count the rows that carry each class."""
        if len(self.names) > 1:
            return {name: int(_yes_no(table, name)[0].sum()) for name in self.names}
        found = {item["values"]: item["counts"] for item in pc.value_counts(self.flat(table)).to_pylist()}
        return {name: int(found.get(name, 0)) for name in classes}

    def range(self, table: pa.Table) -> dict[str, float]:
        """Find the smallest, the largest and the mean number."""
        values = self.known_numbers(table)
        if not len(values):
            return {}
        return {"lowest": float(values.min()), "highest": float(values.max()), "mean": float(values.mean())}

    def known_numbers(self, table: pa.Table) -> "Array":
        """Return the numbers of the rows that hold one."""
        values, faults = self.numbers(table)
        return np.delete(values, [fault.row for fault in faults])

    def class_indices(self, table: pa.Table, classes: Sequence[str]) -> tuple["Array", list[RowFault]]:
        """Give each row's class as an index, and the rows whose label is none of the classes."""
        column = self._map(as_text(table, self.names[0]))
        indices = pc.index_in(column, value_set=pa.array(classes, pa.string()))
        wrong = pc.is_null(indices).to_numpy(zero_copy_only=False)
        faults = [_unknown(int(row), column[int(row)].as_py(), classes) for row in np.flatnonzero(wrong)]
        return pc.fill_null(indices, 0).to_numpy(zero_copy_only=False).astype(np.int64), faults

    def numbers(self, table: pa.Table) -> tuple["Array", list[RowFault]]:
        """Give each row's label as a number, and the rows that hold none."""
        column = as_text(table, self.names[0])
        values = parse_numbers(column).values
        wrong = np.flatnonzero(~np.isfinite(values))
        texts = column.take(pa.array(wrong)).to_pylist()
        return np.where(np.isfinite(values), values, 0.0), [
            RowFault(int(row), f"label {text!r} {_no_number(text)}") for row, text in zip(wrong, texts, strict=True)
        ]

    def refuse_words(self, table: pa.Table, *, instead: str | None = None) -> None:
        """Refuse to learn words as numbers: once, for most rows hold one; `instead` says what to set."""
        column = as_text(table, self.names[0])
        counts = {item["values"]: item["counts"] for item in pc.value_counts(column).to_pylist() if item["values"]}
        is_wrong = parse_numbers(pa.array(list(counts), pa.string())).is_wrong
        words = sorted(value for value, wrong in zip(counts, is_wrong, strict=True) if wrong)
        if 2 * sum(counts[word] for word in words) <= sum(counts.values()):
            return
        shown = ", ".join([*words[:_SHOWN_WORDS], *(["…"] if len(words) > _SHOWN_WORDS else [])])
        remedy = instead or f"set task.kind: {'binary' if len(words) == 2 else 'multiclass'}"
        if len(words) > _MANY_WORDS:
            remedy = "write its values as plain numbers, like 1234.5"
        if words and parse_numbers(comma_to_point(pa.array(words))).fits():
            remedy = "if its commas are decimal marks, set data.decimal: ','"
        raise DataError(f"column {self.names[0]} holds words ({shown}), so it cannot be learned as a number; {remedy}")

    def indicators(self, table: pa.Table, classes: Sequence[str]) -> tuple["Array", list[RowFault]]:
        """Return a 0/1 matrix, rows by classes."""
        if len(self.names) > 1:
            matrix = np.zeros((len(table), len(self.names)), np.float32)
            faults: list[RowFault] = []
            for number, name in enumerate(self.names):
                yes, wrong = _yes_no(table, name)
                matrix[:, number] = yes
                faults += [RowFault(int(row), f"column {name} must hold 0 or 1") for row in np.flatnonzero(wrong)]
            return matrix, faults
        lists = self._lists(table)
        flat = self._map(lists.flatten())
        owners = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
        indices = pc.index_in(flat, value_set=pa.array(classes, pa.string()))
        wrong = np.flatnonzero(pc.is_null(indices).to_numpy(zero_copy_only=False))
        faults = [_unknown(int(owners[at]), flat[int(at)].as_py(), classes) for at in wrong]
        matrix = np.zeros((len(table), len(classes)), np.float32)
        known = pc.is_valid(indices).to_numpy(zero_copy_only=False)
        matrix[owners[known], pc.drop_null(indices).to_numpy(zero_copy_only=False)] = 1
        return matrix, faults

    def count_mapped(self, table: pa.Table) -> dict[str, int]:
        """Count how often each label that is mapped occurs."""
        found = {item["values"]: item["counts"] for item in pc.value_counts(self._written(table)).to_pylist()}
        return {label: int(found.get(label, 0)) for label in self.label_map}

    def flat(self, table: pa.Table) -> pa.Array:
        """Return the labels of all rows one after another, mapped."""
        return self._map(self._written(table))

    def _map(self, written: pa.Array) -> pa.Array:
        if not self.label_map:
            return written
        which = pc.index_in(written, value_set=pa.array([*self.label_map], pa.string()))
        return pc.coalesce(pa.array([*self.label_map.values()], pa.string()).take(which), written)

    def _written(self, table: pa.Table) -> pa.Array:
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
        values = lists.flatten()
        owners = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
        keep = pc.not_equal(values, "").to_numpy(zero_copy_only=False)
        sizes = np.bincount(owners[keep], minlength=len(lists))
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        return pa.ListArray.from_arrays(offsets, values.filter(pa.array(keep)))


def label_limit(features: pa.Table, profile: Profile) -> FeatureLimit:
    """Return the limits of encoded labels: numbers, yes and no a class, or the number of a class."""
    values = read_column(features["label"])
    if profile.kind == "regression":
        return FeatureLimit("label", values, -LARGEST, LARGEST)
    return FeatureLimit("label", values, 0, 1 if profile.kind == "multilabel" else len(profile.labels) - 1)


def as_text(table: pa.Table, name: str) -> pa.Array:
    """Return a column as one array of trimmed strings; whole floats such as 1.0 stay as they are written."""
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


def _no_number(text: str | None) -> str:
    if _number(text) is not None:
        return f"is too large to be learned; at most {LARGEST:g} is allowed"
    has_comma = (
        text is not None and "," in text and np.isfinite(parse_numbers(comma_to_point(pa.array([text]))).values[0])
    )
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


Transform = Literal["none", "log", "log1p"]
TARGET = "target"
"""Where a profile keeps the scale of its target."""
_DIGITS = 12
"""Digits of a truth that survive being scaled and scaled back."""

_FORWARD: "Mapping[str, Callable[[Array], Array]]" = {"none": np.asarray, "log": np.log, "log1p": np.log1p}
_BACK: "Mapping[str, Callable[[Array], Array]]" = {"none": np.asarray, "log": np.exp, "log1p": np.expm1}
_LOWEST = {"log": 0.0, "log1p": -1.0}


@dataclass(frozen=True)
class Measure:
    """How numbers of the target become what a network is taught, and how its answers become such numbers."""

    transform: Transform = "none"
    centre: float = 0.0
    spread: float = 1.0
    link: Literal["identity", "log"] = "identity"
    """With `log`, the network gives the logarithm of what it is taught (Poisson, Gamma)."""

    @classmethod
    def of(cls, values: "Array", *, transform: Transform, link: str) -> "Measure":
        """Choose centre and spread from the training rows: sorted first, so that their order does not show."""
        ordered = np.sort(_FORWARD[transform](values))
        if link == "log":
            return cls("none", 0.0, float(ordered.mean()) or 1.0, "log")
        return cls(transform, float(ordered.mean()), float(ordered.std()) or 1.0)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Measure":
        """Rebuild what `to_json` gave; raise ValueError for anything else."""
        return _adapter().validate_python(values)

    @classmethod
    def of_profile(cls, profile: Profile) -> "Measure":
        """Take it out of a profile; one without any leaves numbers as they are."""
        return cls.from_json(profile.facts.get(TARGET, {}))

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for the profile."""
        return asdict(self)

    def taught(self, values: "Array") -> "Array":
        """Put numbers of the target on the network's scale."""
        return np.asarray((_FORWARD[self.transform](values) - self.centre) / self.spread)

    def truth(self, taught: "Array") -> "Array":
        """Put what was taught back, without the dust of scaling to and fro."""
        values = _BACK[self.transform](taught * self.spread + self.centre)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = 10.0 ** (_DIGITS - np.ceil(np.log10(np.abs(values))))
            rounded = np.round(values * size) / np.where(size > 0, size, 1)
        return np.where(np.isfinite(size) & (values != 0), rounded, values)

    def answers(self, outputs: "Array") -> "Array":
        """Put a network's outputs into the user's unit."""
        # An exponent beyond this overflows; a network that says so is far off already.
        linked = np.exp(np.clip(outputs, -80, 80)) if self.link == "log" else outputs
        return _BACK[self.transform](linked * self.spread + self.centre)


@cache
def _adapter() -> TypeAdapter[Measure]:
    return TypeAdapter(Measure)


def read_numbers(table: pa.Table, name: str, *, transform: str, loss: str) -> "tuple[Array, list[RowFault]]":
    """Return a numeric target and the rows whose value cannot be learned."""
    values, faults = LabelColumns((name,)).numbers(table)
    faults = of_target(faults, name)
    wrong = _out_of_range(values, transform=transform, loss=loss)
    told = {fault.row for fault in faults}
    why = f"task.transform: {transform}" if transform in _LOWEST else f"task.loss: {loss}"
    faults += [
        RowFault(int(row), f"target {name} is {values[row]:g}, which {why} cannot take")
        for row in np.flatnonzero(wrong)
        if int(row) not in told
    ]
    return values, faults


def of_target(faults: Sequence[RowFault], name: str) -> list[RowFault]:
    """Name the column in what is said of labels."""
    return [RowFault(fault.row, fault.what.replace("label", f"target {name}", 1)) for fault in faults]


def _out_of_range(values: "Array", *, transform: str, loss: str) -> "Array":
    if transform in _LOWEST:
        return values <= _LOWEST[transform]
    if loss == "gamma":
        return values <= 0
    return values < 0 if loss == "poisson" else np.zeros(len(values), bool)
