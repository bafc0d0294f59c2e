"""`tf.train.Example` by protobuf, without TensorFlow: one message, a table of them, rows that are sent."""

import io
import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO, Literal

import numpy as np
import pyarrow as pa

from burnish.data.codecs.answers import as_json_lines
from burnish.data.codecs.columns import ColumnSpec
from burnish.data.codecs.convert import Unfit, from_base64
from burnish.data.codecs.decoded import DEFAULT_LIMITS, NAME, DecodedRows, Limits, gather
from burnish.data.codecs.tfrecord import Record, is_tfrecord, read_records, write_records
from burnish.errors import DataError
from burnish.extras import require

FeatureKind = Literal["bytes", "float", "int64"]
_KINDS: Mapping[str, FeatureKind] = {"bytes_list": "bytes", "float_list": "float", "int64_list": "int64"}
_ROWS_AT_ONCE = 10_000
_WHY = "to read or write tf.train.Example"
_NO_TEXT = re.compile(rb"[^\t\n\r\x20-\x7e]")


def _schema() -> list[dict[str, Any]]:
    """Describe `tf.train.Example` as TensorFlow's example.proto does."""
    entry = {
        "name": "FeatureEntry",
        "field": [_field("key", 1, "TYPE_STRING"), _field("value", 2, "Feature")],
        "options": {"mapEntry": True},
    }
    return [
        *(
            {"name": f"{name}List", "field": [_field("value", 1, f"TYPE_{name.upper()}", is_list=True)]}
            for name in ("Bytes", "Float", "Int64")
        ),
        {
            "name": "Feature",
            "field": [
                _field(f"{name.lower()}_list", number, f"{name}List", oneofIndex=0)
                for number, name in enumerate(("Bytes", "Float", "Int64"), start=1)
            ],
            "oneofDecl": [{"name": "kind"}],
        },
        {
            "name": "Features",
            "field": [_field("feature", 1, "Features.FeatureEntry", is_list=True)],
            "nestedType": [entry],
        },
        {"name": "Example", "field": [_field("features", 1, "Features")]},
    ]


def _field(name: str, number: int, kind: str, *, is_list: bool = False, **more: Any) -> dict[str, Any]:
    if not kind.startswith("TYPE_"):
        more |= {"typeName": f".burnish.{kind}"}
        kind = "TYPE_MESSAGE"
    return {
        "name": name,
        "number": number,
        "type": kind,
        "label": f"LABEL_{'REPEATED' if is_list else 'OPTIONAL'}",
        **more,
    }


@dataclass(frozen=True)
class Feature:
    """A list of values of one kind; no kind and no values if the message names none."""

    kind: FeatureKind | None = None
    values: tuple[bytes, ...] | tuple[float, ...] | tuple[int, ...] = ()


def parse_example(data: bytes, *, wanted: Collection[str] | None = None) -> dict[str, Feature]:
    """Read a message, or raise WireError; only the features that are wanted are given."""
    message = _example_class()()
    try:
        message.ParseFromString(data)
    except require("google.protobuf.message", extra="tfrecord", why=_WHY).DecodeError as error:
        raise WireError("its bytes are no such message") from error
    features = message.features.feature
    return {name: _read(features[name]) for name in features if wanted is None or name in wanted}


def serialise_example(features: Mapping[str, Feature]) -> bytes:
    """Write a message; features are in the order of their names, so equal features give equal bytes."""
    message = _example_class()()
    for name, feature in features.items():
        entry = message.features.feature[name]
        if feature.kind is None:
            continue
        values = getattr(entry, f"{feature.kind}_list")
        values.SetInParent()
        try:
            if feature.kind == "float":  # refuses what 32 bits cannot hold, which protobuf would make infinite
                struct.pack(f"<{len(feature.values)}f", *feature.values)
            values.value.extend(feature.values)
        except (ValueError, OverflowError) as error:
            raise DataError(f"the feature `{name}` holds a number that does not fit: {error}") from error
    return bytes(message.SerializeToString(deterministic=True))


def _read(entry: Any) -> Feature:
    kind = entry.WhichOneof("kind")
    return Feature() if kind is None else Feature(_KINDS[kind], tuple(getattr(entry, kind).value))


class WireError(ValueError):
    """Say why bytes are no message."""


@cache
def _example_class() -> Any:
    """Make the class of tf.train.Example from its description, in a pool that no other library shares."""
    json_format = require("google.protobuf.json_format", extra="tfrecord", why=_WHY)
    descriptor_pb2 = require("google.protobuf.descriptor_pb2", extra="tfrecord", why=_WHY)
    descriptor_pool = require("google.protobuf.descriptor_pool", extra="tfrecord", why=_WHY)
    message_factory = require("google.protobuf.message_factory", extra="tfrecord", why=_WHY)
    described = {"name": "example.proto", "package": "burnish", "syntax": "proto3", "messageType": _schema()}
    file = json_format.ParseDict(described, descriptor_pb2.FileDescriptorProto())
    own = descriptor_pool.DescriptorPool()
    own.Add(file)
    return message_factory.GetMessageClass(own.FindMessageTypeByName("burnish.Example"))


def write_examples(stream: BinaryIO, table: pa.Table) -> int:
    """Write every row as one record; give how many."""
    return write_records(stream, examples(table))


def examples(table: pa.Table) -> Iterator[bytes]:
    """Serialise every row: floats as `float`, whole numbers and booleans as `int64`, text as `bytes`.

    A list column gives a feature of several values without its nulls; a null in any other column gives no feature.
    """
    makers = [_maker(field) for field in table.schema]
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            given = zip(table.column_names, makers, values, strict=True)
            yield serialise_example({name: make(value) for name, make, value in given if value is not None})


def _maker(field: pa.Field) -> Callable[[Any], Feature]:
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


@dataclass(frozen=True)
class Examples:
    """Tell by the first bytes which of the three it is: no message looks like a TFRecord or like base64."""

    def decode(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> DecodedRows:
        """Read every message; the names of its features are those of the columns."""
        if not payload:
            raise DataError(f"{NAME} is empty")
        if is_tfrecord(payload):
            records = list(read_records(io.BytesIO(payload), name=NAME))
            limits.check_rows(len(records), what="records")
            return gather(records, columns, read=_read_row)
        # a message with a feature in it has the byte 0x12 before each value, which no line of base64 has
        if payload.strip() and _NO_TEXT.search(payload) is None:
            limits.check_rows(payload.count(b"\n"), what="lines")
            lines = payload.split(b"\n")
            numbers = [line for line, text in enumerate(lines, start=1) if text.strip()]
            return gather([lines[number - 1].decode() for number in numbers], columns, read=_read_row, lines=numbers)
        return gather([Record(payload, is_whole=True)], columns, read=_read_row)

    def encode(self, rows: DecodedRows, answers: pa.Table) -> bytes:
        """Write one answer or error a line, as JSON."""
        return as_json_lines(rows, answers)


def _read_row(given: Record | str, names: Sequence[str]) -> Mapping[str, Any]:
    if isinstance(given, str):
        return example_row(from_base64(given), names)
    if not given.is_whole:
        raise Unfit("its bytes are not those that were written: the checksum differs")
    return example_row(given.data, names)


def example_row(data: bytes, names: Sequence[str]) -> Mapping[str, Any]:
    """Read the value of each feature that is a column; a feature without values is a missing value."""
    try:
        features = parse_example(data, wanted=names)
    except WireError as error:
        raise Unfit(f"is not a tf.train.Example: {error}") from error
    several = [(name, len(each.values)) for name, each in features.items() if len(each.values) > 1]
    if several:
        raise Unfit("; ".join(f"`{name}` holds {count} values where one is expected" for name, count in several))
    return {name: _row_value(each) for name, each in features.items() if each.values}


def _row_value(feature: Feature) -> Any:
    if feature.kind != "float":
        return feature.values[0]
    # The writer had 12.3, and 32 bits hold 12.300000190734863: take the shortest number that these bits stand for, so
    # that an Example and a CSV line of the same row give the same prediction.
    return float(str(np.float32(feature.values[0])))
