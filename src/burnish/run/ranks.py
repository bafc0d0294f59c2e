"""What the processes of one run do in turn: process 0 reads, mends and writes first, the others follow it."""

from collections.abc import Sequence

from burnish.dist.world import World, place_of
from burnish.engine.state import Moment, refusing_misfit
from burnish.run.context import RunContext
from burnish.run.preparation.inputs import TrainedOn
from burnish.run.preparation.prepare import prepare
from burnish.run.preparation.prepared_data import PreparedData
from burnish.storage.checkpoints import Checkpoint, CheckpointStore

_LAST_TURN = 2


def prepare_in_turn(run: RunContext, *, trained_on: TrainedOn) -> PreparedData:
    """Prepare the data on process 0, then on the first of each other machine, then on all, who find it in the cache.

    So each machine downloads and tokenises once, and none does if they share a cache.
    """
    turn = 0 if run.is_first else 1 if place_of().local_rank == 0 else 2
    for _ in range(turn):
        run.world.barrier()
    directory = run.directory if run.is_first else None
    prepared = prepare(run.experiment, directory, tell=run.sinks.note, trained_on=trained_on)
    for _ in range(_LAST_TURN - turn):
        run.world.barrier()
    return prepared


def newest_checkpoint(store: CheckpointStore, world: World) -> Checkpoint | None:
    """Give every process the same checkpoint; only process 0 judges which are good, and puts bad ones aside.

    Taken is the newest whose best one is there too: going on from before a lost best one makes it again, bit for bit.
    """
    # `newest` refuses, if there once were some.
    found = (_newest_with_its_best(store.good()) or store.newest()) if world.rank == 0 else None
    return _shared(found, store, world)


def checkpoint_to_go_back_to(store: CheckpointStore, world: World) -> Checkpoint | None:
    """Give every process the newest checkpoint that the run would also have if nobody had ever stopped it.

    Those saved by later stops are deleted, for what comes after the place gone back to will be another training.
    """
    found = None
    if world.rank == 0:
        found = _newest_with_its_best([each for each in store.good() if moment_of(each).train.is_due])
        store.delete_after(found.step if found else -1)
    return _shared(found, store, world)


def moment_of(checkpoint: Checkpoint) -> Moment:
    """Read what a checkpoint recorded besides weights; refuse what no run can have written."""
    with refusing_misfit(checkpoint.path):
        return Moment.from_json(checkpoint.state())


def _shared(found: Checkpoint | None, store: CheckpointStore, world: World) -> Checkpoint | None:
    step = world.gather(found.step if found else None)[0]
    return found if world.rank == 0 or step is None else store.at(step)


def _newest_with_its_best(good: Sequence[Checkpoint]) -> Checkpoint | None:
    steps = {None, *(each.step for each in good)}
    newest = good[-1] if good else None
    return next((each for each in reversed(good) if moment_of(each).train.best_step in steps), newest)
