"""`burnish plan`: what a run will take, before anything is trained."""

import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.commands.config import check
from burnish.commands.train import spread
from burnish.commands.workers.talk import answer, ask, note
from burnish.config import Given
from burnish.config.nodes import Branch
from burnish.errors import BurnishError, LaunchError
from burnish.launch.group import Group
from burnish.run.record.directory import RunDirectory, default_directory
from burnish.run.record.plan import read_plan, settle_plan
from burnish.spec.events import Event
from burnish.spec.experiment import Experiment
from burnish.spec.forecast import Footprint, Forecast, Timing

if TYPE_CHECKING:
    from burnish.run.attempt import Trained

_STEPS_ONLY = "--steps-only"


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
    resolved = check(experiment, configs=configs, overrides=overrides, has_inputs=True)
    place = directory or default_directory(str(experiment))
    with tempfile.TemporaryDirectory(prefix="burnish-plan-") as folder:
        run = RunDirectory(Path(folder) / "run")
        settle_plan(run, resolved)
        asked = [str(run.path), str(place), repr(time.time()), *([_STEPS_ONLY] if is_steps_only else [])]
        code, answers = ask(["burnish.commands.plan", *asked], watch=watch)
    if not answers or code != 0:
        raise _explain_death(code)
    values = answers[-1]
    timing, footprint = Timing(**values["timing"]), Footprint(**values["footprint"])
    facts = {**values["facts"], **_say_processes(resolved.experiment)}
    return Forecast(**{**values, "facts": facts, "timing": timing, "footprint": footprint})


def _say_processes(experiment: Experiment) -> dict[str, object]:
    """Say how many processes would train where more than one would; the steps were timed in one."""
    number = spread(Group.of(None), experiment).processes
    return {"processes": f"{number}, one for each GPU; timed on one"} if number > 1 else {}


def _explain_death(code: int) -> BurnishError:
    if code == -signal.SIGKILL:
        return LaunchError(
            "the largest batch does not fit into this machine's memory: the process that tried it was killed; "
            "raise train.accumulate, lower task.max_length or use a smaller model"
        )
    return LaunchError(f"the process that tried a few steps died with exit code {code}; its output is above")


def _forecast(argv: Sequence[str]) -> Iterator[dict[str, object]]:
    """Estimate in a separate process, which is given a directory with a plan and where the run would be."""
    from burnish.run.forecast import forecast

    run, place, launched = RunDirectory(Path(argv[0])), Path(argv[1]), float(argv[2])
    imported = time.time() - launched
    finish = None if _STEPS_ONLY in argv else _finish
    yield asdict(forecast(read_plan(run), run, place=place, tell=note, finish=finish, imported=imported))


def _finish(trained: "Trained") -> None:
    from burnish.report.page import write_page
    from burnish.run.compare import compare
    from burnish.run.finish import finish
    from burnish.run.record.result import write_sheet

    write_sheet(trained.run.directory, compare(trained, finish(trained)))
    write_page(trained.run.directory)


if __name__ == "__main__":
    answer(_forecast)
