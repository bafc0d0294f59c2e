"""Understands what a verb was given: an experiment by name, file or values, or rows to write one for; and by whom."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from burnish.api.frames import is_frame, store, with_files
from burnish.commands.new import draft
from burnish.config import Given, Origin, from_values
from burnish.config.nodes import Branch
from burnish.config.reader import read_text
from burnish.config.render import document
from burnish.config.sources import override
from burnish.data.files import SUFFIXES
from burnish.errors import ConfigError, Problem
from burnish.spec.experiment import Experiment

_PROPOSED = "what `burnish new` proposes for the rows"
_SPLITS = ("train", "validation", "test")


def is_rows(source: object) -> bool:
    """Tell whether a source is data: rows in memory, a data file, or one of these for each split."""
    if isinstance(source, Mapping):
        return bool(source) and all(map(is_frame, source.values()))
    return is_frame(source) or (isinstance(source, str | Path) and Path(source).suffix in SUFFIXES)


def as_experiment(source: Any, *, origin: Origin) -> str | Path | Given:
    """Take an experiment as it comes: a name or a file as it is, values as layers that know the call."""
    if isinstance(source, str | Path):
        return source
    if isinstance(source, Experiment):
        return Given(source.name, tuple(from_values(document(source), origin=origin)))
    if isinstance(source, Mapping):
        layers = from_values(with_files(source), origin=origin)
        return Given(str(source.get("name", "experiment")), tuple(layers))
    raise _refusal(
        f"an experiment is a name, a YAML file, a mapping of options or an Experiment, and rows are a DataFrame, "
        f"an Arrow table or a data file; got {type(source).__name__}{'; collect it' * hasattr(source, 'collect')}",
        origin,
    )


def experiment_for_rows(
    source: Any,
    *,
    splits: Mapping[str, Any],
    target: object,
    text: object,
    origin: Origin,
    tell: Callable[[str], None],
) -> Given:
    """Write the experiment that `burnish new` proposes for rows, with further splits where they are given."""
    given = {**(source if isinstance(source, Mapping) else {"train": source}), **splits}
    strange = [str(name) for name in given if name not in _SPLITS]
    if strange or "train" not in given:
        there = ", ".join(map(str, given))
        raise _refusal(f"rows are for train, and may be for validation and test; got {there}", origin)
    files = {name: str(each if isinstance(each, str | Path) else store(each)) for name, each in given.items()}
    label, words = (None if name is None else str(name) for name in (target, text))
    name = re.sub(r"\W+", "-", label or "").strip("-") or "experiment"
    proposed = draft(files.pop("train"), target=Path(f"{name}.yaml"), text=words, label=label)
    for note in proposed.notes:
        tell(note)
    layer = read_text(proposed.text, source=_PROPOSED)
    assert isinstance(layer, Branch)  # a starter is a mapping
    parts = {f"data.split.{name}": None for name in files}
    return Given(name, (layer, *from_values({**parts, **{f"data.{k}": v for k, v in files.items()}}, origin=origin)))


def as_layers(overrides: Mapping[str, Any] | Sequence[str] | str, *, origin: Origin) -> list[Branch]:
    """Read overrides: a mapping from option to value, or texts like those of the command line."""
    if isinstance(overrides, Mapping):
        return from_values(with_files(overrides), origin=origin)
    texts = [overrides] if isinstance(overrides, str) else overrides
    return [override(text, said=f"at {origin.place}") for text in texts]


def find_caller() -> Origin:
    """Name the line outside of Burnish that called; in a notebook, the cell and the line in it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "burnish":
        frame = frame.f_back
    shell = frame.f_globals.get("get_ipython")
    file = frame.f_code.co_filename
    if callable(shell) and not Path(file).is_file():
        return Origin(f"In [{shell().execution_count}]", frame.f_lineno)
    path = Path(file)
    return Origin(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path), frame.f_lineno)


def refuse_options_of_rows(given: Mapping[str, Any], *, origin: Origin) -> None:
    """Refuse what only rows need, where an experiment states it itself."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        there = " and ".join(named)
        raise _refusal(f"{there}: only for rows; an experiment names its columns and files itself", origin)


def _refusal(sentence: str, origin: Origin) -> ConfigError:
    return ConfigError([Problem(sentence, origin.lines())], subject="the request")
