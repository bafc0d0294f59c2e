"""An independent `tf.train.Example`: the message described to Google's own protobuf library, if that is installed."""

from functools import cache
from typing import Any

import pytest

_LABELS = {"one": 1, "many": 3}
_TYPES = {"float": 2, "int64": 3, "string": 9, "message": 11, "bytes": 12}


@cache
def example_class() -> type[Any]:
    """Give the message class, or skip the test."""
    pytest.importorskip("google.protobuf", reason="the package protobuf is the oracle, and it is not installed")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="oracle/example.proto", package="oracle", syntax="proto3")
    _message(file, "BytesList", ("value", 1, "many", "bytes", ""))
    _message(file, "FloatList", ("value", 1, "many", "float", ""))
    _message(file, "Int64List", ("value", 1, "many", "int64", ""))
    lists = [("bytes_list", 1, "BytesList"), ("float_list", 2, "FloatList"), ("int64_list", 3, "Int64List")]
    feature = _message(file, "Feature", *((name, n, "one", "message", f".oracle.{kind}") for name, n, kind in lists))
    feature.oneof_decl.add(name="kind")
    for field in feature.field:
        field.oneof_index = 0
    features = _message(file, "Features", ("feature", 1, "many", "message", ".oracle.Features.FeatureEntry"))
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    _fields(entry, ("key", 1, "one", "string", ""), ("value", 2, "one", "message", ".oracle.Feature"))
    _message(file, "Example", ("features", 1, "one", "message", ".oracle.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("oracle.Example"))


def as_pairs(message: Any) -> dict[str, tuple[str | None, tuple[Any, ...]]]:
    """Give what a message holds as plain values."""
    found = {}
    for name, feature in message.features.feature.items():
        which = feature.WhichOneof("kind")
        values = tuple(getattr(feature, which).value) if which else ()
        found[name] = (which.removesuffix("_list") if which else None, values)
    return found


def _message(file: Any, name: str, *fields: tuple[str, int, str, str, str]) -> Any:
    message = file.message_type.add(name=name)
    _fields(message, *fields)
    return message


def _fields(message: Any, *fields: tuple[str, int, str, str, str]) -> None:
    for name, number, label, kind, type_name in fields:
        field = message.field.add(name=name, number=number, label=_LABELS[label], type=_TYPES[kind])
        if type_name:
            field.type_name = type_name
