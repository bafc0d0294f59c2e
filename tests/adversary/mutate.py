"""Damages documents and bytes as an adversary would: wrong types, absurd sizes, names that lead elsewhere."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

DEEP = 5_000
HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 10**30, -(10**30), 2**63, 1e308, -0.0, float("nan"), float("inf"), 0.5),
    *("", " ", "\0", "a\0b", "x" * 5_000, "../../etc/passwd", "/etc/passwd", "~nosuchuser", "\ud800", "①", "1e400"),
    *("NaN", "true", "null", "${HOME}", "{{ 7 * 7 }}", "%s%n", "!!python/object:os.system", "subprocess:call", "type"),
    *([], {}, [[]], [None], {"": None}, {"a": {"b": []}}, ["x"] * 50, {"type": "subprocess:call"}, [1, "a", None]),
)


def mutate_document(document: Any, draw: Random) -> bytes:
    """Change one to three places of a JSON document, and give it as text; now and then the text itself is broken."""
    mutated = copy.deepcopy(document)
    for _ in range(draw.randint(1, 3)):
        mutated = _change(mutated, draw)
    text = json.dumps(mutated).encode()
    kind = draw.randint(0, 19)
    if kind == 0:
        return b"[" * DEEP + b"]" * DEEP
    if kind == 1:
        return text.replace(b"null", b'{"a":' * DEEP + b"1" + b"}" * DEEP, 1)
    if kind == 2:
        return text.replace(b": 1", b": 1" + b"0" * 5_001, 1)
    if kind == 3:
        return text[:-1] + b", " + text[1:]  # every name is written twice
    return mutate_bytes(text, draw) if kind == 4 else text


def mutate_lines(lines: list[bytes], draw: Random) -> list[bytes]:
    """Lose, repeat or reorder lines of JSON, or change what one of them holds."""
    place = draw.randrange(len(lines))
    kind = draw.randint(0, 9)
    if kind == 0:
        return lines[:place] + lines[place + 1 :]
    if kind == 1:
        return [*lines, lines[place]]
    if kind == 2:
        return draw.sample(lines, len(lines))
    return [*lines[:place], mutate_document(json.loads(lines[place]), draw) + b"\n", *lines[place + 1 :]]


def mutate_bytes(content: bytes, draw: Random) -> bytes:
    """Cut, flip, repeat, or replace bytes."""
    place = draw.randrange(len(content) + 1)
    kind = draw.randint(0, 5)
    if kind == 0:
        return content[:place]
    if kind == 1:
        return content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :]
    if kind == 2:
        return content[:place] + b"\0\xff\xfe" + content[place:]
    if kind == 3:
        return content + content[place:]
    return b"" if kind == 4 else bytes([0xFF]) * min(place, 64) + content[place:]


def _change(document: Any, draw: Random) -> Any:
    places = list(_places(document))
    if not places:
        return draw.choice(HOSTILE)
    holder, key = draw.choice(places)
    kind = draw.randint(0, 9)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[str(draw.choice(HOSTILE))] = holder.pop(key)
    elif kind == 2 and isinstance(holder, list):
        holder.append(holder[key])
    elif kind == 3:
        holder[key] = [holder[key]]
    elif kind == 4:
        return draw.choice(HOSTILE) if draw.randint(0, 3) == 0 else document
    else:
        holder[key] = copy.deepcopy(draw.choice(HOSTILE))
    return document


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])
