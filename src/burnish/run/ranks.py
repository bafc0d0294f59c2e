"""What the processes of one run do in turn: process 0 reads, mends and writes first, the others follow it."""

from collections.abc import Callable

from burnish.dist.world import World
from burnish.errors import LaunchError
from burnish.run.directory import RunDirectory
from burnish.run.inputs import Provenance
from burnish.run.material import Material
from burnish.run.prepare import prepare
from burnish.spec.experiment import Experiment
from burnish.storage.checkpoints import Checkpoint, CheckpointStore


def prepare_in_turn(
    experiment: Experiment,
    directory: RunDirectory,
    *,
    world: World,
    tell: Callable[[str], None],
    provenance: Provenance,
) -> Material:
    """Prepare the data on process 0, then on the others, who find the features in the cache."""
    if world.rank > 0:
        world.barrier()
        return prepare(experiment, directory, tell=tell, is_recorded=False, provenance=provenance)
    prepared = prepare(experiment, directory, tell=tell, provenance=provenance)
    world.barrier()
    return prepared


def newest_checkpoint(store: CheckpointStore, world: World) -> Checkpoint | None:
    """Give every process the same checkpoint; only process 0 judges which are good, and puts bad ones aside.

    Taken is the newest whose best one is there too: going on from before a lost best one makes it again, bit for bit.
    """
    found = _newest_with_its_best(store) if world.rank == 0 else None
    step = world.gather(found.step if found else None)[0]
    return found if world.rank == 0 or step is None else store.at(step)


def _newest_with_its_best(store: CheckpointStore) -> Checkpoint | None:
    good = store.good()
    if not good:
        return store.newest()  # which refuses, if there once were some
    steps = {None, *(each.step for each in good)}
    return next((each for each in reversed(good) if each.state()["train"]["best_step"] in steps), good[-1])


def refuse_processes(world: World) -> None:
    """Refuse several processes where only one can train."""
    if world.size > 1:
        raise LaunchError(f"this model is grown by one process, and there are {world.size}; train without --processes")
