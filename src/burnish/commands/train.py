"""`burnish train` and `burnish resume`: an experiment becomes a run, and an interrupted one comes to its end."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from burnish.commands.calibrate import Measure, open_choices, read_choices, time_choices, time_step
from burnish.commands.config import check
from burnish.commands.workers.talk import ask
from burnish.config import Given, Resolved, fingerprint, trust
from burnish.config.nodes import Branch
from burnish.engine.device import list_gpus
from burnish.engine.stop import REASON_OF_SIGNAL
from burnish.errors import BurnishError, CheckpointError, ConfigError, DataError, LaunchError, Problem
from burnish.launch.forks import choose_start
from burnish.launch.group import Group, run_workers
from burnish.launch.local import run_worker
from burnish.run.check import idle_options
from burnish.run.record.directory import RunDirectory, default_directory, fill_directory, read_json, write_json
from burnish.run.record.ending import COMPLETE, MOST_SECONDS, PREEMPTED, died, record, refusal
from burnish.run.record.lock import Held, claimed, unclaimed
from burnish.run.record.plan import (
    AnotherExperiment,
    OtherData,
    has_learned_nothing,
    move_aside,
    numbered,
    read_plan,
    refuse_unfit,
    remove_unstarted,
    settle_plan,
    share_plan,
)
from burnish.run.record.result import RunResult, ScoreSheet, read_sheet
from burnish.spec.events import Event, Noted, Started
from burnish.spec.experiment import Experiment
from burnish.storage.address import read_address
from burnish.storage.checkpoints import CheckpointStore

_WORKER = "burnish.run.worker"
_TURNS_TO_SETTLE, _TURN_SECONDS = 40, 0.05


def train(
    experiment: str | Path | Given,
    *,
    configs: Sequence[Path] = (),
    overrides: Sequence[str | Branch] = (),
    directory: Path | str | None = None,
    replace: bool = False,
    processes: int | Group | None = None,
    is_calibrated: bool = False,
    trust_code: bool = False,
    watch: Callable[[Event], None] = lambda event: None,
) -> RunResult:
    """Train an experiment into a directory; resume where an earlier attempt of the same experiment stopped.

    A directory or address must not hold another experiment, or a finished run of data that was edited since, unless
    `replace` moves that aside. Without one, the run goes below `runs/`, to the first name that is free or holds the
    same experiment on the same data. A finished run is only read. With `is_calibrated`, what is left
    to the machine is measured first. A config of the user's own may name any code; another run's needs `trust_code`.
    Without `processes`, one trains on each GPU.
    """
    _refuse_kind(experiment)
    if is_shared := bool(Group.of(processes).rendezvous):
        _refuse_apart(directory, replace=replace, is_calibrated=is_calibrated)
    ask = partial(check, experiment, configs=configs, overrides=overrides)
    directory = None if directory is None else fill_directory(directory, experiment=str(experiment))
    if (address := read_address(directory)) is not None:
        _refuse_replacing(address) if replace else ask(trust_code=trust_code, has_inputs=False)  # before any bucket
        again = partial(train, experiment, configs=configs, overrides=overrides, processes=processes)
        here = partial(again, is_calibrated=is_calibrated, trust_code=trust_code)
        return _train_at(address, lambda path, watch: here(directory=path, watch=watch), watch=watch)
    run = RunDirectory(Path(directory or default_directory(str(experiment))))
    refuse_unfit(run)  # before a lock is put there
    # A run that has ended is only read, and needs its data no longer.
    resolved = ask(trust_code=trust_code, has_inputs=read_result(run).reason not in COMPLETE)
    if is_calibrated:
        measure = partial(time_step, experiment, configs, overrides, watch)
        resolved = ask(measured=_measure(resolved, run, measure, watch=watch), trust_code=trust_code)
    if not run.exists():
        for each in idle_options(resolved):
            watch(Noted(0, f"{each.message} ({'; '.join(each.details)})"))
    start = partial(_start, resolved=resolved, processes=processes, watch=watch)
    if replace:
        _replace(run, watch)
    is_named = directory or replace or is_shared
    return start(run) if is_named else _train_first_free(run.path, resolved.experiment, start)


def _measure(resolved: Resolved, run: RunDirectory, measure: Measure, *, watch: Callable[[Event], None]) -> list[str]:
    choices = open_choices(resolved.experiment)
    # what an earlier attempt of the same run settled is never measured twice
    measured = read_choices(choices, read_plan(run)) if run.exists() else time_choices(choices, measure)
    watch(Noted(0, f"chosen on this machine: {', '.join(measured) or 'nothing was left on auto'}"))
    return measured


def _train_at(
    address: str, work: Callable[[Path, Callable[[Event], None]], RunResult], *, watch: Callable[[Event], None]
) -> RunResult:
    from burnish.commands.bucket import train_at  # whoever is refused does not wait for it

    return train_at(address, work, watch=watch)


def _refuse_replacing(address: str) -> None:
    raise BurnishError(f"--replace moves folders of this machine only; name another address than {address}")


def _refuse_apart(directory: Path | str | None, *, replace: bool = False, is_calibrated: bool = False) -> None:
    """Refuse what each of several nodes would do in its own way."""
    asked = {
        "--replace moves a run, and another node may be training in it; move it yourself": replace,
        "--calibrate chooses what is fastest on one machine; choose the options in the experiment": is_calibrated,
        "--dir with {time} is another folder on each node; write the name out": "{time}" in str(directory),
        f"{directory} would be copied to each node; name a folder that all of them see": read_address(directory),
    }
    problems = [Problem(sentence) for sentence, is_asked in asked.items() if is_asked]
    if problems:
        raise ConfigError(problems, subject="a run on several nodes")


def _refuse_kind(experiment: object) -> None:
    if not isinstance(experiment, str | Path | Given):
        raise BurnishError(
            f"train takes the name or the YAML file of an experiment, got a {type(experiment).__name__}; "
            'rows are trained by `burnish.train(df, target="price")`'
        )


def _train_first_free(
    base: Path, experiment: Experiment, start: Callable[..., RunResult], *, sleep: Callable[[float], None] = time.sleep
) -> RunResult:
    """Train into the first of the numbered directories that no other experiment has."""
    others: list[str] = []
    for run in map(RunDirectory, numbered(base)):
        try:
            return start(run, note=f"{others[0]}; this run is {run.path}" if others else "")
        except AnotherExperiment as other:
            others.append(f"{run.path} has other options ({other.summary})")
        except OtherData as other:
            others.append(f"{run.path} was trained on other data ({other.summary})")
        except Held:
            if not _is_of_another(run, experiment, sleep=sleep):
                raise
            others.append(f"another experiment is being trained in {run.path}")
    raise AssertionError("numbers do not end")


def _is_of_another(run: RunDirectory, experiment: Experiment, *, sleep: Callable[[float], None]) -> bool:
    """Find out whether another experiment is trained there; one that has just begun is given time to say what."""
    for _ in range(_TURNS_TO_SETTLE):
        if run.exists() and run.read_lock() is not None:
            break
        sleep(_TURN_SECONDS)
    return run.exists() and fingerprint(read_plan(run)) != fingerprint(experiment)


def _start(
    run: RunDirectory,
    *,
    resolved: Resolved,
    processes: int | Group | None,
    watch: Callable[[Event], None],
    note: str = "",
) -> RunResult:
    is_shared = bool(Group.of(processes).rendezvous)

    def settle() -> None:
        share_plan(run, resolved) if is_shared else settle_plan(run, resolved)
        if read_result(run).reason in COMPLETE:
            changes, unknown = _compare_data(run, resolved.experiment)
            if changes:
                raise OtherData(run, changes)
            watch(Noted(0, f"nothing was trained: {_finished(run, unknown)}; --replace trains it again"))
        if note:
            watch(Noted(0, note))

    refuse_unfit(run)  # before a lock is put there
    try:
        return continue_run(run, settle=settle, processes=processes, watch=watch)
    except (Held, AnotherExperiment, OtherData):
        raise
    except BurnishError:
        if is_shared:
            raise  # others may be about to begin
        with suppress(CheckpointError), unclaimed(run):
            remove_unstarted(run)
        raise


def _compare_data(run: RunDirectory, experiment: Experiment) -> tuple[list[str], str]:
    """Say how the data of a finished run differs from what it was trained on; if that is not known, say why."""
    from burnish.run.preparation.inputs import read_digests  # a run that is trained anew does not wait for it
    from burnish.run.preparation.prepare import changed_data

    known = read_digests(run.data)
    if not known:
        return [], "it did not record its data, which may have changed"
    try:
        return changed_data(experiment, known), ""
    except DataError as error:
        return [], f"its data cannot be looked at ({error})"


def _finished(run: RunDirectory, unknown: str) -> str:
    return f"the run in {run.path} is finished{f', and {unknown}' if unknown else ''}"


def _replace(run: RunDirectory, watch: Callable[[Event], None]) -> None:
    if not run.exists():
        return
    with unclaimed(run, tell=lambda sentence: watch(Noted(0, sentence))):
        if not has_learned_nothing(run):
            watch(Noted(0, f"the run that was in {run.path} is in {move_aside(run)} now"))


def resume(
    run: Path | str,
    *,
    processes: int | Group | None = None,
    accept_changed_data: bool = False,
    trust_code: bool = False,
    watch: Callable[[Event], None] = lambda event: None,
) -> RunResult:
    """Resume a run and stay with it to its end, on any number of processes; a run that has ended is only read.

    A plan or data that changed since the checkpoint is refused; changed data may be accepted, and the run says so.
    With `trust_code`, the code that its plan names may run, and the plan is one that this user trained with.
    """
    from burnish.run.worker import ACCEPT_CHANGED_DATA  # not for a config that is refused to wait for

    if Group.of(processes).rendezvous:
        _refuse_apart(run)
    address = read_address(run)
    if address is not None:
        again = partial(resume, processes=processes, accept_changed_data=accept_changed_data, trust_code=trust_code)
        return _train_at(address, lambda path, watch: again(path, watch=watch), watch=watch)
    directory = RunDirectory(Path(run))
    read_plan(directory, trust_code=trust_code)  # before a lock is put there
    if trust_code:
        trust(directory.plan)
    options = [ACCEPT_CHANGED_DATA] if accept_changed_data else []

    def settle() -> None:
        experiment = read_plan(directory)
        if read_result(directory).reason in COMPLETE:
            changes, unknown = _compare_data(directory, experiment)
            changed = f"; its scores are of the data as it was, since {', '.join(changes)}" if changes else ""
            watch(Noted(0, f"nothing was trained: {_finished(directory, unknown)}{changed}"))

    return continue_run(directory, settle=settle, processes=processes, watch=watch, options=options)


def continue_run(
    run: RunDirectory,
    *,
    settle: Callable[[], object],
    processes: int | Group | None,
    watch: Callable[[Event], None],
    options: Sequence[str] = (),
) -> RunResult:
    """Settle the plan of a run and train it to its end; one that has ended is only read."""
    if read_result(run).reason not in COMPLETE:
        if Group.of(processes).rendezvous:  # no node holds the run: the first process of all does
            settle()
            return work(run, processes=processes, watch=watch, options=options)
        with claimed(run, settle, tell=lambda sentence: watch(Noted(0, sentence))):
            return work(run, processes=processes, watch=watch, options=options)
    settle()
    if not run.report.exists():
        # The last attempt was killed between its ending and its page.
        from burnish.report.page import write_page

        write_page(run)
    return read_result(run)


def work(
    run: RunDirectory,
    *,
    processes: int | Group | None = 1,
    watch: Callable[[Event], None],
    options: Sequence[str] = (),
) -> RunResult:
    """Start a worker on a planned run, in one process or several, and stay with it to the end."""
    asked = Group.of(processes)
    group = asked if asked == Group() else spread(asked, read_plan(run))
    if asked.is_auto and group.processes > 1:
        said = f"{group.processes} processes share each batch, one for each GPU; --processes 1 uses one"
        watch(Noted(0, said))
    if group.is_one_process:
        launch = partial(run_worker, start=choose_start(os.environ))
    else:
        launch = partial(run_workers, group=group)
    began, heard = time.time(), set[type[Event]]()

    def hear(event: Event) -> None:
        heard.add(type(event))
        watch(event)

    from burnish.commands.bucket import publishing_for_job  # whoever is refused does not wait for it

    with publishing_for_job(run.path, os.environ, tell=lambda sentence: watch(Noted(0, sentence))):
        try:
            code, _ = ask([_WORKER, str(run.path), *options], watch=hear, launch=launch)
        except BurnishError as said:
            if Started in heard and not run.exit.exists():  # the run's first process was here, and has not told of it
                if not isinstance(said, LaunchError):
                    write_json(run.exit, {"reason": "failed", **refusal(said)})
                _announce(run, said, began=began, watch=watch)
            raise
    reason = REASON_OF_SIGNAL.get(-code)
    if reason is not None:
        # It came before the worker listened, so there is nothing new to save.
        saved = CheckpointStore(run.checkpoints, run.quarantine, tell=lambda _sentence: None).steps()
        record(run, reason, step=max(saved, default=0), seconds=0.0, memory_bytes=0)
    elif code not in (0, PREEMPTED):
        error = died(run, exit_code=code)
        _announce(run, error, began=began, watch=watch)
        raise error
    return read_result(run)


def spread(group: Group, experiment: Experiment) -> Group:
    """Settle how many processes train on this machine: where it is left to it, one for each GPU."""
    is_for_one = experiment.model.is_grown or experiment.runtime.device not in ("auto", "cuda")
    if is_for_one:
        return replace(group, is_auto=False)
    num_gpus = len(list_gpus())
    if group.is_auto:
        return replace(group, processes=max(1, num_gpus), is_auto=False)
    if group.processes > num_gpus > 0:
        machine = f"this machine has {num_gpus} GPU{'s' if num_gpus > 1 else ''}, and each process needs its own"
        ways = "leave the option out, or set runtime.device=cpu"
        raise ConfigError([Problem(f"--processes {group.processes}: {machine}; {ways}")], subject="the command line")
    return group


def _announce(run: RunDirectory, error: BurnishError, *, began: float, watch: Callable[[Event], None]) -> None:
    from burnish.run.announce import announce_failure

    announce_failure(run, error, began=began, note=lambda sentence: watch(Noted(0, sentence)))


def read_result(run: RunDirectory) -> RunResult:
    """Read what a run came to from its files."""
    ending = read_json(run.exit)
    fields = ending if isinstance(ending, dict) and _has_numbers(ending) else {}
    reason = str(fields.get("reason", "interrupted"))
    sheet = read_sheet(run) if reason in COMPLETE else None
    sheet = sheet or ScoreSheet("", {}, {})
    return RunResult(
        directory=run.path,
        reason=reason,
        step=int(fields.get("step", 0)),
        scores=sheet.scores,
        baselines=sheet.baselines,
        headline=sheet.headline,
        artifact=run.artifact if reason in COMPLETE else None,
        report=run.report if run.report.exists() else None,
        seconds=float(fields.get("seconds", 0.0)),
        is_lower_better=sheet.is_lower_better,
    )


def _has_numbers(ending: Mapping[str, object]) -> bool:
    step, seconds = ending.get("step", 0), ending.get("seconds", 0.0)
    is_counted = isinstance(step, int) and not isinstance(step, bool) and step >= 0
    return is_counted and isinstance(seconds, int | float) and 0 <= seconds < MOST_SECONDS
