"""exit.json: how an attempt ended, for people, for the parent process and for the next attempt."""

import signal
from collections.abc import Mapping
from typing import Any

from burnish import errors
from burnish.early_signals import STOPPED
from burnish.errors import BurnishError
from burnish.run.record.directory import RunDirectory, write_json

PREEMPTED = STOPPED
"""The exit code of a run that was asked to stop and can be resumed."""
COMPLETE = ("finished", "early_stopping")
MOST_SECONDS = 1e12
"""More than thirty thousand years: what says so was not written by a run."""
_ENDED_AT_ONCE = (128 + signal.SIGINT, 128 + signal.SIGTERM)
"""What a worker leaves with that is asked to stop a second time."""


def record(directory: RunDirectory, reason: str, *, step: int, seconds: float, memory_bytes: int) -> None:
    """Write down an ending without an error, with the time this attempt took and the most memory it held at once."""
    values = {"reason": reason, "step": step, "seconds": round(seconds, 3), "memory_bytes": memory_bytes}
    write_json(directory.exit, values)


def refusal(error: BurnishError) -> dict[str, str]:
    """Give an error as values that another process can raise again: as the nearest kind that every process knows."""
    kind = next(kind for kind in type(error).__mro__ if hasattr(errors, kind.__name__))
    return {"error": kind.__name__, "message": str(error)}


def error_of(values: Mapping[str, Any]) -> BurnishError | None:
    """Rebuild an error from its values; None when they are no error."""
    if "error" not in values or "message" not in values:
        return None
    kind = getattr(errors, str(values["error"]), BurnishError)
    # ConfigError is built from problems; its finished text must come out unchanged all the same.
    error: BurnishError = kind.__new__(kind)
    Exception.__init__(error, str(values["message"]))
    return error


def died(directory: RunDirectory, *, exit_code: int) -> errors.LaunchError:
    """Say that a worker ended without a word."""
    if exit_code in _ENDED_AT_ONCE:
        return errors.LaunchError(
            f"the run in {directory.path} was stopped at once by a second signal, before it could save; resume from "
            f"its newest checkpoint with `burnish resume {directory.path}`"
        )
    how = f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
    return errors.LaunchError(
        f"the worker of {directory.path} died with {how} before it could report why; its output is above. "
        f"`burnish resume {directory.path}` continues from the newest good checkpoint"
    )
