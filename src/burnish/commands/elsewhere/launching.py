"""Runs a command elsewhere: what travels, what is asked for first, and how the job is followed to its end."""

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import glob
from itertools import chain, pairwise, takewhile
from pathlib import Path
from typing import Any, cast

from pydantic import SecretStr

from burnish.commands.config import check
from burnish.commands.tune import PreparedSearch, prepare_search
from burnish.config import Resolved, load, render
from burnish.config.nodes import find, plain
from burnish.config.render import document, leaves
from burnish.errors import BurnishError, ConfigError, LaunchError, Problem, StorageError
from burnish.launch.image import image_extras
from burnish.launch.left_behind import LeftBehind
from burnish.launch.package import (
    expand,
    find_extras,
    is_project,
    project_distribution,
    read_requirements,
    source_distribution,
)
from burnish.launch.plan import FILES, OUTPUTS, PLAN, JobPlan
from burnish.launch.records import JobRecord, save_record
from burnish.launch.transfer import list_remote, remove_remote, upload, write_remote
from burnish.launch.vertex.study import MOST_VALUES
from burnish.launch.worker import read_result
from burnish.registry import default_registry
from burnish.run.record.directory import RunDirectory
from burnish.spec.experiment import Experiment
from burnish.spec.launcher import JobSpec, JobStatus, Launcher, find_unset
from burnish.storage.address import read_address
from burnish.storage.remote import Folder, keep_trying
from burnish.tuning.space import RangeParameter

EXPERIMENT, SEARCH = "experiment.yaml", "tune.yaml"
_POLL_SECONDS = 5.0
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS, _MOST_FAILURES = 5.0, 60.0, 20
_KEYS_KEPT = 100_000
_OF_FILES = {"dir", "train", "validation", "test", "also"}
"""Options of data that name files."""
_IN_A_MODEL = (
    *("config.json", "model/config.json", "artifact/model/config.json"),
    *("tokenizer.json", "tokenizer_config.json", "plan.yaml"),
)
"""What a folder holds that may be named where a name on the hub may be."""
_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Order:
    """A command as it was asked for: its verb and its words."""

    verb: str
    words: Sequence[str]
    experiment: Resolved | None = None
    """What the words begin with, if the verb takes an experiment; overrides and configs are in it already."""
    search: Mapping[str, Any] | None = None
    """The `tune:` section, if there is something to search."""
    paths: Sequence[str] = ()
    """Those of the words that are values of options that take a file or a folder."""


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended: its state, the exit code of its command and what it left."""

    record: JobRecord
    status: JobStatus
    exit_code: int | None
    """None until it has ended."""
    outputs: tuple[str, ...]


def read_order(
    verb: str,
    words: Sequence[str],
    *,
    asked: Mapping[str, Any] | None,
    study: str | None = None,
    paths: Sequence[str] = (),
) -> Order:
    """Settle what a command means before it travels: an experiment is resolved, and must be sound, as its search.

    `study` names the file of a search that the service does by itself.
    """
    if asked is None:
        return Order(verb, words, paths=paths)
    resolved = check(asked["experiment"], configs=asked["configs"], overrides=asked["overrides"])
    if verb != "tune" and study is None:
        return Order(verb, words, resolved, paths=paths)
    search = prepare_search(**{**asked, "configs": [*asked["configs"], *([study] if study else [])]})
    section = cast(dict[str, Any], plain(search.section))
    if verb != "tune":
        return Order(verb, words, resolved, {**section, **_write_search(search)}, paths)
    spaces = {name: find(search.section, ("space", *name.split("."))) for name in search.space.options}
    space = {name: plain(node) for name, node in spaces.items() if node is not None}
    return Order(verb, words, resolved, {**section, "space": space}, paths)


def _write_search(search: PreparedSearch) -> dict[str, Any]:
    """Write score and space for a service that searches by itself, and knows no defaults of ours, steps or counts."""
    score, direction = search.goal.expect(search.base)
    space = search.space.to_json()
    for name, node in search.space.options.items():
        if isinstance(node, RangeParameter) and (node.step or node.count):
            numbers = range(min(node.grid_size, MOST_VALUES + 1))
            space[name] = [float(node.text_at(node.grid_place(number))) for number in numbers]
    return {"metric": f"{search.goal.split}/{score}", "direction": direction, "space": space}


def make_job(order: Order, launcher: Launcher, *, now: Callable[[], float] = time.time) -> JobSpec:
    """Write a command as it runs elsewhere, with what it needs from here."""
    named = order.experiment.experiment.name if order.experiment else order.words[0]
    name = "-".join([order.verb.split()[0], _NAME.sub("-", Path(named).stem.lower()).strip("-")[:40], make_stamp(now)])
    texts, words = {}, [*order.words]
    if order.experiment is not None:
        texts[EXPERIMENT] = render(order.experiment.experiment, origin=order.experiment.origin)
        words = [EXPERIMENT, *words]
    study = order.search if order.verb != "tune" else None
    if order.search is not None and study is None:
        texts[SEARCH] = json.dumps({"tune": order.search}, indent=2)
        words[1:1] = ["-c", SEARCH]
    parallel = _count_parallel(order) if order.verb == "tune" else 1
    _refuse_idle_gpus(order, launcher, parallel)
    if order.verb == "train":
        words += processes_words(launcher)
    copied = [each for each in launcher.files if each not in _projects(launcher)]
    inputs = tuple(dict.fromkeys([*_local_inputs(order), *_local_words(order)]))
    extras = find_extras(_experiment_of(order), words, launcher.root(JobSpec(name, ())))
    if order.verb == "tune" and study is None:
        extras = tuple(sorted({*extras, "tune"}))
    packages = tuple(name for name, _ in _make_packages(launcher, extras))
    return JobSpec(
        name,
        (*order.verb.split(), *words),
        tuple(dict.fromkeys([*copied, *inputs])),
        inputs=inputs,
        texts=texts,
        packages=packages,
        study=study,
        parallel=parallel,
        extras=extras,
    )


def note_extras(launcher: Launcher, job: JobSpec) -> list[str]:
    """Say which extras a job needs that images do not have unless they were built for it."""
    missing = [each for each in job.extras if each not in image_extras()]
    if not missing or _takes_packages(launcher) or "image" not in type(launcher).model_fields:
        return []
    kind = "the extra" if len(missing) == 1 else "the extras"
    how = "`burnish image build NAME --for EXPERIMENT` makes one that has what an experiment needs"
    return [f"the image must have {kind} {', '.join(missing)} for this job; {how}"]


def _experiment_of(order: Order) -> Experiment | None:
    asked = order.experiment or _read_evaluated(order)
    return asked.experiment if asked else None


def processes_words(launcher: Launcher) -> list[str]:
    """Write how many processes train on each machine; nothing where that is left to the machine."""
    number = max(1, launcher.num_gpus) if launcher.processes == "auto" else launcher.processes
    return ["--processes", str(number)] if number > 1 or launcher.processes != "auto" else []


def change_processes(words: Sequence[str], launcher: Launcher) -> tuple[str, ...]:
    """Write the words of a job again for a launcher whose options have changed."""
    kept = [*words]
    if kept[0] != "train" or (launcher.processes == "auto" and "--processes" not in kept):
        return tuple(kept)
    if "--processes" in kept:
        place = kept.index("--processes")
        del kept[place : place + 2]
    return (*kept, *processes_words(launcher))


def _refuse_idle_gpus(order: Order, launcher: Launcher, parallel: int) -> None:
    """Refuse GPUs that are paid for and that no process would use, and processes that would have none."""
    gpus, asked = launcher.num_gpus, launcher.processes
    experiment = order.experiment.experiment if order.experiment else None
    problems = []
    if order.verb == "train" and experiment is not None and experiment.model.is_grown:
        used, because = 1, "this model is trained by one process"
        if asked not in ("auto", 1):
            problems.append(Problem(f"launch.processes is {asked}, and {because}; leave it at auto"))
    elif order.verb == "train" and experiment is not None and experiment.runtime.device == "cpu":
        used, because = 0, "runtime.device is cpu"
    elif order.verb == "train" and asked != "auto":
        used, because = asked, f"launch.processes is {asked}"
        if gpus and asked > gpus:
            machine = f"each machine has {gpus} GPUs, and each process needs its own"
            problems.append(Problem(f"launch.processes is {asked}, but {machine}; leave it at auto"))
    elif order.verb == "train":
        used, because = gpus, ""
    elif order.verb == "tune":
        used = launcher.count_trials(parallel)
        because = f"{used} trials are trained at once, each by one process"
        if used == 1:
            because = "each trial is trained by one process" + (", on its own machine" if parallel > 1 else "")
    elif order.verb.startswith("prepare"):
        used, because = 0, f"`{order.verb}` needs none"
    else:
        used, because = 1, f"`{order.verb}` runs in one process"
    if gpus > used:
        ways = f"ask for {used or 'none'}"
        if order.verb == "train" and asked != "auto" and used == asked:
            ways += " or leave launch.processes at auto"
        idle = f"each machine has {gpus} GPU{'s' if gpus > 1 else ''} and {used or 'none'} of them would be used"
        problems.append(Problem(f"{idle}: {because}; {ways}"))
    if problems:
        raise ConfigError(problems, subject="the launch")


def _count_parallel(order: Order) -> int:
    """Read how many trials train at once, which the command says over the section."""
    told = (word.split("=", 1) if word.startswith("--parallel=") else [word] for word in order.words)
    said = [word for flag, word in pairwise(chain.from_iterable(told)) if flag == "--parallel"]
    return int(said[-1] if said else (order.search or {}).get("parallel", 1))


def _make_packages(launcher: Launcher, extras: Sequence[str]) -> list[tuple[str, bytes]]:
    if not _takes_packages(launcher):
        return []
    listed = getattr(launcher, "requirements", None)
    ours = source_distribution(read_requirements(Path(listed)) if listed else (), extras=extras)
    return [ours, *map(project_distribution, _projects(launcher))]


def _projects(launcher: Launcher) -> list[str]:
    """Find what is installed there as a package, and is not copied."""
    return [each for each in launcher.files if _takes_packages(launcher) and is_project(each)]


def _takes_packages(launcher: Launcher) -> bool:
    return getattr(launcher, "route", "") == "package"


def make_stamp(now: Callable[[], float], *, token: Callable[[], str] = lambda: secrets.token_hex(2)) -> str:
    """Write the time, and letters by which two names of one second differ."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now()))}-{token()}"


def fill_environment(launcher: Launcher, environment: Mapping[str, str] | None = None) -> Launcher:
    """Take the variables that have no value in the options from this process."""
    environment = os.environ if environment is None else environment
    absent = [name for name, value in launcher.env.items() if value is None and name not in environment]
    if absent:
        raise LaunchError(f"launch.env: {', '.join(absent)} is not set here; export it, or give it a value")
    filled = {name: SecretStr(environment[name]) if value is None else value for name, value in launcher.env.items()}
    return launcher.model_copy(update={"env": filled})


@dataclass(frozen=True)
class Freight:
    """What is sent with a job, by its place in the job's folder with its size, and what of its folders stays here."""

    sizes: Mapping[str, int]
    left: Sequence[LeftBehind]


def list_freight(launcher: Launcher, job: JobSpec) -> Freight:
    """List what would be sent, before anything is."""
    travelling = expand(job.files, inputs=job.inputs)
    sizes = {f"{FILES}/{name}": len(text.encode()) for name, text in job.texts.items()}
    sizes |= {f"{FILES}/{name}": path.stat().st_size for name, path in travelling.files.items()}
    sizes |= {f"packages/{name}": len(content) for name, content in _make_packages(launcher, job.extras)}
    left = [*travelling.left, *expand(_projects(launcher)).left]
    return Freight(sizes, left)


def preview(launcher: Launcher, job: JobSpec) -> dict[str, Any]:
    """Write what would be sent: the files, the plan and the request, with secrets masked."""
    root, freight = launcher.root(job), list_freight(launcher, job)
    found = {
        "uploads": [f"{root}/{place}" for place in freight.sizes],
        "bytes": {f"{root}/{place}": size for place, size in freight.sizes.items()},
        "left_behind": {each.path: each.why for each in freight.left},
        "plan": {"address": f"{root}/{PLAN}", "words": job.words},
        "request": launcher.render(job),
    }
    left_out = launcher.left_out(job)
    return {**found, "left_out": left_out} if left_out else found


def refuse_unready(launcher: Launcher, job: JobSpec) -> None:
    """Look at all that a job needs; refuse with everything that is missing."""
    found = list(launcher.check(job))
    missing = [Problem(each.sentence) for each in found if not each.is_met]
    missing += [Problem(f"launch.{name} is not set") for name in find_unset(launcher.render(job))] if not found else []
    if missing:
        raise LaunchError(str(ConfigError(missing, subject="the launch")))


def submit(launcher: Launcher, job: JobSpec, *, where: str, now: Callable[[], float] = time.time) -> JobRecord:
    """Fill the folder of a job, send its request, and remember it."""
    root, files = launcher.root(job), expand(job.files, inputs=job.inputs).files
    plan = JobPlan(job.words, max_restarts=launcher.max_restarts).write()
    try:
        keep_trying(lambda: Folder(root).write(PLAN, plan, is_new=True))  # first: whose it is, has the folder
    except FileExistsError as error:
        raise LaunchError(f"{root} is there already; submit it again, under another name") from error
    with _removed_unless_accepted(root):
        for name, text in job.texts.items():
            write_remote(f"{root}/{FILES}/{name}", text.encode())
        for name, path in files.items():
            upload(path, f"{root}/{FILES}/{name}")
        for name, content in _make_packages(launcher, job.extras):
            write_remote(f"{root}/packages/{name}", content)
        accepted = launcher.submit(job)
    record = JobRecord(
        name=job.name,
        where=where,
        words=job.words,
        id=accepted.id,
        link=accepted.link,
        root=root,
        submitted=now(),
        options=document(launcher.model_copy(update={"env": dict.fromkeys(launcher.env)})),
        study=job.study,
        packages=job.packages,
        parallel=job.parallel,
    )
    save_record(record)
    return record


@contextmanager
def _removed_unless_accepted(root: str) -> Iterator[None]:
    """Delete the folder of a job that was not started; where an answer was lost, it may have been, and keeps it."""
    try:
        yield
    except LaunchError as error:
        if not error.is_refusal:
            raise LaunchError(f"{error}; {root} is kept, in case the job was started nevertheless") from error
        with suppress(StorageError):
            remove_remote(root)
        raise
    except (BurnishError, KeyboardInterrupt):
        with suppress(StorageError):
            remove_remote(root)
        raise


@dataclass
class Patience:
    """Bears with a service that is away for a while; says how to come back when it stays away."""

    record: JobRecord
    sleep: Callable[[float], None]
    tell: Callable[[str], None]
    _failures: int = 0

    @contextmanager
    def bearing(self) -> Iterator[None]:
        """Wait instead of failing, longer each time in a row; the caller then asks again."""
        try:
            yield
            self._failures = 0
        except (LaunchError, StorageError) as error:
            self._failures += 1
            name = self.record.name
            if error.is_final:
                raise
            if self._failures > _MOST_FAILURES:
                ways = f"`burnish jobs logs -f {name}` follows it, `burnish jobs show {name}` shows its state"
                raise LaunchError(f"{error}; {name} may go on all the same: {ways}") from error
            wait = min(_FIRST_WAIT_SECONDS * 2.0 ** (self._failures - 1), _LONGEST_WAIT_SECONDS)
            self.tell(f"{error}; asking again in {wait:g} s")
            self.sleep(wait)


def follow(
    record: JobRecord,
    launcher: Launcher,
    *,
    sleep: Callable[[float], None] = time.sleep,
    tell: Callable[[str], None] = lambda sentence: None,
) -> Iterator[str]:
    """Give what a job prints until it has ended; a service may be late with lines, and give some of them again."""
    patience, after, has_ended = Patience(record, sleep, tell), "", False
    seen: dict[str, None] = {}
    while True:
        with patience.bearing():
            for line in launcher.logs(record.id, after=after):
                if line.key in seen:
                    continue
                seen[line.key], after = None, max(after, line.key)
                if len(seen) > _KEYS_KEPT:
                    del seen[next(iter(seen))]
                yield line.text
            if has_ended:
                return
            has_ended = launcher.status(record.id).has_ended
        sleep(_POLL_SECONDS)


def read_outcome(record: JobRecord, status: JobStatus) -> JobOutcome:
    """Read the exit code of a job's command and what it left; without a code, its state decides."""
    status = settle_status(record, status)
    code = None
    if status.has_ended:
        code = read_result(record.root)
        if code is None:
            code = {"finished": 0, "stopped": os.EX_TEMPFAIL}.get(status.state, LaunchError.exit_code)
    places = [f"{record.root}/{OUTPUTS}", *find_addresses(record)]
    outputs = [f"{place}/{name}".rstrip("/") for place in places for name in list_remote(place)]
    return JobOutcome(record, status, code, tuple(outputs))


def settle_status(record: JobRecord, status: JobStatus) -> JobStatus:
    """Take the word of the job's command over that of its service, which calls every other end a failure.

    A job that its service has deleted is told by what its command left, too.
    """
    if status.state not in ("failed", "gone"):
        return status
    code = read_result(record.root)
    if code == 0:
        return JobStatus("finished", status.message)  # without a node that was lost on the way
    if code == os.EX_TEMPFAIL:
        return JobStatus("stopped", status.message)
    return JobStatus("failed", status.message)


def find_addresses(record: JobRecord) -> list[str]:
    """Find where the command of a job was asked to leave things, outside of the job's folder."""
    pairs = zip(record.words, record.words[1:], strict=False)
    return [word for flag, word in pairs if flag in ("--dir", "--out") and read_address(word)]


def _local_inputs(order: Order) -> Iterator[str]:
    """Find the files and folders here that an experiment names; those outside of this folder cannot travel."""
    asked = order.experiment or _read_evaluated(order)
    if asked is None:
        return
    problems: list[Problem] = []
    for path, value in leaves(document(asked.experiment)):
        named = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
        for each in chain.from_iterable(_matching(name) for name in named if _is_path(path, name, asked)):
            if not Path(each).is_absolute():
                yield each
                continue
            where = ".".join(map(str, path))
            sentence = f"{where} is {each}, which only this machine has; name it relative to this folder, or put"
            problems.append(Problem(f"{sentence} it on a bucket", asked.origin(where).lines()))
    if problems:
        raise ConfigError(problems)


def _is_path(option: Sequence[str | int], written: str, asked: Resolved) -> bool:
    """Tell a file or folder from a word that happens to be the name of one, such as that of a column or a model."""
    if option[0] not in ("data", "model"):
        return False
    if option[0] == "data":
        source = asked.experiment.data
        if option[1] == "sets":
            source = getattr(source, "sets", {})[option[2]]
        if default_registry().name_of("data", type(source)) == "hub":
            return False
        if _OF_FILES & set(option[1:]):
            return True
    is_written_so = "/" in written or written.startswith((".", "~")) or "." in Path(written).name[1:]
    return is_written_so or any(Path(written, name).exists() for name in _IN_A_MODEL)


def _matching(written: str) -> list[str]:
    if written in ("", ".") or "://" in written:
        return []
    written = os.path.expanduser(written)
    return [written] if Path(written).exists() else glob(written, recursive=True)


def _read_evaluated(order: Order) -> Resolved | None:
    """Read the experiment of a run on this machine that is scored by its own data."""
    run = RunDirectory(Path(order.words[0]))
    is_own = order.verb == "evaluate" and "--in" not in order.words and run.exists()
    return load(str(run.plan), trust_code="--trust-code" in order.words) if is_own else None


def _local_words(order: Order) -> Iterator[str]:
    """Find the files and folders here that the words of a command name; what it begins with must be there."""
    files = [*takewhile(lambda word: not word.startswith("-"), order.words)]
    absent = [word for word in files if "://" not in word and not Path(word).exists()]
    if absent:
        sentence = "there is no {} here; name a file or a folder of this machine, or an address"
        raise ConfigError([Problem(sentence.format(each)) for each in absent], subject="the command line")
    yield from (word for word in (*files, *order.paths) if "://" not in word and Path(word).exists())
