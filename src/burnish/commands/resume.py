"""`burnish resume`: a run goes on from its newest good checkpoint."""

from collections.abc import Callable
from pathlib import Path

from burnish.commands.train import go_on
from burnish.run.directory import RunDirectory
from burnish.run.plan import read_plan
from burnish.run.result import RunResult
from burnish.spec.events import Event


def resume(run: Path, *, processes: int = 1, watch: Callable[[Event], None] = lambda event: None) -> RunResult:
    """Go on with a run to its end, on any number of processes; a run that has ended is only read."""
    directory = RunDirectory(run)
    read_plan(directory)
    return go_on(directory, processes=processes, watch=watch)
