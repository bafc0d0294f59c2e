"""The process that trains: told a run directory, it speaks in events on standard output and ends with an exit code."""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import NoReturn

from burnish.dist.world import LostPeer, World, keep_to_own_cores, place_of, world_from_environment
from burnish.engine.stop import StopRequest
from burnish.errors import BurnishError, CheckpointError, ConfigError, LaunchError, Problem
from burnish.launch.module_path import find_modules_here
from burnish.run.announce import Announcer, announce_failure
from burnish.run.contention import ContentionWatch
from burnish.run.context import RunContext, space_for
from burnish.run.machine import peak_memory
from burnish.run.record.directory import RunDirectory, write_json
from burnish.run.record.ending import COMPLETE, PREEMPTED, record, refusal
from burnish.run.record.events_file import EventsFile, to_dict
from burnish.run.record.lock import held
from burnish.run.record.plan import read_plan
from burnish.run.record.result import write_sheet
from burnish.run.selection import loss_scores
from burnish.run.sinks import EventDispatcher, PauseAfter, silent
from burnish.spec.events import Event, Noted, Started
from burnish.spec.experiment import Experiment
from burnish.storage.room import is_full
from burnish.tracking.hypertune import SAYS_TRIAL, report_trial

ACCEPT_CHANGED_DATA = "--accept-changed-data"
AS_TRIAL = "--as-trial"
"""One of many runs of a study: no audit, baselines, insights or page, which would take longer than a small model."""
UNTIL = "--until="
"""Pause, as a STOP file asks for, once the run has been evaluated so often."""
_ECHO_SECONDS = 3.0
"""A scheduler tells every process to stop, and so does torchrun: both within moments."""


def main(argv: list[str]) -> int:
    """Train the run in the directory given; as one of several processes when RANK and WORLD_SIZE say so."""
    find_modules_here()
    run = RunDirectory(Path(argv[0]))
    try:
        keep_to_own_cores()  # before torch starts threads, which stay where they began
        is_first = place_of().rank == 0
        with held(run, tell=_tell) if is_first else nullcontext():
            return _attempt(run, argv[1:], is_first=is_first)
    except LostPeer as error:
        return error.exit_code  # whoever ended first has said why, or is reported by the launcher
    except BurnishError as error:
        # Whoever holds the lock owns exit.json: a refused second process only tells its parent.
        sys.stdout.write(json.dumps(refusal(error)) + "\n")
        sys.stdout.flush()
        return error.exit_code


def _attempt(run: RunDirectory, options: Sequence[str], *, is_first: bool) -> int:
    if is_first:
        run.exit.unlink(missing_ok=True)
        run.stop_file.unlink(missing_ok=True)
    began = time.time()
    try:
        # Joined before signals are listened to: a process that waits for one that never comes must be easy to end.
        with closing(world_from_environment()) as world, _in_a_sentence(run):
            return _train(run, world, options)
    except BurnishError as error:
        if is_first and not _is_tried_again(error):
            write_json(run.exit, {"reason": "failed", **refusal(error)})
            announce_failure(run, error, began=began, note=_tell)
        raise


def _is_tried_again(error: BurnishError) -> bool:
    """Tell whether the agent of several processes will start them again, as it does when one has lost the others."""
    start, most = (int(os.environ.get(f"TORCHELASTIC_{name}", "0")) for name in ("RESTART_COUNT", "MAX_RESTARTS"))
    return isinstance(error, LaunchError) and start < most


@contextmanager
def _in_a_sentence(run: RunDirectory) -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        raise _add_origins(error, run) from error
    except OSError as error:
        if not is_full(error):
            raise
        raise CheckpointError(
            f"{error.filename or run.path} could not be written because the disk is full; free some space "
            "and continue with "
            f"`burnish resume {run.path}`"
        ) from error
    except (RuntimeError, MemoryError) as error:
        from burnish.engine.memory_torch import is_out_of_memory

        if not is_out_of_memory(error):
            raise
        first = str(error).strip().partition("\n")[0] or type(error).__name__
        raise BurnishError(
            f"out of memory where a smaller batch does not help ({first}); use a smaller model, an optimizer "
            "with less state, or a machine with more memory. `burnish resume` continues from the newest checkpoint"
        ) from error


def _add_origins(error: ConfigError, run: RunDirectory) -> ConfigError:
    """Say where the options that problems begin with were written: what only the data shows is found without that."""
    from burnish.report.collect import read_settings

    origins = {each.path: each.origin for each in read_settings(run.plan) if each.is_chosen}
    problems = []
    for problem in error.problems:
        option = problem.message.split(maxsplit=1)[0].rstrip(":")
        found = [origin for path, origin in origins.items() if path == option or path.startswith(f"{option}.")]
        problems.append(Problem(problem.message, problem.details or tuple(found[:1])))
    return ConfigError(problems)


def _train(directory: RunDirectory, world: World, options: Sequence[str]) -> int:
    """The whole run in its order: plan, start, data, training, scores and artifact, baselines, page."""
    request = StopRequest(echo_seconds=_ECHO_SECONDS if world.size > 1 or "BURNISH_NODES" in os.environ else 0.0)
    request.listen()
    began = time.monotonic()
    experiment = read_plan(directory)
    sinks = _sinks(directory, experiment, request, options) if world.rank == 0 else silent()
    run = RunContext(directory, experiment, sinks, request, world)
    is_changed_data_accepted, is_whole = ACCEPT_CHANGED_DATA in options, AS_TRIAL not in options

    # Torch takes seconds to load: a plan that cannot be read, or a directory that is taken, was refused before.
    from burnish.report.card import write_card
    from burnish.report.page import write_page
    from burnish.run.attempt import find_start, train
    from burnish.run.audit import audit_data, score_without_repeated
    from burnish.run.compare import compare
    from burnish.run.finish import finish
    from burnish.run.ranks import prepare_in_turn

    start = find_start(run, is_changed_data_accepted=is_changed_data_accepted)
    data = prepare_in_turn(run, trained_on=start.trained_on)
    if run.is_first and is_whole and (start.checkpoint is None or is_changed_data_accepted):
        audit_data(run, data)
    trained = train(run, data, start.checkpoint)
    reason = trained.ended.reason
    if reason in COMPLETE:
        finished = finish(trained, is_inspected=is_whole)
        if run.is_first:
            write_sheet(directory, compare(trained, finished) if is_whole else finished.sheet)
        if run.is_first and is_whole:
            score_without_repeated(trained.scorer, finished.outcomes, run)
            write_card(directory)
    sinks.close()
    if run.is_first:
        seconds = time.monotonic() - began
        record(directory, reason, step=trained.ended.step, seconds=seconds, memory_bytes=peak_memory())
        if is_whole:
            write_page(directory)
    world.barrier()  # a launcher that sees one process end may stop the others, and process 0 is still writing
    return 0 if reason in COMPLETE else PREEMPTED


def _sinks(run: RunDirectory, experiment: Experiment, request: StopRequest, options: Sequence[str]) -> EventDispatcher:
    file = EventsFile(run.events)
    last = file.last(Started)
    attempt = 1 if last is None else last.attempt + 1
    space = space_for(run, experiment, request)
    sinks = EventDispatcher(file, attempt, lambda event: _say(event, request), room=space)
    for tracker in experiment.track:
        sinks.watch(tracker, run.path, name=experiment.name)
    if experiment.notify and AS_TRIAL not in options:
        announcer = Announcer(experiment.notify, run, name=experiment.name, note=sinks.note)
        sinks.watchers = [*sinks.watchers, announcer]
    pauses = [PauseAfter(run, int(each.removeprefix(UNTIL))) for each in options if each.startswith(UNTIL)]
    is_told = any(map(os.environ.get, SAYS_TRIAL))
    reports = [report_trial(os.environ, losses=loss_scores(experiment))] if is_told else []
    sinks.watchers = [*sinks.watchers, ContentionWatch(sinks.note), *reports, *pauses]
    return sinks


def _say(event: Event, request: StopRequest) -> None:
    try:
        sys.stdout.write(json.dumps(to_dict(event)) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever started this run is gone: save and stop, so that nobody trains unseen.
        request.reason = request.reason or "orphaned"
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # held until the process ends


def _tell(sentence: str) -> None:
    sys.stdout.write(json.dumps(to_dict(Noted(0, sentence))) + "\n")
    sys.stdout.flush()


def leave(code: int) -> NoReturn:
    """End this process; as one of several without tearing the interpreter down.

    A thread of gloo may still hold the tensors of the last exchange. If it lets go of them while Python is being torn
    down, it cannot take Python's lock any more, and the process is aborted although all of its work is done.
    """
    if not os.environ.get("RANK"):
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
