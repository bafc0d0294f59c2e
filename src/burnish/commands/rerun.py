"""`burnish rerun`: trains the plan of a run again, and checks that it comes to the same bits."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from burnish.commands.crash.sameness import FileDifference, compare_environments, find_differences
from burnish.commands.train import read_result, train
from burnish.errors import CheckpointError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.ending import COMPLETE
from burnish.run.record.result import RunResult
from burnish.spec.events import Event


@dataclass(frozen=True)
class RerunResult:
    """What the second training came to, and how it differs from the first."""

    result: RunResult
    is_verified: bool
    """False when nobody asked, or the second run has not ended."""
    differences: tuple[FileDifference, ...] = ()
    environment: tuple[str, ...] = ()
    """What differs between machines and libraries; given only when the bits differ."""

    @property
    def is_exact(self) -> bool:
        """Whether both runs were compared and came to the same bits."""
        return self.is_verified and not self.differences


def rerun(
    run: Path,
    *,
    directory: Path | None = None,
    processes: int | None = None,
    verify: bool = False,
    trust_code: bool = False,
    watch: Callable[[Event], None] = lambda event: None,
) -> RerunResult:
    """Train a run's plan again into another directory; with `verify`, compare weights, predictions and scores."""
    first = RunDirectory(run)
    if verify and read_result(first).reason not in COMPLETE:
        raise CheckpointError(
            f"{run} has not finished, so there is nothing to verify; finish it with `burnish resume {run}`"
        )
    second = RunDirectory(directory or free_directory(run))
    if second.path.absolute() == run.absolute():
        raise CheckpointError(f"{run} cannot be trained again into itself; name another directory with --dir")
    result = train(str(first.plan), directory=second.path, processes=processes, trust_code=trust_code, watch=watch)
    if not verify or result.reason not in COMPLETE:
        return RerunResult(result, is_verified=False)
    found = find_differences(first, second)
    environment = compare_environments(first, second) if found else []
    return RerunResult(result, is_verified=True, differences=tuple(found), environment=tuple(environment))


def free_directory(run: Path) -> Path:
    """Name a directory next to a run: a new one, or one whose training was interrupted."""
    names = (f"{run.absolute().name}-rerun{'' if number == 1 else f'-{number}'}" for number in count(1))
    return next(path for path in map(run.absolute().with_name, names) if _is_free(path))


def _is_free(path: Path) -> bool:
    return not path.exists() or (RunDirectory(path).exists() and read_result(RunDirectory(path)).reason not in COMPLETE)
