"""`burnish resume`: a run goes on from its newest good checkpoint."""

from collections.abc import Callable
from pathlib import Path

from burnish.commands.train import result_of, work
from burnish.run.directory import RunDirectory
from burnish.run.ending import COMPLETE
from burnish.run.plan import read_plan
from burnish.run.result import RunResult
from burnish.spec.events import Event


def resume(run: Path, *, processes: int = 1, watch: Callable[[Event], None] = lambda event: None) -> RunResult:
    """Go on with a run to its end, on any number of processes; a run that has ended is only read."""
    directory = RunDirectory(run)
    read_plan(directory)
    done = result_of(directory)
    if done.reason not in COMPLETE:
        return work(directory, processes=processes, watch=watch)
    if done.report is None:
        # The last attempt was killed between its ending and its page.
        from burnish.report.build import write_page

        write_page(directory)
    return result_of(directory)
