"""Puts variables of the environment into the options that ask for one with `${env:NAME}`."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace

from burnish.config.nodes import Branch, Items, Leaf, Node

_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_WORDS = re.compile(r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|KEY|WEBHOOK|AUTH)(?:_|$)")
_HAS_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]*@")
_HAS_LOGIN = re.compile(r"://[^/@\s]+@")


def referenced(text: str | None) -> str | None:
    """Name the variable that a whole value refers to, if it does."""
    match = _REFERENCE.fullmatch(text or "")
    return match[1] if match else None


def looks_secret(name: str, value: str = "") -> bool:
    """Tell whether a variable holds a secret, as far as its name says so, or an address with a login in it."""
    return bool(_SECRET_WORDS.search(name.upper()) or _HAS_LOGIN.search(value))


def fill_in(layer: Branch, environment: Mapping[str, str] | None = None) -> Branch:
    """Replace each value that refers to a variable, and remember which in its origin.

    A variable that is not set or holds a secret stays a reference: only options for secrets take one, and they read
    it when it is needed.
    """
    known = os.environ if environment is None else environment
    return replace(layer, nodes={key: _fill_in(each, known) for key, each in layer.nodes.items()})


def _fill_in(node: Node, environment: Mapping[str, str]) -> Node:
    if isinstance(node, Branch):
        return fill_in(node, environment)
    if isinstance(node, Items):
        return replace(node, nodes=tuple(_fill_in(each, environment) for each in node.nodes))
    name = referenced(node.value)
    if name is None:
        return node
    value = environment.get(name, "")
    is_kept = not value or looks_secret(name, value) or referenced(value) is not None
    return Leaf(node.value if is_kept else value, replace(node.origin, variable=name))


def explain_reference(node: Node, environment: Mapping[str, str] | None = None) -> str | None:
    """Say why a value that an ordinary option was given is still a reference, or gives a password away; or None."""
    if isinstance(node, Leaf) and _HAS_PASSWORD.search(node.value or ""):
        return (
            "holds a password, which would lie in the plan; clients of buckets find their credentials by themselves, "
            "and any other file can be fetched first"
        )
    environment = os.environ if environment is None else environment
    name = referenced(node.value) if isinstance(node, Leaf) else None
    if name is None:
        return None
    if node.origin.variable is None:
        return f"is ${{env:{name}}}, and what a run or an artifact recorded is not filled in; write the value itself"
    if not environment.get(name):
        return f"is ${{env:{name}}}, and the environment has no variable {name}; set it, or write the value itself"
    return (
        f"is ${{env:{name}}}, which seems to be a secret, and this option would write it into the plan; only options "
        "for secrets take one, like `notify[0].url`"
    )
