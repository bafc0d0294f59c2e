"""Rows as serialised tf.train.Example: one message, a TFRecord of them, or one in base64 a line."""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.codecs.answers import as_json_lines
from burnish.data.codecs.columns import ColumnSpec
from burnish.data.codecs.convert import Unfit, from_base64
from burnish.data.codecs.decoded import DEFAULT_LIMITS, NAME, DecodedRows, Limits, gather
from burnish.data.codecs.example import Feature, WireError, parse_example
from burnish.data.codecs.tfrecord import Record, is_tfrecord, read_records
from burnish.errors import DataError

_NO_TEXT = re.compile(rb"[^\t\n\r\x20-\x7e]")


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
            return gather(records, columns, read=_read)
        # a message with a feature in it has the byte 0x12 before each value, which no line of base64 has
        if payload.strip() and _NO_TEXT.search(payload) is None:
            limits.check_rows(payload.count(b"\n"), what="lines")
            lines = payload.split(b"\n")
            numbers = [line for line, text in enumerate(lines, start=1) if text.strip()]
            return gather([lines[number - 1].decode() for number in numbers], columns, read=_read, lines=numbers)
        return gather([Record(payload, is_whole=True)], columns, read=_read)

    def encode(self, rows: DecodedRows, answers: pa.Table) -> bytes:
        """Write one answer or error a line, as JSON."""
        return as_json_lines(rows, answers)


def _read(given: Record | str, names: Sequence[str]) -> Mapping[str, Any]:
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
    return {name: _value(each) for name, each in features.items() if each.values}


def _value(feature: Feature) -> Any:
    if feature.kind != "float":
        return feature.values[0]
    # The writer had 12.3, and 32 bits hold 12.300000190734863: take the shortest number that these bits stand for, so
    # that an Example and a CSV line of the same row give the same prediction.
    return float(str(np.float32(feature.values[0])))
