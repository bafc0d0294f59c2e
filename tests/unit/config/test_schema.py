import json
from typing import Any

from burnish.config.schema import schema
from tests.unit.config.fakes import fake_registry

DOCUMENT = schema(registry=fake_registry())


def typed(kind: str, name: str) -> dict[str, Any]:
    for each in DOCUMENT["$defs"][f"slot.{kind}"]["oneOf"]:
        kind_of = each.get("properties", {}).get("type", {})
        if name in (kind_of.get("const"), *kind_of.get("enum", ())):
            return dict(each)
    raise KeyError(name)


def references(part: object) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*map(references, part.values()))
    return set().union(*map(references, part)) if isinstance(part, list) else set()


def test_it_is_json_and_every_reference_leads_somewhere() -> None:
    json.dumps(DOCUMENT)
    assert references(DOCUMENT) <= {f"#/$defs/{name}" for name in DOCUMENT["$defs"]}


def test_every_section_refuses_unknown_keys() -> None:
    assert DOCUMENT["additionalProperties"] is False
    assert typed("models", "transformer")["additionalProperties"] is False


def test_each_type_lists_its_own_options_with_a_description() -> None:
    task = typed("tasks", "guess")
    assert task["description"] == "Guess a label."
    assert task["required"] == ["type"]
    assert {"type", "text", "max_length", "truncation"} <= set(task["properties"])
    assert task["properties"]["max_length"]["maximum"] == 512


def test_an_alias_is_a_legal_type() -> None:
    assert typed("truncations", "e")["properties"]["type"]["enum"] == ["ends", "e"]


def test_a_text_option_may_look_like_a_number_or_a_yes() -> None:
    assert set(typed("tasks", "guess")["properties"]["text"]["type"]) == {"string", "number", "boolean"}
    assert {"enum": ["yes", "no", "on", "off"]} in typed("models", "line")["properties"]["bias"]["anyOf"]


def test_a_slot_offers_exactly_one_form_with_and_one_without_type() -> None:
    *_, by_address, untyped = DOCUMENT["$defs"]["slot.data"]["oneOf"]
    assert by_address["properties"]["type"]["pattern"]
    assert untyped["not"] == {"required": ["type"]}
    assert {"path", "set", "dir"} <= set(untyped["properties"])
