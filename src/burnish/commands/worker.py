"""The process that trains: told a run directory, it speaks in events on standard output and ends with an exit code."""

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.engine.stop import StopRequest
from burnish.errors import BurnishError
from burnish.run.directory import RunDirectory, write_json
from burnish.run.ending import COMPLETE, PREEMPTED, record, refusal
from burnish.run.events_file import EventsFile, to_dict
from burnish.run.lock import held
from burnish.run.plan import read_plan
from burnish.run.sinks import Sinks
from burnish.spec.events import Event, Started

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burnish.run.assemble import Trained
    from burnish.spec.values import Outcome


def main(argv: list[str]) -> int:
    """Train the run in the directory given."""
    run = RunDirectory(Path(argv[0]))
    try:
        with held(run):
            return _attempt(run)
    except BurnishError as error:
        # Whoever holds the lock owns exit.json: a refused second process only tells its parent.
        sys.stdout.write(json.dumps(refusal(error)) + "\n")
        return error.exit_code


def _attempt(run: RunDirectory) -> int:
    run.exit.unlink(missing_ok=True)
    run.stop_file.unlink(missing_ok=True)
    try:
        return _train(run)
    except BurnishError as error:
        write_json(run.exit, {"reason": "failed", **refusal(error)})
        raise


def _train(run: RunDirectory) -> int:
    request = StopRequest()
    request.listen()
    began = time.monotonic()
    experiment = read_plan(run)
    file = EventsFile(run.events)
    watchers = [tracker.open(run.path, name=experiment.name) for tracker in experiment.track]
    sinks = Sinks(file, _attempt_number(file), lambda event: _say(event, request), watchers)

    from burnish.report.build import write_page
    from burnish.run.assemble import train
    from burnish.run.finish import finish

    trained = train(run, experiment, sinks=sinks, request=request)
    reason = trained.ended.reason
    if reason in COMPLETE:
        outcomes = finish(trained, run)
        _compare(run, trained, outcomes, sinks)
    sinks.close()
    record(run, reason, step=trained.ended.step, seconds=time.monotonic() - began)
    write_page(run)
    return 0 if reason in COMPLETE else PREEMPTED


def _compare(run: RunDirectory, trained: "Trained", outcomes: "Mapping[str, Outcome]", sinks: Sinks) -> None:
    from burnish.report.build import add_baselines, score_baselines

    split = next(name for name in ("test", "validation") if name in outcomes and outcomes[name].truth is not None)
    found = score_baselines(
        trained.prepared,
        outcomes[split],
        split=split,
        metrics=trained.scorer.metrics,
        columns=trained.experiment.task.input_columns,
        seed=trained.experiment.runtime.seed,
        note=sinks.note,
    )
    add_baselines(run, found)


def _say(event: Event, request: StopRequest) -> None:
    try:
        sys.stdout.write(json.dumps(to_dict(event)) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever started this run is gone: save and stop, so that nobody trains unseen.
        request.reason = request.reason or "orphaned"
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # held until the process ends


def _attempt_number(file: EventsFile) -> int:
    last = file.last(Started)
    return 1 if last is None else last.attempt + 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
