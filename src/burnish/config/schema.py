"""Describes every option as one JSON Schema document, for editors."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import TypeAdapter

from burnish.config.resolve import ASIDE
from burnish.config.shape import FieldShape, describe_fields
from burnish.errors import BurnishError
from burnish.registry import Listing, Registry, default_registry
from burnish.spec.component import Component, Slot
from burnish.spec.experiment import Experiment

Schema = dict[str, Any]

_ADDRESS = r"^[\w.]+:[A-Za-z_]\w*$"
_YES_NO = ["yes", "no", "on", "off"]


def schema(*, registry: Registry | None = None) -> Schema:
    """Describe an experiment; nothing is required, because a file may be one layer of several."""
    writer = _Writer(registry or default_registry())
    aside: dict[str, Schema] = {key: {"type": "object"} for key in ASIDE}
    root = writer.section(Experiment, extra=aside)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Burnish experiment",
        **root,
        "$defs": dict(sorted(writer.definitions.items())),
    }


class _Writer:
    """Write schemas of components, each kind of slot once."""

    def __init__(self, registry: Registry) -> None:
        self.definitions: Schema = {}
        self._registry = registry

    def section(self, cls: type[Component], *, extra: Mapping[str, Schema] | None = None) -> Schema:
        options = {name: self._option(shape) for name, shape in describe_fields(cls).items()}
        return {
            "type": "object",
            "description": next(iter((cls.__doc__ or "").strip().splitlines()), ""),
            "properties": {**(extra or {}), **options},
            "additionalProperties": False,
        }

    def _option(self, shape: FieldShape) -> Schema:
        if shape.is_plain:
            form: Any = Annotated[shape.info.annotation, shape.info]
            written = TypeAdapter(form).json_schema()
            self.definitions.update({name: _loosen(each) for name, each in written.pop("$defs", {}).items()})
            loose: Schema = _loosen(written)
            if not shape.wants_list:
                return loose
            return {"anyOf": [loose, {"type": ["string", "number", "boolean", "null"]}]}  # a list of one, or of none
        one = self._slot(shape.slot) if shape.slot else self._nested(shape.component)
        forms = [one, {"type": "array", "items": one}] if shape.is_many else [one]
        if shape.is_named:
            return {"type": "object", "additionalProperties": {"anyOf": forms}}
        return {"anyOf": [*forms, {"type": "null"}]} if len(forms) > 1 or not shape.info.is_required() else one

    def _nested(self, cls: type[Component] | None) -> Schema:
        assert cls is not None  # a shape that is not plain has a slot or a component
        key = cls.__name__
        if key not in self.definitions:
            self.definitions[key] = {}  # a section inside itself ends here
            short = [{"type": ["string", "number", "boolean"]}] if cls.shorthand else []
            self.definitions[key] = {"anyOf": [*short, self.section(cls)]}
        return {"$ref": f"#/$defs/{key}"}

    def _slot(self, slot: Slot) -> Schema:
        key = f"slot.{slot.kind}"
        if key not in self.definitions:
            self.definitions[key] = {}  # a slot inside itself ends here
            self.definitions[key] = self._alternatives(slot.kind)
        return {"$ref": f"#/$defs/{key}"}

    def _alternatives(self, kind: str) -> Schema:
        """Offer a bare name, `type` + the options of that type, or options alone for a layer over another."""
        typed: list[Schema] = []
        keys: dict[str, Schema] = {}
        for listing in self._registry.names(kind):
            try:
                cls = self._registry.load(kind, listing.name)
            except BurnishError:
                continue  # a broken plug-in costs its own entry only
            typed.append({**self.section(cls, extra={"type": _name_type(listing)}), "required": ["type"]})
            keys |= {key: {} for key in describe_fields(cls)}
        names = [word for each in self._registry.names(kind) for word in (each.name, *each.aliases)]
        return {
            "oneOf": [
                {"type": ["string", "number"], "examples": names},
                *typed,
                {"type": "object", "properties": {"type": {"pattern": _ADDRESS}}, "required": ["type"]},
                {"type": "object", "not": {"required": ["type"]}, "properties": keys, "additionalProperties": False},
            ]
        }


def _name_type(listing: Listing) -> Schema:
    return {"enum": [listing.name, *listing.aliases]} if listing.aliases else {"const": listing.name}


def _loosen(value: Any) -> Any:
    """Admit what an editor's YAML reads as another type though our reader takes its text."""
    if isinstance(value, list):
        return [_loosen(each) for each in value]
    if not isinstance(value, dict):
        return value
    loose = {key: _loosen(each) for key, each in value.items()}
    if loose.get("type") == "string" and "enum" not in loose and "const" not in loose:
        return {**loose, "type": ["string", "number", "boolean"]}
    if loose.get("type") == "boolean":
        kept = {key: each for key, each in loose.items() if key != "type"}
        return {**kept, "anyOf": [{"type": "boolean"}, {"enum": _YES_NO}]}
    return loose
