"""`burnish import`: a config of another tool becomes an experiment, a space and a launch file, with notes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.commands.imports.determined import is_determined, read_determined
from burnish.commands.imports.draft import KUBERNETES, LAUNCH, OTHER_SECTIONS, TUNE, Draft, WrittenOption
from burnish.commands.imports.google import is_google, read_google
from burnish.commands.imports.ludwig import is_ludwig, read_ludwig
from burnish.commands.imports.model_garden import is_model_garden, read_model_garden
from burnish.config import Origin, from_values
from burnish.config.nodes import Branch, one_line
from burnish.config.reader import read_file
from burnish.config.render import write_value
from burnish.durable import write_durably
from burnish.errors import ConfigError, Problem

_COLUMN = 52
_READERS: tuple[tuple[str, Callable[[Branch], bool], Callable[[Branch, Draft], None]], ...] = (
    ("samples", is_google, read_google),
    ("ludwig", is_ludwig, read_ludwig),
    ("determined", is_determined, read_determined),
    ("model_garden", is_model_garden, read_model_garden),
)
"""Tools by their names in the table of foreign names, how to know a config of theirs, and how to read it."""


@dataclass(frozen=True)
class ImportedConfig:
    """What a foreign config says, as the text of our files by name; a file that would say nothing is not there."""

    source: str
    files: Mapping[str, str]
    mapped: int
    left: tuple[str, ...]
    """A sentence for every line that has no place here."""
    missing: tuple[str, ...]
    """What the experiment still needs, a sentence each."""


def read_draft(path: Path) -> Draft:
    """Read a config of one of the tools that are known; raise ConfigError for anything else."""
    config = read_file(path, source=str(path))
    for tool, is_of_tool, read in _READERS:
        if is_of_tool(config):
            draft = Draft(path.name, tool)
            read(config, draft)
            return draft
    raise ConfigError(
        [
            Problem(
                f"{path} is neither a tuning config of Google's service (trainingInput, or params with goal), an "
                "experiment of Determined (hyperparameters, searcher, entrypoint), a config of Model Garden (task and "
                "trainer) nor one of Ludwig (input_features, output_features)"
            )
        ],
        subject="the request",
    )


def read_config(path: Path) -> ImportedConfig:
    """Read a foreign config as the text of our files."""
    draft = read_draft(path)
    missing = tuple(draft.settle())
    files = dict(_write_files(draft, missing))
    mapped = len(set(map(id, draft.options.values()))) + len(draft.space)  # for Kubernetes, some are said once more
    return ImportedConfig(str(path), files, mapped, tuple(draft.left), missing)


def read_layers(path: Path) -> tuple[list[Branch], Sequence[str]]:
    """Read experiment and space of a foreign config as layers, and say of each other line why it is left out."""
    draft = read_draft(path)
    draft.settle()
    written = {**draft.options, **{f"{TUNE}.space.{name}": option for name, option in draft.space.items()}}
    layers = [
        layer
        for name, option in written.items()
        if not name.startswith((f"{LAUNCH}.", f"{KUBERNETES}."))
        for layer in from_values({name: option.value}, origin=Origin(option.note))
    ]
    return layers, draft.left


def import_config(path: Path, out: Path) -> ImportedConfig:
    """Write the files into a folder; one that is there already is not replaced."""
    imported = read_config(path)
    taken = [out / name for name in imported.files if (out / name).exists()]
    if taken:
        problems = [Problem(f"{each} is there already; name another folder with --out, or remove it") for each in taken]
        raise ConfigError(problems, subject="the request")
    out.mkdir(parents=True, exist_ok=True)
    for name, text in imported.files.items():
        write_durably(out / name, text.encode())
    return imported


def _write_files(draft: Draft, missing: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    sections = {name: {} for name in ("", *OTHER_SECTIONS)}  # type: dict[str, dict[str, WrittenOption]]
    for path, option in draft.options.items():
        root = path.partition(".")[0]
        sections[root if root in OTHER_SECTIONS else ""][path] = option
    notes = [f"# {one_line(sentence)}" for sentence in draft.left]
    needs = [f"# still to be written: {one_line(sentence)}" for sentence in missing]
    yield "experiment.yaml", _join([*needs, *_lines(_nest(sections[""])), *notes])
    if sections[TUNE] or draft.space:
        tree = _nest(sections[TUNE])
        space = {"space": draft.space} if draft.space else {}
        yield "space.yaml", _join(_lines({TUNE: {**_inside(tree.get(TUNE)), **space}}))
    if sections[LAUNCH]:
        yield "launch.yaml", _join(_lines(_nest(sections[LAUNCH])))
    if sections[KUBERNETES]:
        yield "kubernetes.yaml", _join(_lines({LAUNCH: _nest(sections[KUBERNETES])[KUBERNETES]}))


def _nest(options: Mapping[str, WrittenOption]) -> dict[str, object]:
    tree: dict[str, object] = {}
    for path, option in options.items():
        *parents, key = path.split(".")
        section = tree
        for parent in parents:
            inner = section.setdefault(parent, {})
            assert isinstance(inner, dict)  # options are written in their long form, which never holds another
            section = inner
        section[key] = option
    return tree


def _inside(section: object) -> dict[str, object]:
    return section if isinstance(section, dict) else {}


def _lines(tree: Mapping[str, object], *, indent: str = "") -> Iterator[str]:
    for key, value in tree.items():
        label = f"{indent}{write_value(key)}:"
        if isinstance(value, WrittenOption):
            yield f"{f'{label} {write_value(value.value)}':<{_COLUMN}}  # {one_line(value.note)}"
        else:
            yield label
            yield from _lines(_inside(value), indent=f"{indent}  ")


def _join(lines: list[str] | Iterator[str]) -> str:
    return "\n".join(lines) + "\n"
