"""Looks at jobs that were submitted, and controls them: the verbs of `runs`, for work elsewhere."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from burnish.commands.elsewhere.launching import (
    JobOutcome,
    Patience,
    change_processes,
    fill_environment,
    find_addresses,
    follow,
    read_outcome,
    settle_status,
)
from burnish.commands.run_control import change_tags, turns
from burnish.errors import BurnishError, LaunchError
from burnish.launch.options import read_launcher
from burnish.launch.plan import PAUSE, PLAN, RESULT, STOP, JobPlan
from burnish.launch.records import JobRecord, find_record, forget, read_records, save_record
from burnish.launch.transfer import remove_remote, write_remote
from burnish.spec.launcher import Check, JobSpec, JobStatus, Launcher

_POLL_SECONDS = 5.0


@dataclass(frozen=True)
class JobRow:
    """One job in a list; its state is what its service says now."""

    record: JobRecord
    state: str
    fault: str | None = None
    """Why the state is not known."""


def ls(*, tag: str | None = None) -> list[JobRow]:
    """List the jobs that were submitted from here, the newest first, and ask how each stands."""
    return [_row(record) for record in read_records() if tag is None or tag in record.tags]


def show(name: str) -> JobOutcome:
    """Ask how a job stands, and what it has left so far."""
    record = find_record(name)
    return read_outcome(record, record.launcher().status(record.id))


def logs(name: str, *, is_followed: bool = False, tell: Callable[[str], None] = lambda sentence: None) -> Iterator[str]:
    """Read what a job printed; until it has ended if it is followed."""
    record = find_record(name)
    launcher = record.launcher()
    if is_followed:
        return follow(record, launcher, tell=tell)
    return (line.text for line in launcher.logs(record.id))


def stop(name: str, *, is_at_once: bool = False) -> tuple[JobRecord, JobStatus]:
    """Ask the run of a job to save and stop, and say how the job stands then.

    A job that waits in the queue is taken out of it, one of another command is ended, and so is any at once.
    """
    record = find_record(name)
    launcher = record.launcher()
    status = launcher.status(record.id)
    if status.has_ended:
        raise BurnishError(f"{record.name} does not run, it is {status.state}; there is nothing to stop")
    is_run = record.words[0] in ("train", "tune")
    if is_at_once or not is_run or status.state == "queued":
        launcher.cancel(record.id)
    for place in (record.root, *(find_addresses(record) if is_run else ())):
        write_remote(f"{place}/{STOP}", b"")  # also for who would start it once more, to make room or by mistake
    return record, launcher.status(record.id)


def wait(
    name: str,
    *,
    timeout_seconds: float | None = None,
    tell: Callable[[str], None] = lambda sentence: None,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> JobOutcome:
    """Return when a job has ended; raise if that takes longer than the timeout."""
    record = find_record(name)
    launcher, patience = record.launcher(), Patience(record, sleep, tell)
    pauses = turns(
        record.name, "jobs", timeout_seconds=timeout_seconds, sleep=sleep, now=now, pause_seconds=_POLL_SECONDS
    )
    for _ in pauses:
        with patience.bearing():
            if (status := launcher.status(record.id)).has_ended:
                return read_outcome(record, status)
    raise AssertionError("turns do not end")


def resume(name: str, *, options: Sequence[str] = ()) -> tuple[JobRecord, Launcher]:
    """Start a job that has ended once more; its command goes on with what the first one left."""
    record = find_record(name)
    recorded = record.launcher()
    status = recorded.status(record.id)
    if not status.has_ended:
        raise LaunchError(f"{record.name} is {status.state}; `burnish jobs logs -f {record.name}` follows it")
    launcher = recorded
    if options:
        given = read_launcher(record.where, options)
        launcher = recorded.model_copy(update={each: getattr(given, each) for each in given.model_fields_set})
        record = replace(record, words=change_processes(record.words, launcher))
        plan = JobPlan(record.words, max_restarts=launcher.max_restarts)
        write_remote(f"{record.root}/{PLAN}", plan.write())
    launcher = fill_environment(launcher)
    left = [f"{record.root}/{name}" for name in (RESULT, STOP, PAUSE)]
    for each in (*left, *(f"{place}/{STOP}" for place in find_addresses(record))):
        remove_remote(each)
    accepted = launcher.submit(record.job)
    again = replace(record, id=accepted.id, link=accepted.link, submitted=time.time())
    save_record(again)
    return again, launcher


def remove(name: str) -> JobRecord:
    """Forget a job and delete its folder with all that it left; refuse one that runs."""
    record = find_record(name)
    if not record.launcher().status(record.id).has_ended:
        raise LaunchError(f"{record.name} is running; stop it with `burnish jobs stop {record.name}` first")
    remove_remote(record.root)
    forget(record)
    return record


def tag(name: str, add: Sequence[str] = (), *, remove: Sequence[str] = ()) -> tuple[str, ...]:
    """Add and remove tags of a job; returns those that it has then."""
    record = find_record(name)
    tags = change_tags(record.tags, add, remove=remove)
    save_record(replace(record, tags=tags))
    return tags


def examine(where: str, options: Sequence[str]) -> list[Check]:
    """Look at all that a job of a launcher needs; nothing is started."""
    return list(read_launcher(where, options).check(JobSpec("doctor", ("train",))))


def _row(record: JobRecord) -> JobRow:
    try:
        return JobRow(record, settle_status(record, record.launcher().status(record.id)).state)
    except BurnishError as error:
        return JobRow(record, "unknown", str(error))
