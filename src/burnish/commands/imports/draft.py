"""Collects what a foreign config says, by the table of foreign names: options, a space to search, where it runs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from burnish.config import Given, from_values, load
from burnish.config.foreign import Foreign, find_answer
from burnish.config.nodes import Leaf, Node
from burnish.config.origins import Origin
from burnish.config.shape import describe_fields
from burnish.config.suggest import KnownOption, every_option, find_fitting
from burnish.errors import ConfigError
from burnish.registry import Registry, default_registry

TUNE, LAUNCH, KUBERNETES = "tune", "launch", "kubernetes"
OTHER_SECTIONS = {
    TUNE: ("metric", "searcher", "trials", "parallel", "minutes", "max_failed_trials", "space"),
    LAUNCH: (
        *("project", "region", "bucket", "route", "image", "machine", "accelerator", "accelerators", "replicas"),
        *("spot", "timeout", "service_account", "network", "labels", "env", "files", "max_restarts"),
        *("gpus", "partition", "sbatch", "container", "mounts"),  # a cluster's
    ),
    KUBERNETES: ("image", "gpus", "env", "max_restarts", "volumes", "shared_memory", "priority_class"),
}
"""What the files beside the experiment hold; an experiment has no such sections."""
_MOST_LISTED = 32
_UNKNOWN = "nothing here has this name"
_UNFIT = "the value does not fit"
_NULL = "it is null there"


@dataclass(frozen=True)
class WrittenOption:
    """An option of ours, and a note of the line that it comes from."""

    value: object
    note: str
    others: tuple[str, ...] = ()
    """Options that the line may mean as well, if this one does not fit the experiment."""


@dataclass
class Draft:
    """What was mapped so far, by dotted path, and what was not."""

    source: str
    tool: str = ""
    """Which one wrote the config, by its name in the table: some names mean something else in another."""
    options: dict[str, WrittenOption] = field(default_factory=dict)
    """Of the experiment, and below `tune`, `launch` and, as its launcher calls them, `kubernetes`."""
    space: dict[str, WrittenOption] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    """A sentence for every line that was not mapped."""

    def take(self, name: str, node: Node, *, into: Sequence[str] = ()) -> None:
        """Map one name with one value; `into` names the sections that are looked at first, else the experiment."""
        given = node.value if isinstance(node, Leaf) else None
        entry = self._find_entry(name, given)
        if entry is None:
            return self.leave(name, node, _UNKNOWN)
        written = entry.translate(given)
        targets = self._find_targets(entry, written, into=into)
        if given is None or written is None or not targets:
            is_null = isinstance(node, Leaf) and node.value is None
            return self.leave(name, node, entry.explain(given) or (_NULL if is_null else _UNFIT))
        for path, *others in targets:
            value = f"validation/{written}" if path == "tune.metric" else written
            paths = [self._spell_out(each, written) for each in (path, *others)]
            self.put(paths[0], value, name=name, node=node, said=entry.explain(given), others=paths[1:])
        return None

    def put(
        self, path: str, value: object, *, name: str, node: Node, said: str = "", others: Sequence[str] = ()
    ) -> None:
        """Write an option; one that two lines set keeps the first, and the second is left."""
        if path in self.options:
            return self.leave(name, node, f"{path} is set already, {self.options[path].note}")
        self.options[path] = WrittenOption(value, self._note(name, node, said), tuple(others))
        return None

    def search(self, name: str, node: Node, values: Sequence[str] | Mapping[str, str], *, said: str = "") -> None:
        """Map a name with a range or a list of values to a part of the space."""
        entry = self._find_entry(name, None)
        if entry is None or not entry.ours:
            return self.leave(name, node, entry.explain(None) if entry else _UNKNOWN)
        choices = _translate_all(entry, values)
        ends = [values["min"], values["max"]] if choices is None and isinstance(values, Mapping) else choices
        if choices is None and entry.value != "{}":
            return self.leave(name, node, f"{entry.ours[0]} takes no number as such; write a list of its values")
        path = self._find_common(entry, ends or ())
        if path is None:
            return self.leave(name, node, f"{_UNFIT} {' or '.join(entry.ours)}")
        if path in self.space:
            return self.leave(name, node, f"{path} is searched already, {self.space[path].note}")
        told = " ".join(filter(None, [said, entry.explain(None) if entry.note else ""]))
        self.space[path] = WrittenOption(choices or values, self._note(name, node, told))
        return None

    def leave(self, name: str, node: Node, why: str) -> None:
        """Note a line that was not mapped; its value may be a secret and is not repeated."""
        self.left.append(f"{node.origin.place} {name}: not mapped: {why.rstrip('.')}")

    def settle(self) -> list[str]:
        """Take out what does not fit the experiment as a whole, and say what is still missing of one."""
        self._choose_data()
        self._choose_task()
        # A type comes first: laid over the options of another, it would take them away.
        self.options = dict(sorted(self.options.items(), key=lambda each: not each[0].endswith(".type")))
        while True:
            paths = [path for path in self.options if path.partition(".")[0] not in OTHER_SECTIONS]
            values = {path: self.options[path].value for path in paths}
            try:
                load(Given("imported", tuple(from_values(values, origin=Origin(self.source)))))
            except ConfigError as error:
                messages = [problem.message for problem in error.problems]
                misfits = {path: said for said in messages for path in paths if _is_misfit(said, path)}
                if not misfits:
                    return messages
                for path, said in misfits.items():
                    self._drop(path, said)
            else:
                return []

    def _drop(self, path: str, said: str) -> None:
        option = self.options.pop(path)
        other = next((each for each in option.others if each not in self.options), None)
        if other is None:
            self.left.append(f"{option.note.partition(';')[0]}: not mapped: {said}")
        else:
            rest = option.others[option.others.index(other) + 1 :]
            self.options[other] = replace(option, others=rest)

    @cached_property
    def _registry(self) -> Registry:
        return default_registry()

    @cached_property
    def _known(self) -> list[KnownOption]:
        return list(every_option(self._registry))

    def _find_entry(self, name: str, given: str | None) -> Foreign | None:
        """Find a name in the table, or else among our own options, whatever section it is in there."""
        key = name.rpartition(".")[2].replace("-", "_")
        paths = dict.fromkeys(option.path for option in self._known if option.section)
        same = (name,) if name in paths else tuple(path for path in paths if path.rpartition(".")[2] == key)
        own = Foreign((name,), (), ours=same, of=None, value="{}", note="") if same else None
        return own if name in paths else find_answer(name, given, tool=self.tool) or own

    def _find_targets(self, entry: Foreign, written: str | None, *, into: Sequence[str]) -> list[list[str]]:
        """List what a line sets: an option of the experiment, with others that it may be, and one of each section."""
        elsewhere = [[path] for path in entry.ours if path.partition(".")[0] in into and written is not None]
        fitting = find_fitting(entry, written, options=self._known, registry=self._registry)
        paths = list(dict.fromkeys(option.path for option in fitting)) if "" in into or not into else []
        return [*([paths] if paths else []), *elsewhere]

    def _find_common(self, entry: Foreign, values: Sequence[str]) -> str | None:
        """Find the first of our options that takes every value."""
        fitting = (find_fitting(entry, each, options=self._known, registry=self._registry) for each in values)
        paths = [[option.path for option in options] for options in fitting]
        return next((path for path in paths[0] if all(path in each for each in paths)), None) if paths else None

    def _spell_out(self, path: str, written: str) -> str:
        """Write a path in its long form, so that two lines may set parts of the same section."""
        shape = next((option.shape for option in self._known if option.path == path), None)
        if shape is None or shape.is_plain or shape.is_many:
            return path
        if shape.slot is not None and self._registry.knows(shape.slot.kind, written):
            return f"{path}.type"
        default = shape.slot.default if shape.slot else None
        owner = self._registry.load(shape.slot.kind, default) if shape.slot and default else shape.component
        return f"{path}.{owner.shorthand}" if owner and owner.shorthand else path

    def _choose_data(self) -> None:
        """Name the source of data that has the options which were mapped, if it is not the usual one."""
        keys = {path.split(".")[1]: path for path in self.options if path.startswith("data.")}
        for name in ("files", "hub") if keys and "type" not in keys else ():
            if keys.keys() <= describe_fields(self._registry.load("data", name)).keys():
                first = self.options[next(iter(keys.values()))]
                self.options["data.type"] = WrittenOption(name, first.note)
                return

    def _choose_task(self) -> None:
        """Name the task, if only one has the options that were mapped, like the one that has `n_best`."""
        keys = {path.split(".")[1]: path for path in self.options if path.startswith("task.")}
        if not keys or "type" in keys:
            return
        names = [listing.name for listing in self._registry.names("tasks") if listing.provider == "burnish"]
        fitting = [name for name in names if keys.keys() <= describe_fields(self._registry.load("tasks", name)).keys()]
        if len(fitting) == 1:
            telling = next((path for key, path in keys.items() if self._is_of_one_task(key, names)), None)
            first = self.options[telling or next(iter(keys.values()))]
            self.options["task.type"] = WrittenOption(fitting[0], f"{first.note}; only this task has such options")

    def _is_of_one_task(self, key: str, names: Sequence[str]) -> bool:
        return sum(key in describe_fields(self._registry.load("tasks", name)) for name in names) == 1

    def _note(self, name: str, node: Node, said: str) -> str:
        return "; ".join(filter(None, [f"{node.origin.place} {name}", said]))


def _translate_all(entry: Foreign, values: Sequence[str] | Mapping[str, str]) -> list[str] | None:
    """Write each value of a list our way, or of a short range of whole numbers; None for a range that stays one."""
    if isinstance(values, Mapping):
        if entry.value == "{}" or values["type"] != "int":
            return None
        low, high = int(values["min"]), int(values["max"])
        if high - low >= _MOST_LISTED:
            return None
        values = [str(number) for number in range(low, high + 1)]
    return [entry.translate(each) or each for each in values]


def _is_misfit(message: str, path: str) -> bool:
    return re.match(rf"{re.escape(path)}(?![\w.])", message) is not None and "is required" not in message
