"""Reads YAML into nodes: scalars stay text, every node knows its line, nothing clever is allowed."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import yaml

from burnish.config.nodes import Branch, Items, Leaf, Node, brief
from burnish.config.origins import Origin
from burnish.errors import ConfigError, Problem, StorageError
from burnish.nearest import absent_file
from burnish.storage.address import read_address

MAX_BYTES = 1 << 20
SUFFIXES = (".yaml", ".yml")
_MAX_DEPTH = 32
_SHOWN = 80
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_NO_ALIASES = "anchors and aliases are not allowed; write the value where it is used, or layer a second file with -c"
_NO_TAGS = "tags are not allowed; the option itself decides how its value is read"


def read_file(path: Path, *, source: str, is_ready_made: bool = False) -> Branch:
    """Read a config file; refuse what is not a mapping of plain YAML."""
    text = _text(path, source=source)
    if path.suffix == ".gin":
        raise ConfigError([*_refuse_gin(text, source=source)])
    node = read_text(text, source=source, is_ready_made=is_ready_made)
    if node is None:
        return Branch({}, Origin(source, 1))
    if not isinstance(node, Branch):
        raise _refusal(f"{source}:{node.origin.line} must be a mapping of options, got {brief(node)}")
    return node


def read_text(text: str, *, source: str, numbered: bool = True, is_ready_made: bool = False) -> Node | None:
    """Read one YAML document; None if it is empty."""
    try:
        problems = list(_forbidden(text, source=source))
        if problems:
            raise ConfigError(problems)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise _refusal(_syntax(error, source=source)) from error
    if root is None:
        return None
    faults: list[Problem] = []
    node = _Reader(Origin(source, is_ready_made=is_ready_made), numbered=numbered, problems=faults).node(root)
    if faults:
        raise ConfigError(faults)
    return node


def scalar(text: str, *, is_plain: bool = True) -> str | None:
    """Read a scalar: unquoted null is None, everything else is the text itself."""
    return None if is_plain and text in _NULLS else text


class _Reader:
    """Turn PyYAML's nodes into ours, collecting problems."""

    def __init__(self, origin: Origin, *, numbered: bool, problems: list[Problem]) -> None:
        self._origin = origin
        self._numbered = numbered
        self._problems = problems

    def node(self, raw: yaml.Node) -> Node:
        origin = replace(self._origin, line=_line(raw) if self._numbered else None)
        read: Node
        if isinstance(raw, yaml.MappingNode):
            read = Branch(self._mapping(raw), origin)
        elif isinstance(raw, yaml.SequenceNode):
            read = Items(tuple(map(self.node, raw.value)), origin)
        else:
            assert isinstance(raw, yaml.ScalarNode)  # PyYAML knows three kinds of node
            read = Leaf(scalar(raw.value, is_plain=raw.style is None), origin)
        return replace(read, origin=replace(origin, value=brief(read)))

    def _mapping(self, raw: yaml.MappingNode) -> dict[str, Node]:
        nodes: dict[str, Node] = {}
        lines: dict[str, int] = {}
        for key, value in raw.value:
            name = scalar(key.value, is_plain=key.style is None) if isinstance(key, yaml.ScalarNode) else None
            if name is None:
                self._refuse(key, "a key must be text")
            elif name in nodes:
                self._refuse(key, f"`{name}` is written twice, first on line {lines[name]}; keep one")
            else:
                nodes[name] = self.node(value)
                lines[name] = _line(key)
        return nodes

    def _refuse(self, raw: yaml.Node, sentence: str) -> None:
        self._problems.append(Problem(f"{self._origin.source}:{_line(raw)}: {sentence}"))


def _refuse_gin(text: str, *, source: str) -> Iterator[Problem]:
    """Name the first line of a gin file that says anything; what it may call is not for a config to choose."""
    lines = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), start=1))
    number, said = next(((number, said) for number, said in lines if said), (1, "an empty file"))
    yield Problem(
        f"{source}:{number}: `{said[:_SHOWN]}` is gin, which Burnish does not read; write the option in a YAML file, "
        "like `train: {batch: 32}`"
    )


def _forbidden(text: str, *, source: str) -> Iterator[Problem]:
    """Look at the events before anything is built: a small file may ask for a huge or endless tree."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        where = f"{source}:{event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            yield Problem(f"{where}: {_NO_ALIASES}")
        elif getattr(event, "tag", None) is not None:
            yield Problem(f"{where}: {_NO_TAGS}")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            yield Problem(f"{where}: sections are nested more than {_MAX_DEPTH} deep")
            return


def _text(path: Path, *, source: str) -> str:
    address = read_address(path)
    try:
        if address is not None:
            from burnish.storage.remote import Folder, keep_trying  # nobody whose files are local waits for it

            content = keep_trying(Folder(address).read)
        else:
            with path.open("rb") as stream:
                content = stream.read(MAX_BYTES + 1)
    except StorageError as error:
        raise _refusal(str(error)) from error
    except FileNotFoundError as error:
        raise _refusal(absent_file(str(path), written=source, suffixes=SUFFIXES)) from error
    except OSError as error:
        raise _refusal(f"{source} cannot be read: {error.strerror or error}") from error
    if len(content) > MAX_BYTES:
        raise _refusal(f"{source} is larger than 1 MiB, which no config needs; is it the right file?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refusal(
            f"{source}:{line}: byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from error


def _syntax(error: yaml.YAMLError, *, source: str) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{source}:{error.problem_mark.line + 1}: this is not YAML: {error.problem}"
    if isinstance(error, yaml.reader.ReaderError):
        return f"{source}: the character #x{_code(error.character):04x} is not allowed in YAML"
    return f"{source}: this is not YAML: {error}"


def _code(character: int | str | bytes) -> int:
    return character if isinstance(character, int) else ord(character)


def _line(raw: yaml.Node) -> int:
    return int(raw.start_mark.line) + 1


def _refusal(sentence: str) -> ConfigError:
    return ConfigError([Problem(sentence)])
