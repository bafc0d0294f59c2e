"""Trains a run in this process, as its worker would until the loop is over."""

from burnish.engine.stop import StopRequest
from burnish.run.attempt import Trained, find_start, train
from burnish.run.context import RunContext
from burnish.run.ranks import prepare_in_turn
from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import EventsFile
from burnish.run.record.plan import read_plan
from burnish.run.sinks import EventDispatcher


def train_here(
    directory: RunDirectory, *, sinks: EventDispatcher | None = None, request: StopRequest | None = None
) -> Trained:
    """Train what the plan of a directory says."""
    sinks = sinks or EventDispatcher(EventsFile(directory.events), 1, lambda event: None)
    run = RunContext(directory, read_plan(directory), sinks, request or StopRequest())
    start = find_start(run)
    return train(run, prepare_in_turn(run, trained_on=start.trained_on), start.checkpoint)
