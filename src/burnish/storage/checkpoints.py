"""Keeps checkpoints on disk that cannot lie: a reader believes only the manifest, and verifies it."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.durable import read_json, stage_folder
from burnish.errors import CheckpointError
from burnish.storage import manifest

FORMAT = 1
_STATE = "state.json"
_STEP = re.compile(r"step-[0-9]+")


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint on disk."""

    path: Path
    step: int

    def state(self) -> dict[str, Any]:
        """Read the plain values that were saved."""
        content = read_json(self.path / _STATE)
        if not isinstance(content, dict):
            raise ValueError(f"{_STATE} holds no values by name")
        return content


@dataclass(frozen=True)
class CheckpointStore:
    """The checkpoints of one run."""

    root: Path
    quarantine: Path
    tell: Callable[[str], None]
    """Is given a sentence whenever something had to be put aside."""

    def save(self, step: int, state: Mapping[str, Any], write: Callable[[Path], None]) -> Checkpoint:
        """Write a checkpoint; it exists when its folder carries its final name and a manifest."""
        final = self.root / _name(step)
        with stage_folder(final, name=f"{final.name}.{os.getpid()}") as building:
            write(building)
            (building / _STATE).write_text(json.dumps(state, sort_keys=True))
            manifest.commit(building, {"format": FORMAT, "step": step})
            if final.exists():
                shutil.rmtree(final)
        return Checkpoint(final, step)

    def newest(self) -> Checkpoint | None:
        """Find the newest good checkpoint; put all bad ones into quarantine and say so. None for a run without any."""
        good = self.good()
        if good:
            return good[-1]
        # Also when an earlier start put them aside: asking twice must not be a way to lose a run.
        lost = len(list(self.quarantine.glob("step-*")))
        if lost:
            raise CheckpointError(
                f"none of the {lost} checkpoints of this run is whole; they are in {self.quarantine} now. "
                f"Restore one from a backup into {self.root}, or train into another directory"
            )
        return None

    def good(self) -> list[Checkpoint]:
        """Verify every file of every checkpoint, put bad ones into quarantine, and give the others, oldest first."""
        for leftover in self.root.glob(".step-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        # All of them, not the newest alone: the best one is wanted at the end of a run, when it is too late.
        faults = {folder: self._fault(folder) for folder in sorted(self._folders())}
        for folder, wrong in faults.items():
            if wrong is not None:
                self._put_aside(folder, wrong)
        return [Checkpoint(folder, _read_step(folder)) for folder, wrong in faults.items() if wrong is None]

    def at(self, step: int) -> Checkpoint:
        """Verify one checkpoint."""
        folder = self.root / _name(step)
        wrong = self._fault(folder)
        if wrong is not None:
            raise CheckpointError(f"{folder} cannot be used: {wrong}")
        return Checkpoint(folder, step)

    def steps(self) -> list[int]:
        """List the steps that have a checkpoint, oldest first, without verifying them."""
        return sorted(_read_step(folder) for folder in self._folders())

    def states(self) -> dict[int, dict[str, Any]]:
        """Read what every checkpoint recorded; one that cannot be read is left out, until the next start finds it."""
        found: dict[int, dict[str, Any]] = {}
        for step in self.steps():
            with suppress(OSError, ValueError):
                found[step] = Checkpoint(self.root / _name(step), step).state()
        return found

    def delete(self, step: int) -> None:
        """Delete a checkpoint; the newest one is never deleted."""
        assert step != self.steps()[-1], "the newest checkpoint is the one a run goes on from"
        self._delete(step)

    def _delete(self, step: int) -> None:
        folder = self.root / _name(step)
        # Renamed first: a crash in the middle of deleting must not leave a folder that looks like a checkpoint.
        doomed = folder.with_name(f".{folder.name}.doomed")
        os.replace(folder, doomed)
        shutil.rmtree(doomed, ignore_errors=True)

    def delete_after(self, step: int) -> None:
        """Delete all checkpoints of later steps, the newest first, for a run that goes back."""
        for later in reversed([each for each in self.steps() if each > step]):
            self._delete(later)

    def _folders(self) -> Iterator[Path]:
        return (path for path in self.root.glob("step-*") if path.is_dir() and _STEP.fullmatch(path.name))

    def _fault(self, folder: Path) -> str | None:
        wrong = manifest.fault(folder, needs=[_STATE])
        if wrong is not None:
            return wrong
        version = (manifest.read(folder) or {}).get("format")
        if version != FORMAT:
            raise CheckpointError(
                f"{folder} has checkpoint format {version} and this version of Burnish reads format {FORMAT}; "
                "resume with the version that wrote it"
            )
        return None

    def _put_aside(self, folder: Path, why: str) -> None:
        self.quarantine.mkdir(parents=True, exist_ok=True)
        target = self.quarantine / folder.name
        number = 1
        while target.exists():
            number += 1
            target = self.quarantine / f"{folder.name}-{number}"
        os.replace(folder, target)
        with suppress(OSError):  # a full disk may have no room for the reason, which is told all the same
            (target / "REASON.txt").write_text(why + "\n")
        self.tell(f"checkpoint {folder.name} is damaged ({why}); moved to {target}")


def _name(step: int) -> str:
    return f"step-{step:08d}"


def _read_step(folder: Path) -> int:
    return int(folder.name[5:])
