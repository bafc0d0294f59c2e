"""Decides what becomes of a run after a step that must not be applied, and records it in repairs.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.engine.recovery import NO_REPAIRS, Adjustments, BadStep
from burnish.errors import BurnishError, CheckpointError
from burnish.run.record.directory import read_json, write_json
from burnish.spec.experiment import TrainPolicy
from burnish.spec.values import Rows

_SHOWN_ROWS = 20


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


def recover(bad: BadStep, ledger: RecoveryLog, policy: TrainPolicy, *, rows: Rows, restored_step: int) -> str:
    """Record what is done about it, and say so in a sentence; refuse when nothing more may be tried."""
    repairs = ledger.repairs.after(bad, policy.recovery, restored_step=restored_step)
    if repairs is None:
        counted = "1 recovery" if ledger.repairs.tries == 1 else f"{ledger.repairs.tries} recoveries"
        why = "train.recovery.action is stop" if policy.recovery.action == "stop" else f"{counted} did not help"
        limit = f" (train.loss_limit is {policy.loss_limit:g})" if policy.loss_limit is not None else ""
        raise BurnishError(
            f"{bad}{limit}, and {why}. {_batch(bad).capitalize()} held {_places(bad, rows)}. "
            "Look at these rows first; if they are sound, lower optimizer.learning_rate, set train.clip, "
            "or try train.recovery=lower, in another directory"
        )
    ledger.record(repairs)
    what = _batch(bad) + " is passed over" if policy.recovery.action == "skip" else _lowered(policy)
    return f"{bad}; going back to step {restored_step}: {what}, try {repairs.tries} of {policy.recovery.tries}"


def _lowered(policy: TrainPolicy) -> str:
    return f"the learning rate is multiplied by {policy.recovery.factor:g} from there on"


def _batch(bad: BadStep) -> str:
    epoch, batch = bad.place
    return f"batch {batch + 1} of epoch {epoch + 1}"


def _places(bad: BadStep, rows: Rows) -> str:
    shown = list(dict.fromkeys(bad.rows))  # several windows may come from one row
    names = [rows.places.describe(row) for row in shown[:_SHOWN_ROWS]]
    more = f" and {len(shown) - _SHOWN_ROWS} more" if len(shown) > _SHOWN_ROWS else ""
    return ", ".join(names) + more
