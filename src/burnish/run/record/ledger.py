"""repairs.json: what was mended in a run, on disk before it takes effect."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.engine.recovery import NO_REPAIRS, Adjustments
from burnish.errors import CheckpointError
from burnish.run.record.directory import read_json, write_json


@dataclass
class RecoveryLog:
    """Hold the repairs of a run; a process that is not the first one of its run only reads them."""

    path: Path
    is_writer: bool = True
    repairs: Adjustments = NO_REPAIRS

    def load(self, saved: Mapping[str, Any] | None) -> None:
        """Read the file; without one, take what a checkpoint says. The file is newer than any checkpoint."""
        values = read_json(self.path) if self.path.exists() else saved or {}
        try:
            self.repairs = Adjustments.from_json(values)  # type: ignore[arg-type]  # it refuses anything else
        except ValueError as error:
            raise CheckpointError(
                f"{self.path} cannot be read, and without it the run cannot be resumed exactly; "
                "restore the file from a backup, or train into another directory"
            ) from error

    def record(self, repairs: Adjustments) -> None:
        """Write repairs down. Before they take effect: a run killed right after must do the same when resumed."""
        if self.is_writer:
            write_json(self.path, repairs.to_json())
        self.repairs = repairs
