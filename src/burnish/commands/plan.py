"""`burnish plan`: what a run will take, before anything is trained."""

import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from burnish.commands.config import check
from burnish.commands.forecaster import STEPS_ONLY
from burnish.config import Given
from burnish.config.nodes import Branch
from burnish.errors import BurnishError, LaunchError
from burnish.launch.local import run_worker
from burnish.run.record.directory import RunDirectory, default_directory
from burnish.run.record.ending import error_of
from burnish.run.record.events_file import from_dict
from burnish.run.record.plan import settle_plan
from burnish.spec.events import Event
from burnish.spec.forecast import Footprint, Forecast, Timing

_FORECASTER = "burnish.commands.forecaster"


def plan(
    experiment: str | Path | Given,
    *,
    configs: Sequence[Path] = (),
    overrides: Sequence[str | Branch] = (),
    directory: Path | None = None,
    is_steps_only: bool = False,
    watch: Callable[[Event], None] = lambda event: None,
) -> Forecast:
    """Encode the data, take a few steps in a separate process, and estimate the run; nothing of it is kept.

    With `is_steps_only`, what follows the last step is not timed.
    """
    files = [str(path) for path in configs]
    resolved = check(experiment, configs=files, overrides=overrides, has_inputs=True)
    place = directory or default_directory(str(experiment))
    heard: list[Mapping[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="burnish-plan-") as folder:
        run = RunDirectory(Path(folder) / "run")
        settle_plan(run, resolved)
        asked = [_FORECASTER, str(run.path), str(place), repr(time.time()), *([STEPS_ONLY] if is_steps_only else [])]
        code = run_worker(asked, on_line=lambda line: _hear(line, watch, heard))
    refused = next((error for error in map(error_of, heard) if error is not None), None)
    if refused is not None:
        raise refused
    if not heard or code != 0:
        raise _died(code)
    return _rebuilt(heard[-1]["forecast"])


def _hear(line: str, watch: Callable[[Event], None], heard: list[Mapping[str, Any]]) -> None:
    try:
        values = json.loads(line)
        is_result = "forecast" in values or error_of(values) is not None
        event = None if is_result else from_dict(values)
    except (ValueError, TypeError, KeyError):
        sys.stderr.write(line)  # a library's own words, not ours
        return
    if event is None:
        heard.append(values)
    else:
        watch(event)


def _died(code: int) -> BurnishError:
    if code == -signal.SIGKILL:
        return LaunchError(
            "the largest batch does not fit into this machine's memory: the process that tried it was killed; "
            "raise train.accumulate, lower task.max_length or use a smaller model"
        )
    return LaunchError(f"the process that tried a few steps died with exit code {code}; its output is above")


def _rebuilt(values: Mapping[str, Any]) -> Forecast:
    timing, footprint = Timing(**values["timing"]), Footprint(**values["footprint"])
    return Forecast(**{**values, "timing": timing, "footprint": footprint})
