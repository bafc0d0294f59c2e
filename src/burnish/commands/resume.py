"""`burnish resume`: a run goes on from its newest good checkpoint."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from burnish.commands.train import go_on
from burnish.config import trust
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import read_plan
from burnish.run.record.result import RunResult
from burnish.run.worker import ACCEPT_CHANGED_DATA
from burnish.spec.events import Event


def resume(
    run: Path,
    *,
    processes: int = 1,
    accept_changed_data: bool = False,
    trust_code: bool = False,
    watch: Callable[[Event], None] = lambda event: None,
) -> RunResult:
    """Go on with a run to its end, on any number of processes; a run that has ended is only read.

    A plan or data that changed since the checkpoint is refused; changed data may be accepted, and the run says so.
    With `trust_code`, the code that its plan names may run, and the plan is one that this user trained with.
    """
    directory = RunDirectory(run)
    read_plan(directory, trust_code=trust_code)  # before a lock is put there
    if trust_code:
        trust(directory.plan)
    options = [ACCEPT_CHANGED_DATA] if accept_changed_data else []
    settle = partial(read_plan, directory)
    return go_on(directory, settle=settle, processes=processes, watch=watch, options=options)
