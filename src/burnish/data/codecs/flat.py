"""Tables without nested columns, as CSV needs them."""

import json

import pyarrow as pa


def flat(table: pa.Table) -> pa.Table:
    """Give a column of probabilities as one column a class, and any other nested column as JSON."""
    nested = [field.name for field in table.schema if pa.types.is_nested(field.type)]
    for name in nested:
        column = table[name].combine_chunks()
        at = table.column_names.index(name)
        table = table.remove_column(at)
        if _is_probabilities(column.type):
            for field, values in zip(column.type, column.flatten(), strict=True):
                table = table.append_column(free_name(f"probability_{field.name}", table), values)
        else:
            written = [json.dumps(value, ensure_ascii=False, default=str) for value in column.to_pylist()]
            table = table.append_column(name, pa.array(written))
    return table


def _is_probabilities(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind)) and all(pa.types.is_floating(field.type) for field in kind)


def free_name(name: str, table: pa.Table) -> str:
    """Give a column's name, or a longer one if the table has a column of that name."""
    while name in table.column_names:
        name = f"burnish_{name}"
    return name
