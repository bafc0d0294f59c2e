"""Decides how a run starts: fresh, resumed, or refused because the directory holds another experiment."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from glob import escape
from itertools import chain, count
from pathlib import Path

from burnish.config import OptionDifference, Resolved, diff, fingerprint, load, render, trust
from burnish.errors import CheckpointError, ConfigError
from burnish.run.record.directory import RunDirectory, write_text
from burnish.run.record.events_file import EventsFile
from burnish.spec.events import Started
from burnish.spec.experiment import Experiment

_WRITTEN_BEFORE_IT_BEGINS = {
    *("plan.yaml", "lock.json", ".lock", "profile.json", "data.json", "events.jsonl", "exit.json", "STOP"),
    *("checkpoints", "tensorboard"),
}
_NUMBER = re.compile(r"[2-9]|[1-9][0-9]{1,8}")
_SHOWN = 10
_SHOWN_IN_A_LINE = 3


class AnotherExperiment(ConfigError):
    """Refuse a directory with a run of other options, naming each of them."""

    def __init__(self, directory: RunDirectory, resolved: Resolved, recorded: Experiment) -> None:
        self.changes = [each for each in diff(recorded, resolved.experiment) if each.is_learned]
        self.problems = ()
        lines = [f"{_arrow(each)}{_origin(each, resolved)}" for each in self.changes[:_SHOWN]]
        more = [f"… and {len(self.changes) - _SHOWN} more"] if len(self.changes) > _SHOWN else []
        head = f"{directory.path} holds a run with other options:"
        Exception.__init__(self, "\n  ".join([head, *lines, *more]) + "\n" + "\n".join(_ways_on(directory)))

    @property
    def summary(self) -> str:
        """Name the first differences in a line."""
        return _first_few([_arrow(each) for each in self.changes])


class OtherData(CheckpointError):
    """Refuse a directory with a finished run whose data was edited since, naming each file."""

    def __init__(self, directory: RunDirectory, changes: Sequence[str]) -> None:
        self.summary = _first_few(changes)
        lines = [
            "\n  ".join(
                [f"{directory.path} holds a finished run, whose data is not what it was trained on:", *changes]
            ),
            "Nothing was trained, and its scores are of the data as it was. Put the files back, or",
            *_ways_on(directory),
        ]
        super().__init__("\n".join(lines))


def settle_plan(directory: RunDirectory, resolved: Resolved) -> None:
    """Record an experiment as the plan of a new run, or make sure that the run there is of the same one."""
    if directory.exists() and not has_learned_nothing(directory):
        recorded = read_plan(directory)
        if fingerprint(recorded) != fingerprint(resolved.experiment):
            raise AnotherExperiment(directory, resolved, recorded)
        return
    refuse_unfit(directory)
    write_text(directory.plan, render(resolved.experiment, origin=resolved.origin))
    trust(directory.plan)


def share_plan(directory: RunDirectory, resolved: Resolved) -> None:
    """Record an experiment as the plan of a run that several nodes begin at once: one writes it, the others agree."""
    refuse_unfit(directory)
    text = render(resolved.experiment, origin=resolved.origin)
    mine = directory.plan.with_name(f".plan.{os.urandom(8).hex()}.tmp")
    write_text(mine, text)
    try:
        os.link(mine, directory.plan)  # fails where one is, and never shows half of it
    except FileExistsError:
        recorded = read_plan(directory)
        if fingerprint(recorded) != fingerprint(resolved.experiment):
            raise AnotherExperiment(directory, resolved, recorded) from None
    except OSError as error:
        raise CheckpointError(f"{directory.plan} could not be written: {error.strerror or error}") from error
    finally:
        mine.unlink(missing_ok=True)
    trust(directory.plan)


def refuse_unfit(directory: RunDirectory) -> None:
    """Refuse a folder with files of another kind, which a run must not be mixed with, and a name that is not UTF-8."""
    if "\ufffd" in os.fsencode(directory.path).decode("utf-8", "replace"):
        raise CheckpointError(f"{directory.path} is not UTF-8, and weights cannot be written there; name another --dir")
    if _holds_other_files(directory):
        raise CheckpointError(
            f"{directory.path} holds files but no run; name an empty or new directory with --dir, or clear it first"
        )


def _holds_other_files(directory: RunDirectory) -> bool:
    if directory.exists() or not directory.path.is_dir():
        return False
    # Another process may be about to plan a run here: its lock and its plan, also half written, are no other files.
    planned = (".lock", directory.lock.name, directory.plan.name)
    names = [path.name for path in directory.path.iterdir()]
    return any(name not in planned and not (name.startswith(".") and name.endswith(".tmp")) for name in names)


def read_plan(directory: RunDirectory, *, trust_code: bool = False) -> Experiment:
    """Read the experiment that a run directory was made for; code that it names must be trusted."""
    if not directory.exists():
        raise CheckpointError(f"{directory.path} is no run: it has no plan.yaml. `burnish runs ls` lists runs")
    return load(str(directory.plan), trust_code=trust_code).experiment


def move_aside(directory: RunDirectory) -> Path:
    """Move a run out of its directory, under whose lock this must be done; give the place where it is now."""
    while True:
        place = _aside(directory)
        try:
            directory.path.rename(place)
        except OSError as error:
            if place.exists():
                continue  # somebody took that name in the meantime
            raise CheckpointError(
                f"{directory.path} could not be moved to {place}: {error.strerror or error}; move it yourself, or "
                "train into another directory with --dir"
            ) from error
        return place


def numbered(directory: Path) -> Iterator[Path]:
    """Give a directory, then its numbered siblings: first runs that exist, then free ones."""
    yield directory
    ends = (
        path.name.removeprefix(f"{directory.name}-") for path in directory.parent.glob(f"{escape(directory.name)}-*")
    )
    there = sorted(int(end) for end in ends if _NUMBER.fullmatch(end))
    for number in chain(there, (number for number in count(2) if number not in there)):
        sibling = directory.with_name(f"{directory.name}-{number}")
        if not _holds_other_files(RunDirectory(sibling)):
            yield sibling


def remove_unstarted(directory: RunDirectory) -> None:
    """Remove a run that was refused before it began, under whose lock this must be done.

    One with files of another kind stays as it is, also if rows were set aside, whose file the refusal names.
    """
    began = EventsFile(directory.events).last(Started) is not None
    if began or directory.status() != "failed" or not has_learned_nothing(directory):
        return
    if {path.name for path in directory.path.iterdir()} <= _WRITTEN_BEFORE_IT_BEGINS:
        shutil.rmtree(directory.path, ignore_errors=True)


def has_learned_nothing(directory: RunDirectory) -> bool:
    """Tell whether a run has no checkpoint and nobody works at it, so that nothing of it needs to be kept."""
    kept = [folder for folder in (directory.checkpoints, directory.quarantine) if folder.is_dir()]
    has_checkpoint = any(any(folder.iterdir()) for folder in kept)
    return not has_checkpoint and directory.status() in ("new", "failed", "interrupted", "preempted")


def _aside(directory: RunDirectory) -> Path:
    names = (Path(f"{directory.path}.old-{number}") for number in count(1))
    return next(path for path in names if not path.exists())


def _ways_on(directory: RunDirectory) -> list[str]:
    return [
        f"add --replace to start over there (the old run is moved to {_aside(directory)}, not deleted), or",
        "train into another directory with --dir",
    ]


def _first_few(changes: Sequence[str]) -> str:
    more = len(changes) - _SHOWN_IN_A_LINE
    return ", ".join([*changes[:_SHOWN_IN_A_LINE], *([f"and {more} more"] if more > 0 else [])])


def _arrow(change: OptionDifference) -> str:
    return f"{change.path} {change.left or 'not set'} → {change.right or 'not set'}"


def _origin(change: OptionDifference, resolved: Resolved) -> str:
    origin = resolved.origin(change.path)
    return "" if origin.is_default or change.right is None else f" ({origin})"
