"""Tables as TFRecord files of `tf.train.Example`, one feature a column under the column's own name."""

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import pyarrow as pa

from burnish.data.codecs.example import Feature, FeatureKind, serialise_example
from burnish.data.codecs.tfrecord import write_records
from burnish.errors import DataError

_ROWS_AT_ONCE = 10_000
_Make = Callable[[Any], Feature]


def write_examples(stream: BinaryIO, table: pa.Table) -> int:
    """Write every row as one record; give how many."""
    return write_records(stream, examples(table))


def examples(table: pa.Table) -> Iterator[bytes]:
    """Give every row serialised: floats as `float`, whole numbers and booleans as `int64`, text as `bytes`.

    A list column gives a feature of several values without its nulls; a null in any other column gives no feature.
    """
    makers = [_maker(field) for field in table.schema]
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            given = zip(table.column_names, makers, values, strict=True)
            yield serialise_example({name: make(value) for name, make, value in given if value is not None})


def _maker(field: pa.Field) -> _Make:
    is_list = pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
    kind = _kind(field.type.value_type if is_list else field.type)
    if kind is None:
        raise DataError(
            f"the column `{field.name}` holds {field.type}; a tf.train.Example holds numbers, booleans, text or "
            "bytes, or lists of these"
        )
    found = kind
    return lambda value: Feature(
        found, tuple(_plain(each) for each in (value if is_list else (value,)) if each is not None)
    )


def _kind(kind: pa.DataType) -> FeatureKind | None:
    if pa.types.is_floating(kind):
        return "float"
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "int64"
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return "bytes" if any(is_(kind) for is_ in texts) else None


def _plain(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else int(value) if isinstance(value, bool) else value
