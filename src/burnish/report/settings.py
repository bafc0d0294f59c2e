"""Reads plan.yaml into settings: each value, and the comment behind it that tells where it came from."""

from collections.abc import Iterator
from pathlib import Path

import yaml

from burnish.report.data import Setting


def read_settings(path: Path) -> tuple[Setting, ...]:
    """Give every value of a plan in order; nothing when there is no plan that can be read."""
    try:
        source = path.read_text(encoding="utf-8")
        # A plan has no aliases; a file that has them is not ours and could unfold without end.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(source, Loader=yaml.SafeLoader)):
            return ()
        # Composing makes no objects and resolves no tags: only places and texts are wanted.
        root = yaml.compose(source, Loader=yaml.SafeLoader)
        return tuple(_settings(root, (), source.splitlines())) if root is not None else ()
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return ()


def _settings(node: yaml.Node, path: tuple[str, ...], lines: list[str]) -> Iterator[Setting]:
    if isinstance(node, yaml.MappingNode) and node.value:
        for key, value in node.value:
            yield from _settings(value, (*path, str(key.value)), lines)
    elif isinstance(node, yaml.SequenceNode) and any(not isinstance(each, yaml.ScalarNode) for each in node.value):
        for number, value in enumerate(node.value):
            yield from _settings(value, (*path, str(number)), lines)
    else:
        yield Setting(".".join(path), _written(node), _comment(node, lines))


def _written(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "[" + ", ".join(str(each.value) for each in node.value) + "]"
    return "{}" if isinstance(node, yaml.MappingNode) else str(node.value)


def _comment(node: yaml.Node, lines: list[str]) -> str:
    end = node.end_mark
    rest = lines[end.line][end.column :] if end.line < len(lines) else ""
    _, mark, comment = rest.partition("#")
    return comment.strip() if mark else ""
