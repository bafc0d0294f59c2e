"""`launch.overlay`: what a user lays over a request to Vertex AI, judged by the message types of its client."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from burnish.errors import ConfigError, Problem
from burnish.extras import require
from burnish.nearest import nearest

_OPTION = "launch.overlay"
_KINDS = {"customJobs": "CustomJob", "hyperparameterTuningJobs": "HyperparameterTuningJob"}
_RENAMED = {"hyperparameterTuningJobs": {"jobSpec": "trialJobSpec"}}
"""What a search calls a part of a job."""
_OWN_JSON = "google.protobuf."
"""Messages that are written in JSON in a way of their own, such as a duration as `600s`."""


def apply_overlay(kind: str, body: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """Lay an overlay over the body of a request; refuse every name and value that the service would not know."""
    if not overlay:
        return dict(body)
    renamed = {_RENAMED.get(kind, {}).get(name, name): value for name, value in overlay.items()}
    api = require("google.cloud.aiplatform_v1", extra="vertex", why=f"to judge {_OPTION}")
    message = getattr(api, _KINDS[kind])
    described = message.pb(message()).DESCRIPTOR
    problems = [*_find_problems(described, renamed, path="")]
    found: dict[str, Any] = _lay_over(body, _read_booleans(described, renamed))
    problems = problems or _parse(message, found)
    if problems:
        raise ConfigError([Problem(each) for each in problems], subject="the launch")
    return found


def _lay_over(below: Any, above: Any) -> Any:
    """Merge mappings; one over a list is laid over each of its items, a list over a list item by item."""
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        return {**below, **{name: _lay_over(below.get(name), value) for name, value in above.items()}}
    if isinstance(below, list) and isinstance(above, Mapping):
        return [_lay_over(each, above) for each in below]
    if isinstance(below, list) and isinstance(above, list | tuple) and len(above) <= len(below):
        merged = [_lay_over(*pair) for pair in zip(below, above, strict=False)]
        return merged + below[len(above) :]
    return above


def _find_problems(message: Any, value: Mapping[str, Any], *, path: str) -> Iterator[str]:
    """Compare names, and the words of enums, with what a message type knows."""
    fields = {name: each for each in message.fields for name in (each.json_name, each.name)}
    for name, each in value.items():
        where = f"{path}.{name}".lstrip(".")
        field = fields.get(name)
        if field is None:
            known = [one.json_name for one in message.fields]
            close = nearest(name, known)
            hint = f"did you mean `{close}`?" if close else f"there are {', '.join(known)}"
            yield f"{_OPTION}.{where}: {message.name} of Vertex AI has no `{name}`; {hint}"
            continue
        items = each if isinstance(each, list | tuple) else [each]
        for item in items:
            yield from _find_problems_of_field(field, item, path=where)


def _find_problems_of_field(field: Any, value: Any, *, path: str) -> Iterator[str]:
    if field.message_type is not None and isinstance(value, Mapping):
        is_map = field.message_type.GetOptions().map_entry
        if not is_map and not field.message_type.full_name.startswith(_OWN_JSON):
            yield from _find_problems(field.message_type, value, path=path)
    elif field.enum_type is not None and isinstance(value, str):
        known = [one.name for one in field.enum_type.values]
        if value not in known:
            close = nearest(value, known)
            hint = f"did you mean {close}?" if close else f"there are {', '.join(known)}"
            yield f"{_OPTION}.{path}: {field.enum_type.name} of Vertex AI has no {value}; {hint}"


def _read_booleans(message: Any, value: Any) -> Any:
    """Read `true` and `false` where a field has them: options without a type are kept as they were written."""
    if isinstance(value, list | tuple):
        return [_read_booleans(message, each) for each in value]
    if not isinstance(value, Mapping):
        return value
    fields = {name: each for each in message.fields for name in (each.json_name, each.name)}
    found: dict[str, Any] = {}
    for name, each in value.items():
        field = fields.get(name)
        if field is None:
            found[name] = each
        elif field.message_type is not None:
            found[name] = _read_booleans(field.message_type, each)
        elif field.type == field.TYPE_BOOL and each in ("true", "false"):
            found[name] = each == "true"
        else:
            found[name] = each
    return found


def _parse(message: Any, body: Mapping[str, Any]) -> list[str]:
    """Let the client read the whole request, which finds values of another type."""
    json_format = require("google.protobuf.json_format", extra="vertex", why=f"to judge {_OPTION}")
    try:
        json_format.Parse(json.dumps(body, default=str), message.pb(message()))
    except json_format.ParseError as error:
        return [f"{_OPTION} does not fit into the request: {str(error).partition(chr(10))[0]}"]
    return []
