"""Turns what pydantic says into our sentences: the path, what is right, the value, where it came from."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import ErrorDetails

from burnish.config.foreign import find_foreign
from burnish.config.nodes import Branch, Items, Leaf, Node, Path, child, find, one_line, write_path
from burnish.config.origins import Origin
from burnish.errors import Problem
from burnish.nearest import nearest
from burnish.spec.secret import SecretInConfig

_QUOTED = re.compile(r"`([\w.]+)`")
_WANTED: Mapping[str, str] = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of ordinary size",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list of different values",
    "dict_type": "a mapping",
    "model_type": "a section of options",
    "model_attributes_type": "a section of options",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "multiple_of": "a multiple of {multiple_of}",
    "string_too_short": "at least {min_length} characters long",
    "string_too_long": "at most {max_length} characters long",
    "string_pattern_mismatch": "text that matches {pattern}",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "literal_error": "one of {expected}",
    "enum": "one of {expected}",
    "none_required": "null",
}
"""What each of pydantic's complaints wants, to follow "must be"."""


def complaints(errors: Iterable[ErrorDetails], branch: Branch, *, path: Path) -> list[Problem]:
    """Write one problem a place; the forms of a union that all failed are joined by "or"."""
    places: dict[Path, list[ErrorDetails]] = {}
    for error in errors:
        places.setdefault(_place(error, branch), []).append(error)
    return [_problem(group, branch, place=place, path=path) for place, group in places.items()]


def origins(node: Node | None) -> tuple[str, ...]:
    """Say where a node came from; nothing for what nobody wrote."""
    return node.origin.lines() if node is not None else ()


def hide_values(node: Node | None) -> tuple[str, ...]:
    """Say where a node came from without what was written there, which may be a secret."""
    if node is None or node.origin.is_default:
        return ()
    option, equals, _ = node.origin.place.partition("=")
    return (f"set by {option}=… on the command line" if equals and node.origin.line is None else f"set by {option}",)


def _place(error: ErrorDetails, branch: Branch) -> Path:
    """Follow an error's location through what was written; parts that name a form of a union lead nowhere."""
    place: list[str | int] = []
    node: Node | None = branch
    for part in error["loc"]:
        below = child(node, part)
        if below is not None:
            place.append(part)
            node = below
        elif part == error["loc"][-1] and error["type"] in ("missing", "extra_forbidden"):
            place.append(part)
    return tuple(place)


def _problem(errors: list[ErrorDetails], branch: Branch, *, place: Path, path: Path) -> Problem:
    name = write_path((*path, *place)) or "the experiment"
    node = find(branch, place)
    if errors[0]["type"] == "missing":
        return Problem(f"{name} is required", _section(find(branch, place[:-1])))
    if any(isinstance(error.get("ctx", {}).get("error"), SecretInConfig) for error in errors):
        return Problem(f"{name} {_said(errors[0])}", hide_values(node))
    if not place:
        said = "; ".join(f"{name} {_said(error)}" for error in errors)
        return Problem(said, _named_members(branch, said) or _members(branch))
    return Problem(_sentence(name, errors, node), origins(node))


def _sentence(name: str, errors: list[ErrorDetails], node: Node | None) -> str:
    errors = _of_the_form(errors)
    wanted = dict.fromkeys(filter(None, map(_word_wanted, errors)))
    said = dict.fromkeys(_said(error) for error in errors if _word_wanted(error) is None)
    if wanted:
        said = {f"must be {' or '.join(wanted)}": None, **said}
    return f"{name} {'; or '.join(said)}{_got(node)}{_meant(name, errors, node)}"


def _of_the_form(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Leave out words such as `auto` for a value that was of the other form, and wrong in itself."""
    others = [error for error in errors if error["type"] != "literal_error"]
    is_of_form = any(not error["type"].endswith(("_parsing", "_type")) for error in others)
    return others if is_of_form else errors


def _word_wanted(error: ErrorDetails) -> str | None:
    if error["type"] == "literal_error" and len(_choices(error)) == 1:
        return _choices(error)[0]
    template = _WANTED.get(error["type"])
    context = dict(error.get("ctx", {}))
    if "expected" in context:
        context["expected"] = ", ".join(each if each[:1].isalnum() else f"'{each}'" for each in _choices(error))
    return template.format_map({key: _number(value) for key, value in context.items()}) if template else None


def _said(error: ErrorDetails) -> str:
    """Quote a validator's own sentence, or pydantic's for what we have no words for."""
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, Exception) and str(cause):
        return str(cause)
    return f"is refused: {error['msg'][:1].lower()}{error['msg'][1:]}"


def _choices(error: ErrorDetails) -> list[str]:
    """Read the choices from pydantic's text: `'a', 'b' or 'c'`."""
    expected = str(error.get("ctx", {}).get("expected", ""))
    return [choice.strip().strip("'") for choice in expected.replace(" or ", ", ").split(", ")]


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _got(node: Node | None) -> str:
    if isinstance(node, Leaf):
        return f", got {show(node.value)}"
    return f", got a {'list' if isinstance(node, Items) else 'mapping'}" if node is not None else ""


def show(text: str | None) -> str:
    """Show a written scalar: numbers bare, text in quotes."""
    if text is None:
        return "null"
    try:
        float(text)
    except ValueError:
        return f"'{one_line(text)}'"
    return text.strip()


def _meant(name: str, errors: list[ErrorDetails], node: Node | None) -> str:
    choices = [choice for error in errors if error["type"] in ("literal_error", "enum") for choice in _choices(error)]
    if not choices or not isinstance(node, Leaf) or not node.value:
        return ""
    entry = find_foreign(node.value, of=name)
    if entry is not None and not entry.ours:
        return f". {entry.explain(node.value)}"
    close = entry.ours[0] if entry is not None else nearest(node.value, [each for each in choices if each[1:]])
    return f". Did you mean `{close}`?" if close else ""


def _section(node: Node | None) -> tuple[str, ...]:
    origin: Origin | None = node.origin if node is not None else None
    return (f"in the section {origin}",) if origin and not origin.is_default else ()


def _named_members(branch: Branch, said: str) -> tuple[str, ...]:
    """Say where the options came from that a sentence names in backquotes."""
    named = {key: find(branch, tuple(key.split("."))) for key in _QUOTED.findall(said)}
    return tuple(f"`{key}` {node.origin}" for key, node in named.items() if node and not node.origin.is_default)


def _members(branch: Branch) -> tuple[str, ...]:
    """Say where each option of a section came from, for a complaint about several of them."""
    return tuple(f"`{key}` {node.origin}" for key, node in branch.nodes.items() if not node.origin.is_default)
