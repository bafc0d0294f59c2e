"""Knows what other tools call our options: the table `foreign.yaml`, read when an error has to be explained."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

_STEPS, _STEPS_OR_SHARE = "{} steps", "{steps or share}"


@dataclass(frozen=True)
class Foreign:
    """One entry: names from elsewhere that have the same answer here."""

    names: tuple[str, ...]
    tools: tuple[str, ...]
    ours: tuple[str, ...]
    """Our option, `--flag` or `burnish` command; several, if it depends on the task or the command."""
    of: str | None
    """The option or kind of component that the names are values of."""
    value: str | Mapping[str, str] | None
    """How their value is written here: a template, or a mapping; None if it says nothing here."""
    note: str

    def translate(self, given: str | None) -> str | None:
        """Write their value our way, if there is one to write."""
        if given is None or self.value is None:
            return None
        if not isinstance(self.value, str):
            return self.value.get(given, self.value.get(given.lower(), given))
        if self.value not in (_STEPS, _STEPS_OR_SHARE) and "{percent}" not in self.value:
            return self.value.replace("{}", given)
        try:
            number = float(given)
        except ValueError:
            return None
        is_share = 0 < number < 1
        if "{percent}" in self.value or (self.value == _STEPS_OR_SHARE and is_share):
            return f"{number * 100:g}%"
        return None if is_share else f"{number:.0f} steps"

    def explain(self, given: str | None) -> str:
        """Say what differs, or why there is no such thing here."""
        return self.note.replace("{}", given or "N")


def find_foreign(name: str, *, of: str | None = None, tool: str | None = None) -> Foreign | None:
    """Find a name, or the longest end of a path like `task.train_data.input_path` that the table has.

    Of several answers that of the tool is taken, else the first.
    """
    words = _normalise(name).split(".")
    ends = [".".join(words[start:]) for start in range(len(words))]
    entries = next((found for end in ends if (found := _by_name().get((of, end)))), ())
    return next((entry for entry in entries if tool in entry.tools), entries[0] if entries else None)


def find_answer(name: str, given: str | None, *, tool: str | None = None) -> Foreign | None:
    """Find the answer to an option with a value: that of the value, where it has one of its own, else the option's."""
    own = find_foreign(given, of=_normalise(name)) if given else None
    return own or find_foreign(name, tool=tool)


@cache
def foreign_names() -> tuple[Foreign, ...]:
    """Read the whole table."""
    text = files("burnish.config").joinpath("foreign.yaml").read_text(encoding="utf-8")
    loader = getattr(
        yaml, "CSafeLoader", yaml.SafeLoader
    )  # written in C where it was built: in pure Python the table takes long
    return tuple(
        Foreign(
            names=_as_tuple(row["name"]),
            tools=_as_tuple(row["from"]),
            ours=_as_tuple(row.get("ours")),
            of=row.get("of"),
            value=row.get("value", "{}"),
            note=row.get("note", ""),
        )
        for row in yaml.load(text, Loader=loader)  # noqa: S506  # both are safe
    )


@cache
def _by_name() -> Mapping[tuple[str | None, str], list[Foreign]]:
    found: dict[tuple[str | None, str], list[Foreign]] = {}
    for entry in foreign_names():
        for name in entry.names:
            found.setdefault((entry.of, _normalise(name)), []).append(entry)
    return found


def _normalise(name: str) -> str:
    return name.lower().replace("-", "_")


def _as_tuple(value: str | list[str] | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())
