"""Refuses columns whose type no text and no label can have, before anything is made of them."""

from collections.abc import Sequence

import pyarrow as pa

from burnish.errors import DataError

_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def is_list(kind: pa.DataType) -> bool:
    """Tell whether a column holds lists."""
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
