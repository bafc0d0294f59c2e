"""Decimal commas in tables of text: finds them, and turns them into points."""

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.columns.number_text import comma_to_point, is_with_comma
from burnish.data.columns.parse_columns import numbers
from burnish.errors import DataError

Decimal = Literal[".", ","]
_POINTED = r"^\s*[+-]?[0-9]*\.[0-9]+\s*$"


def with_points(table: pa.Table, *, name: str) -> pa.Table:
    """Write numbers with a decimal comma, in columns of text, with a point; refuse a column that has both."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            column = table.column(index)
            _refuse_both(column, where=f"{name}: the column `{field.name}`")
            table = table.set_column(index, field.name, _pointed(column))
    return table


def decimal_of(table: pa.Table, *, delimiter: str) -> Decimal:
    """Tell the decimal mark of a table of text: a comma if some column needs one, and none a point.

    1,234 alone may mean either; between semicolons, which stand in for commas in countries that need those for their
    numbers, it has a decimal comma.
    """
    found = {_mark(column) for column in table.columns if pa.types.is_string(column.type)}
    is_comma = "," in found or ("either" in found and delimiter == ";")
    return "," if is_comma and "." not in found else "."


def _pointed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([comma_to_point(chunk) for chunk in column.chunks], type=column.type)


def _refuse_both(column: pa.ChunkedArray, *, where: str) -> None:
    """Refuse a column of numbers in which a point is a decimal mark in one cell and none in another."""
    pointed = column.filter(pc.match_substring_regex(column, _POINTED))
    has_comma_form = is_with_comma(pointed)
    decimals, groups = pointed.filter(pc.invert(has_comma_form)), pointed.filter(has_comma_form)
    if len(decimals) and len(groups) and numbers(_pointed(column)).fits():
        raise DataError(
            f"{where} holds {decimals[0].as_py()!r} with a decimal point and {groups[0].as_py()!r}, which is "
            f"{comma_to_point(pa.array([groups[0].as_py()]))[0].as_py()} with data.decimal: ','; "
            "write the whole column in one way"
        )


def _mark(column: pa.ChunkedArray) -> str:
    """Tell which mark the numbers of a column need: a comma, a point, either, or none."""
    with_point, with_comma = numbers(column), numbers(_pointed(column))
    has_comma_form = is_with_comma(column)
    needs_point = pc.and_(pc.match_substring_regex(column, _POINTED), pc.invert(has_comma_form))
    if with_point.fits():
        if pc.any(needs_point).as_py():
            return "."
        has_comma = pc.and_(has_comma_form, pc.match_substring(column, ","))
        return "either" if pc.any(has_comma).as_py() else ""
    return "," if with_comma.fits() else ""
