"""Bugs to plant in a worker, each of which a comparison of runs must notice; a worker calls one before it begins."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from burnish import durable
from burnish.data.batching.batches import BatchStream, Cursor
from burnish.engine import learner_torch
from burnish.engine.feed import BatchFeeder
from burnish.engine.learner_torch import Learner
from burnish.engine.progress import Milestones
from burnish.engine.state import Moment
from burnish.run import attempt
from burnish.run.record.events_file import EventsFile
from burnish.storage import manifest

Mutant = Callable[[], None]


def address(mutant: Mutant) -> str:
    """Name a mutant so that a worker can find it."""
    return f"{mutant.__module__}:{mutant.__name__}"


def the_average_is_not_restored() -> None:
    def read(learner: Learner, folder: Any) -> None:
        kept = [tensor.clone() for tensor in learner.average_tensors()]
        real(learner, folder)
        for tensor, was in zip(learner.average_tensors(), kept, strict=True):
            tensor.copy_(was)

    real = attempt.read_learner
    setattr(attempt, "read_learner", read)  # noqa: B010  # mypy refuses a plain assignment to a function


def the_optimizer_is_not_restored() -> None:
    def read(learner: Learner, folder: Any) -> None:
        real(learner, folder)
        learner.optimizer.state.clear()

    real = attempt.read_learner
    setattr(attempt, "read_learner", read)  # noqa: B010  # as above


def the_position_is_one_batch_off() -> None:
    def move(stream: BatchStream, place: Cursor) -> None:
        move_to(stream, Cursor(epoch=place["epoch"], batch=(place["batch"] + 1) % stream.batches_in(place["epoch"])))

    move_to = BatchStream.cursor.fset
    assert move_to is not None
    setattr(BatchStream, "cursor", BatchStream.cursor.setter(move))  # noqa: B010  # as above


def the_best_score_is_forgotten() -> None:
    _restored_with(best_score=None, best_step=None)


def the_patience_begins_anew() -> None:
    _restored_with(bad_evaluations=0)


def the_schedule_begins_anew() -> None:
    _restored_with(schedule={})


def steps_done_again_are_told_twice() -> None:
    setattr(EventsFile, "rewind", lambda self, step: 0)  # noqa: B010  # as above


def one_step_too_many_is_cut_from_the_events() -> None:
    real = EventsFile.rewind
    setattr(EventsFile, "rewind", lambda self, step: real(self, step - 1))  # noqa: B010  # as above


def the_warm_up_begins_anew() -> None:
    def read(values: Any) -> Moment:
        moment = real(values)
        first.append(moment.train.position.step)
        return moment

    first: list[int] = []
    real, factor = Moment.from_json, Milestones.factor

    def late(self: Milestones, position: Any) -> float:
        from dataclasses import replace

        return factor(self, replace(position, step=position.step - (first[-1] if first else 0)))

    setattr(Moment, "from_json", read)  # noqa: B010  # as above
    setattr(Milestones, "factor", late)  # noqa: B010  # as above


def no_checkpoint_is_verified() -> None:
    setattr(manifest, "fault", lambda folder, *, needs=(): None)  # noqa: B010  # as above


def dropout_remembers_what_it_drew() -> None:
    setattr(Learner, "_seed_others", lambda self, step, micro: None)  # noqa: B010  # as above
    setattr(learner_torch, "drawing", lambda noise: nullcontext())  # noqa: B010  # as above


def the_position_is_that_of_the_batches_made_ahead() -> None:
    def cursor(self: BatchFeeder) -> dict[str, int]:
        ahead = real(self)["batch"] + 2
        return {"epoch": real(self)["epoch"] + ahead // _BATCHES, "batch": ahead % _BATCHES}

    real = BatchFeeder.cursor
    setattr(BatchFeeder, "cursor", cursor)  # noqa: B010  # as above


def files_are_not_synced() -> None:
    setattr(manifest, "sync_file", lambda path: None)  # noqa: B010  # as above


def the_folder_of_checkpoints_is_not_synced() -> None:
    setattr(durable, "sync_folder", lambda path: None)  # noqa: B010  # as above


def the_manifest_comes_first() -> None:
    def commit(folder: Any, facts: Any) -> None:
        real_sync, late = manifest.sync_file, []
        setattr(manifest, "sync_file", late.append)  # noqa: B010  # as above
        real(folder, facts)
        for path in late:
            real_sync(path)
        setattr(manifest, "sync_file", real_sync)  # noqa: B010  # as above

    real = manifest.commit
    setattr(manifest, "commit", commit)  # noqa: B010  # as above


_BATCHES = 6
"""In an epoch of the scene that these are planted in."""


def _restored_with(**values: Any) -> None:
    real = Moment.from_json
    setattr(Moment, "from_json", lambda saved: real({**saved, "train": {**saved["train"], **values}}))  # noqa: B010  # as above
