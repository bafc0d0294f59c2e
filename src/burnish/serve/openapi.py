"""Describes the API in OpenAPI 3.1, with the real fields of each model and examples that it was trained on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from burnish import __version__
from burnish.artifact.signature import InputField, Signature
from burnish.data.codecs.columns import CONTENT_TYPES
from burnish.serve.model import ServedModel

_TYPES: Mapping[str, Mapping[str, Any]] = {
    "number": {"type": ["number", "string", "null"]},
    "integer": {"type": ["integer", "string", "null"]},
    "boolean": {"type": ["boolean", "string", "integer", "null"]},
    "category": {"type": ["string", "number", "boolean", "null"]},
    "date": {"type": ["string", "null"]},
    "text": {"type": ["string", "number", "boolean"]},
    "texts": {"type": ["array", "string"], "items": {"type": "string"}},
    "words": {"type": ["array", "string"], "items": {"type": "string"}},
}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {"type": "string", "description": "What is wrong, in a sentence."},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "row": {"type": "integer"},
                    "field": {"type": "string"},
                    "line": {"type": "integer"},
                    "error": {"type": "string"},
                },
            },
        },
    },
}
_MISSING = {
    "name": "missing",
    "in": "query",
    "description": "Whether rows may lack inputs that every training row had; the answer then has `Burnish-Notes`.",
    "schema": {"type": "string", "enum": ["refuse", "allow"], "default": "refuse"},
}
_NOTES = {
    "description": "With `missing=allow`, what was missing and what took its place: a JSON list of sentences.",
    "schema": {"type": "string"},
}
_REFUSALS = {
    400: "The body cannot be read.",
    401: "The key is missing or wrong.",
    408: "The body did not arrive in time.",
    413: "The body or the number of rows is too large.",
    415: "The content type names no format of rows.",
    422: "Rows cannot be used; every one is named.",
    503: "The queue is full, or the server is shutting down.",
}


def describe_api(
    models: Sequence[ServedModel], paths: Mapping[str, tuple[ServedModel, bool]], *, has_keys: bool
) -> Mapping[str, Any]:
    """Write the whole description."""
    schemas = {model.name: _row_schema(model.predictor.signature) for model in models}
    asked = {path: {"post": _predict(path, *asked)} for path, asked in paths.items()}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Burnish", "version": __version__, "description": f"Serves {', '.join(schemas)}."},
        "paths": {**asked, **_facts([*schemas])},
        "components": {"schemas": {**{f"{name}_row": schema for name, schema in schemas.items()}, "error": _ERROR}},
    }
    if has_keys:
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
    return document


def _predict(path: str, model: ServedModel, is_torchserve: bool) -> dict[str, Any]:
    signature = model.predictor.signature
    row = {"$ref": f"#/components/schemas/{model.name}_row"}
    body = {"type": "object", "required": ["instances"], "properties": {"instances": {"type": "array", "items": row}}}
    example = {"instances": [_example(signature)]}
    plain = {name: {"schema": {"type": "string"}} for name in CONTENT_TYPES if name != "application/json"}
    partial = {
        "name": "partial",
        "in": "query",
        "description": "Answer the good rows, with errors in the places of the bad ones.",
        "schema": {"type": "boolean", "default": False},
    }
    return {
        "operationId": path.strip("/").replace("/", "_").replace(":", "_"),
        "summary": f"Predict rows with {model.name}" + (", as TorchServe does" if is_torchserve else ""),
        "parameters": [partial, _MISSING],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": body, "example": example}, **plain},
        },
        "responses": {"200": _answers(signature, is_torchserve=is_torchserve), **_refusals(_REFUSALS)},
    }


def _row_schema(signature: Signature) -> dict[str, Any]:
    fields = {field.name: _field(field) for field in signature.inputs}
    required = [field.name for field in signature.inputs if field.is_required]
    forms: list[dict[str, Any]] = [{"type": "object", "properties": fields, "required": required}]
    if signature.list_order is not None:
        forms.append({"type": "array", "minItems": len(signature.list_order), "maxItems": len(signature.list_order)})
    if signature.text_input is not None:
        forms.append({"type": "string"})
    return {"anyOf": forms, "examples": [_example(signature)]}


def _field(field: InputField) -> dict[str, Any]:
    parts: list[str] = [field.kind]
    if field.seen is not None:
        parts.append(f"{field.seen.lowest:g} to {field.seen.highest:g} in training")
    if field.values:
        parts.append(f"in training {', '.join(field.values[:20])}{', …' * (len(field.values) > 20)}")
    schema: dict[str, Any] = {**_TYPES[field.kind], "description": "; ".join(parts)}
    if field.default is not None:
        schema["default"] = field.default
    if field.example is not None:
        schema["examples"] = [field.example]
    return schema


def _example(signature: Signature) -> Mapping[str, Any]:
    return {field.name: field.example for field in signature.inputs if field.example is not None}


def _answers(signature: Signature, *, is_torchserve: bool) -> dict[str, Any]:
    classes = signature.answer.classes
    is_number = signature.answer.kind == "number"
    predicted: dict[str, Any] = {"type": "number"} if is_number else {}
    name = predicted
    if classes and signature.answer.kind == "class":
        predicted = {"type": "string", "enum": [label.value for label in classes]}
        name = {"type": "string", "enum": [label.name for label in classes]}
    named = {"predicted_name": name} if "predicted_name" in signature.answer.fields else {}
    answer = {"type": "object", "properties": {"predicted": predicted, **named, "error": {"type": "string"}}}
    items = {"anyOf": [name, answer]} if is_torchserve else answer
    schema = {"type": "object", "properties": {"predictions": {"type": "array", "items": items}}}
    others = {kind: {"schema": {"type": "string"}} for kind in ("application/jsonl", "text/csv", "text/plain")}
    return {
        "description": "An answer for each row.",
        "headers": {"Burnish-Notes": _NOTES},
        "content": {"application/json": {"schema": schema}, **others},
    }


def _refusals(statuses: Mapping[int, str]) -> dict[str, Any]:
    schema = {"schema": {"$ref": "#/components/schemas/error"}}
    return {
        str(status): {"description": why, "content": {"application/json": schema}} for status, why in statuses.items()
    }


def _facts(names: Iterable[str]) -> dict[str, Any]:
    """Describe what is asked with GET."""
    summaries = {
        "/health/live": "Whether the process lives",
        "/health/ready": "Whether requests are taken",
        "/ping": "The same, as TorchServe answers it",
        "/metrics": "Counters for Prometheus",
        "/v1/models": "The names of the models",
        **{f"/v1/models/{name}": f"Whether {name} is ready" for name in names},
        **{f"/v1/models/{name}/signature": f"What {name} takes and answers" for name in names},
        **{f"/v1/models/{name}/examples": f"Rows to try {name} with" for name in names},
    }
    refusals = _refusals({status: _REFUSALS[status] for status in (401, 503)})
    return {
        path: {
            "get": {
                "operationId": path.strip("/").replace("/", "_"),
                "summary": summary,
                "responses": {"200": {"description": summary}, **refusals},
            }
        }
        for path, summary in summaries.items()
    }
