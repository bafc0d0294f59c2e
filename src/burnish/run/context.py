"""What holds for a run from its first moment to its last, bound once by the worker."""

from dataclasses import dataclass, field

from burnish.dist.world import Solo, World
from burnish.engine.stop import StopRequest
from burnish.run.record.directory import RunDirectory
from burnish.run.sinks import EventDispatcher
from burnish.spec.experiment import Experiment
from burnish.storage.checkpoints import CheckpointStore
from burnish.storage.room import DiskSpace


@dataclass(frozen=True)
class RunContext:
    """A run at work: where its files are, what it trains, who hears of it and who may stop it."""

    directory: RunDirectory
    experiment: Experiment
    sinks: EventDispatcher
    request: StopRequest
    world: World = field(default_factory=Solo)

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.world.rank == 0

    @property
    def store(self) -> CheckpointStore:
        """The checkpoints of the run; what is wrong with one of them is noted."""
        return CheckpointStore(self.directory.checkpoints, self.directory.quarantine, tell=self.sinks.note)

    @property
    def space(self) -> DiskSpace:
        """How long a full disk is waited for."""
        return space_for(self.directory, self.experiment, self.request)


def space_for(directory: RunDirectory, experiment: Experiment, request: StopRequest) -> DiskSpace:
    """Say how long a run waits for room on its disk: as its policy says, or until it is asked to stop."""
    wait = experiment.train.disk_wait
    seconds = 0.0 if wait.unit == "never" else wait.amount * 60
    return DiskSpace(directory.path, seconds, lambda: request.reason is not None or directory.stop_file.exists())
