"""Computes an expression over whole columns; nan stands for a missing value and spreads through everything."""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.columns.datetimes import take_part
from burnish.data.columns.expression import PARTS, Expression, find_column, is_text
from burnish.data.columns.parse_columns import parse_numbers, parse_times, parse_words
from burnish.spec.values import Array


class Columns(Protocol):
    """Columns by name, each read as what an expression takes it for."""

    def number(self, name: str) -> "Array":
        """Read a column as float64, nan where missing."""
        ...

    def text(self, name: str) -> pa.Array:
        """Read a column as strings, null where missing."""
        ...

    def time(self, name: str) -> "Array":
        """Read a column as seconds since 1970, nan where missing."""
        ...

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table as they are; a cell that cannot be read counts as missing."""

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def number(self, name: str) -> "Array":
        """Read a column as numbers."""
        return parse_numbers(self.table[name]).values

    def text(self, name: str) -> pa.Array:
        """Read a column as strings."""
        read = parse_words(self.table[name])
        return read.values.take(pa.array(read.codes, mask=read.codes < 0))

    def time(self, name: str) -> "Array":
        """Read a column as times."""
        return parse_times(self.table[name]).values


_BINARY: "Mapping[type[ast.AST], Callable[[Array, Array], Array]]" = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}
_COMPARE: Mapping[type[ast.AST], Callable[..., "Array"]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_PLAIN: "Mapping[str, Callable[..., Array]]" = {
    "log": np.log,
    "log1p": np.log1p,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "sin": np.sin,
    "cos": np.cos,
}


def evaluate(expression: Expression, columns: Columns) -> "Array":
    """Compute one float a row: truth is 1.0, falsehood 0.0; what is missing, infinite or no real number is nan."""
    with np.errstate(all="ignore"):
        values = _Evaluation(columns).value(expression.tree)
    return np.where(np.isfinite(values), values, np.nan)


class _Evaluation:
    """Walk an expression; every value is a float64 array as long as the table."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def value(self, node: ast.expr) -> "Array":
        name = find_column(node)
        if name is not None:
            return self._columns.number(name)
        if isinstance(node, ast.Constant):
            return np.full(len(self._columns), _number(node.value))
        if isinstance(node, ast.BinOp):
            return _keep_finite(_BINARY[type(node.op)](self.value(node.left), self.value(node.right)))
        if isinstance(node, ast.UnaryOp):
            value = self.value(node.operand)
            if isinstance(node.op, ast.Not):
                return _keep_known((value == 0).astype(np.float64), value)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.Compare):
            return self._compared(node)
        if isinstance(node, ast.BoolOp):
            values = [self.value(each) for each in node.values]
            truths = np.stack(values) != 0
            joined = truths.all(axis=0) if isinstance(node.op, ast.And) else truths.any(axis=0)
            return _keep_known(joined.astype(np.float64), *values)
        if isinstance(node, ast.IfExp):
            return _choose(*(self.value(each) for each in (node.test, node.body, node.orelse)))
        assert isinstance(node, ast.Call)  # nothing else passes the parser
        assert isinstance(node.func, ast.Name)
        return self._called(node.func.id, node.args)

    def _compared(self, node: ast.Compare) -> "Array":
        sides = [node.left, *node.comparators]
        steps = zip(node.ops, sides, sides[1:], strict=False)
        results = [self._comparison(each, left, right) for each, left, right in steps]
        return _keep_known(np.asarray(np.stack(results).all(axis=0), np.float64), *results)

    def _comparison(self, operation: ast.cmpop, left: ast.expr, right: ast.expr) -> "Array":
        if isinstance(operation, ast.In | ast.NotIn):
            found = self._within(left, right)
            return found if isinstance(operation, ast.In) else 1 - found
        if is_text(left) or is_text(right):
            first, second = self._text(left), self._text(right)
            names = {
                ast.Eq: "equal",
                ast.NotEq: "not_equal",
                ast.Lt: "less",
                ast.LtE: "less_equal",
                ast.Gt: "greater",
                ast.GtE: "greater_equal",
            }
            return _mark_unknown(pc.call_function(names[type(operation)], [first, second]), first, second)
        first, second = self.value(left), self.value(right)
        return _keep_known(_COMPARE[type(operation)](first, second).astype(np.float64), first, second)

    def _within(self, left: ast.expr, right: ast.expr) -> "Array":
        assert isinstance(right, ast.Tuple | ast.List)
        wanted = [each.value for each in right.elts if isinstance(each, ast.Constant)]
        if is_text(left) or any(isinstance(each, str) for each in wanted):
            text = self._text(left)
            found = pc.is_in(text, value_set=pa.array(list(map(_write, wanted)), pa.string()))
            return _mark_unknown(found, text)
        value = self.value(left)
        return _keep_known(np.isin(value, [_number(each) for each in wanted]).astype(np.float64), value)

    def _text(self, node: ast.expr) -> pa.Array:
        if isinstance(node, ast.Constant):
            return pa.array([_write(node.value)]).take(pa.array(np.zeros(len(self._columns), np.int64)))
        name = find_column(node)
        if name is not None:
            return self._columns.text(name)
        if isinstance(node, ast.Call) and is_text(node):
            return pc.utf8_lower(self._text(node.args[0]))
        return pa.array(self.value(node), from_pandas=True).cast(pa.string())

    def _called(self, name: str, arguments: Sequence[ast.expr]) -> "Array":
        if name in PARTS:
            return take_part(self._columns.time(find_column(arguments[0]) or ""), PARTS[name])
        if name == "length":
            sizes = pc.utf8_length(self._text(arguments[0])).cast(pa.float64())
            return np.asarray(sizes.to_numpy(zero_copy_only=False))
        if name == "is_missing":
            return self._missing(arguments[0])
        return _keep_finite(_function(name, [self.value(each) for each in arguments]))

    def _missing(self, node: ast.expr) -> "Array":
        column = find_column(node)
        if column is None:
            return np.isnan(self.value(node)).astype(np.float64)
        return np.asarray(self._columns.text(column).is_null().to_numpy(zero_copy_only=False)).astype(np.float64)


def _function(name: str, values: "Sequence[Array]") -> "Array":
    if name in ("min", "max"):
        return np.asarray((np.minimum if name == "min" else np.maximum).reduce(np.stack(values)))
    if name == "clip":
        return np.asarray(np.minimum(np.maximum(values[0], values[1]), values[2]))
    if name == "fill":
        return np.where(np.isnan(values[0]), values[1], values[0])
    if name == "if_":
        return _choose(values[0], values[1], values[2])
    return _PLAIN[name](values[0])


def _choose(test: "Array", yes: "Array", no: "Array") -> "Array":
    return _keep_known(np.where(test != 0, yes, no), test)


def _keep_known(result: "Array", *operands: "Array") -> "Array":
    unknown = np.isnan(operands[0])
    for each in operands[1:]:
        unknown = unknown | np.isnan(each)
    return np.where(unknown, np.nan, result)


def _keep_finite(values: "Array") -> "Array":
    """Call what is no finite number missing at once: a division by zero must not come back as a comparison."""
    return np.where(np.isfinite(values), values, np.nan)


def _mark_unknown(found: pa.Array, *texts: pa.Array) -> "Array":
    values = np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False)).astype(np.float64)
    for text in texts:
        values = np.where(text.is_null().to_numpy(zero_copy_only=False), np.nan, values)
    return values


def _number(value: object) -> float:
    """Read a constant as a number; text that is none is missing."""
    try:
        return float(value)  # type: ignore[arg-type]  # what cannot be read is caught
    except (ValueError, OverflowError):
        return float("nan")


def _write(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
