"""Decides which checkpoints stay on disk."""

from collections.abc import Mapping

from burnish.engine.position import TrainingProgress, is_due
from burnish.spec.experiment import Keep


def wanted(places: Mapping[int, TrainingProgress], *, keep: Keep, best: int | None) -> set[int]:
    """Name the steps that stay: the newest, the best, and the first at or after each multiple of `every`."""
    steps = sorted(places)
    stay = {step for step in steps if step == best} | set(steps[-keep.last :])
    before = TrainingProgress()
    for step in steps:
        # Whoever opens a new multiple stays for good, so what was deleted between never changes the answer.
        if is_due(keep.every, before=before, now=places[step]):
            stay.add(step)
        before = places[step]
    return stay


def dispensable(places: Mapping[int, TrainingProgress], *, best: int | None) -> int | None:
    """Name the oldest step that may go when the disk is full: never the best, never the newest."""
    return next((step for step in sorted(places)[:-1] if step != best), None)
