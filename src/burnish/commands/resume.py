"""`burnish resume`: a run goes on from its newest good checkpoint."""

from collections.abc import Callable
from pathlib import Path

from burnish.commands.train import result_of, work
from burnish.run.directory import RunDirectory
from burnish.run.ending import COMPLETE
from burnish.run.plan import read_plan
from burnish.run.result import RunResult
from burnish.spec.events import Event


def resume(run: Path, *, watch: Callable[[Event], None] = lambda event: None) -> RunResult:
    """Go on with a run to its end; a run that has ended is only read."""
    directory = RunDirectory(run)
    read_plan(directory)
    done = result_of(directory)
    return done if done.reason in COMPLETE else work(directory, watch=watch)
