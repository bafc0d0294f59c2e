"""`burnish tune`: a study from an experiment and its space to the run that was best."""

import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from burnish.commands.config import check
from burnish.commands.plan import plan as forecast
from burnish.commands.train import continue_run
from burnish.config import Given, Resolved, from_values, load_section
from burnish.config.nodes import Branch
from burnish.config.origins import Origin
from burnish.config.sources import layers
from burnish.engine.stop import REASON_OF_SIGNAL, StopRequest
from burnish.errors import BurnishError, CheckpointError, ConfigError, Problem
from burnish.registry import default_registry
from burnish.run.record.directory import RunDirectory, default_directory, find_run, read_json
from burnish.run.record.ending import COMPLETE
from burnish.run.record.events_file import EventsFile
from burnish.run.record.lock import held, unclaimed
from burnish.run.record.plan import AnotherExperiment, move_aside, read_plan, settle_plan
from burnish.spec.events import Ended, Event, Noted, Stepped
from burnish.spec.experiment import Experiment
from burnish.spec.search import Coordinates, SearchState
from burnish.tuning.data import StudyData
from burnish.tuning.goal import Goal, score_loss
from burnish.tuning.preview import SearchPreview, estimate
from burnish.tuning.record import EndedLeg, StudyRecord, read_record
from burnish.tuning.searchers import rehearse
from burnish.tuning.settings import SECTION, TuneSettings, check_search, describe_experiment, settle_space
from burnish.tuning.space import Settled, Space, read_scalar
from burnish.tuning.study import Ending, Study, StudyLimits

STUDIES = Path("studies")
_COMMAND_LINE = Origin("the command line")
_SHOWN = 10
_STARTS_OF_A_STUDY = 3
REFIT = "refit"


@dataclass(frozen=True)
class TrialRow:
    """One trial of the table."""

    number: int
    values: Mapping[str, object]
    state: str
    score: float | None
    run: str
    low: float | None = None
    high: float | None = None
    test: float | None = None
    why: str = ""


@dataclass(frozen=True)
class TuneResult:
    """What a study came to."""

    directory: Path
    metric: str
    is_lower_better: bool
    trials: tuple[TrialRow, ...]
    best: TrialRow | None
    best_run: Path | None
    """The run whose artifact is the study's: the best trial's, or the one that was refitted."""
    ending: Ending
    seconds: float
    report: Path | None = None


@dataclass(frozen=True)
class PreparedSearch:
    """A study that was checked and may begin."""

    directory: Path
    given: Given
    base: Experiment
    settings: TuneSettings
    section: Branch
    """Its options as they were written."""
    space: Space
    goal: Goal
    plan: Callable[[Settled], Resolved]
    """Makes the experiment of a trial."""

    @property
    def limits(self) -> StudyLimits:
        """What may change from one attempt to the next."""
        settings = self.settings
        return StudyLimits(settings.num_trials, settings.parallel, settings.minutes, settings.max_failed_trials)


def prepare_search(
    experiment: str | Path | Given,
    *,
    configs: Sequence[Path] = (),
    overrides: Sequence[str | Branch] = (),
    directory: Path | None = None,
    settings: Mapping[str, object] | None = None,
    trust_code: bool = False,
) -> PreparedSearch:
    """Read experiment and section, and hold them against one another; raise one ConfigError with every problem."""
    name = experiment if isinstance(experiment, Given) else str(experiment)
    files = [str(each) for each in configs]
    asked = from_values({f"{SECTION}.{key}": value for key, value in (settings or {}).items()}, origin=_COMMAND_LINE)
    section = load_section(
        SECTION, TuneSettings, name, configs=files, overrides=[*overrides, *asked], trust_code=trust_code
    )
    base = check(experiment, configs=configs, overrides=overrides, trust_code=trust_code, has_inputs=True)
    metrics = score_loss(section.value.metric, base.experiment) if section.value and section.value.metric else []
    if metrics:
        overrides = [*overrides, *from_values({"metrics": metrics}, origin=Origin("tune.metric"))]
        base = check(experiment, configs=configs, overrides=overrides, trust_code=trust_code, has_inputs=True)
    stack = layers(name, configs=files, overrides=overrides, registry=default_registry())
    given = Given(str(experiment), tuple(stack))

    def plan(settled: Settled) -> Resolved:
        return check(given, overrides=settled.layers)

    space, found = settle_space(section.tree, base.experiment, plan=plan)
    goal, others = check_search(section, space, base=base.experiment, plan=plan)
    problems = [*section.problems, *found, *others]
    if problems or section.value is None:
        raise ConfigError(problems, subject="the search")
    place = directory or default_directory(str(experiment), root=STUDIES)
    return PreparedSearch(place, given, base.experiment, section.value, section.tree, space, goal, plan)


def preview(search: PreparedSearch, *, watch: Callable[[Event], None] = lambda event: None) -> SearchPreview:
    """Estimate a study by trying a few steps of its experiment; nothing is kept."""
    return estimate(search.settings, search.space, trial=forecast(search.given, watch=watch))


def tune(
    search: PreparedSearch,
    *,
    watch: Callable[[Event], None] = lambda event: None,
    tell: Callable[[StudyRecord, EndedLeg, float], None] = lambda record, ended, seconds_left: None,
    request: StopRequest | None = None,
) -> TuneResult:
    """Run a study, or go on with it; the same command brings it to its end, however often it was killed."""
    _refuse_unfit(search.directory)
    search.settings.searcher.check_installed(search.settings.num_trials)
    place = RunDirectory(search.directory)
    with _listening(request or StopRequest()) as asked, held(place, tell=lambda each: watch(Noted(0, each))):
        place.stop_file.unlink(missing_ok=True)
        record = read_record(search.directory)
        starts = _settle_record(record, search, watch=watch)
        data = StudyData(record, search.base)
        data.refuse_edited()
        searcher, goal, limits = search.settings.searcher, search.goal, search.limits
        study = Study(record, search.space, searcher, goal, limits, search.plan, data, starts)
        total = _expect_legs(search, study.state())
        study.tell = lambda ended: tell(record, ended, _seconds_left(record, search, total))
        ending = study.run(asked)
        chosen = None
        if search.settings.refit and ending != "stopped" and record.best is not None:
            data.refuse_edited()
            chosen = None if asked.reason else _refit(record, search, data, watch=watch)
            ending = ending if chosen else "stopped"
        record.write_table(chosen=chosen)
        return _close(record, search, ending=ending, chosen=chosen)


@contextmanager
def _listening(request: StopRequest) -> Iterator[StopRequest]:
    """Let Ctrl-C and SIGTERM stop a study instead of its process, for as long as it runs."""
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.getsignal(number) for number in REASON_OF_SIGNAL}
    request.listen()
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _expect_legs(search: PreparedSearch, state: SearchState) -> int | None:
    """How many legs a study has if its scores fall as by chance; None where only the clock ends it."""
    return None if search.settings.is_endless else len(rehearse(search.settings.searcher, replace(state, ends=())))


def _seconds_left(record: StudyRecord, search: PreparedSearch, total: int | None) -> float:
    done, minutes = len(record.ends), search.settings.minutes
    left = math.inf if total is None else record.seconds / done * max(0, total - done)
    return left if minutes is None else min(left, max(0.0, minutes * 60 - record.seconds))


def _close(record: StudyRecord, search: PreparedSearch, *, ending: Ending, chosen: str | None) -> TuneResult:
    from burnish.tuning.page import write_study_page

    write_study_page(record, name=search.base.name)
    rows = {row.number: row for row in table_of(record)}
    best = None if record.best is None else rows[record.best.trial]
    run = chosen or (None if best is None else best.run)
    return TuneResult(
        record.directory,
        record.score_name or search.goal.name,
        record.is_lower_better,
        tuple(rows.values()),
        best,
        None if run is None else record.directory / run,
        ending,
        record.seconds,
        record.directory / "report.html",
    )


def table_of(record: StudyRecord) -> Iterator[TrialRow]:
    """Give each trial as it stands."""
    last = record.last
    for number, trial in sorted(record.trials.items()):
        end = last.get(number)
        if end is None:
            yield TrialRow(number, trial.values, "running", None, trial.run)
        else:
            figures = (end.low, end.high, end.test)
            yield TrialRow(number, trial.values, end.state, end.score, trial.run, *figures, end.why)


def _settle_record(record: StudyRecord, search: PreparedSearch, *, watch: Callable[[Event], None]) -> list[Coordinates]:
    """Begin the record of a new study, or refuse to go on with one of another experiment or space."""
    from burnish.run.preparation.prepare import digest_data  # a search that is refused does not wait for it

    settings = search.settings
    about: dict[str, Any] = {
        "experiment": describe_experiment(search.base),
        "space": search.space.to_json(),
        "searcher": {"type": default_registry().name_of("searchers", type(settings.searcher)), **_options(settings)},
        "metric": settings.metric,
        "seed": settings.seed,
    }
    if not record.about:
        evaluations = _count_evaluations(search, watch=watch)
        starts = [dict(each) for each in _starts(search, watch=watch)] if settings.searcher.takes_starts else []
        found = {"start_from": [*settings.start_from], "starts": starts, "evaluations": evaluations}
        record.begin({**about, **found, "trials": settings.num_trials, "data": digest_data(search.base)})
    _refuse_unfit_points(record, search.space)
    if settings.start_from and "start_from" in record.about:  # without it, the study keeps the starts that it has
        about["start_from"] = [*settings.start_from]
    changed = list(_changes({key: record.about.get(key) for key in about}, about))
    if changed:
        more = [f"… and {len(changed) - _SHOWN} more"] if len(changed) > _SHOWN else []
        raise ConfigError(
            [Problem("\n  ".join([f"{record.directory} holds a study with other options:", *changed[:_SHOWN], *more]))],
            subject="the search (name another --dir for a new study)",
        )
    return [dict(each) for each in record.about["starts"]]


def _refuse_unfit_points(record: StudyRecord, space: Space) -> None:
    """Refuse a record whose points are of no such space, as one that was edited by hand."""
    lacking = [name for name in ("starts", "evaluations") if name not in record.about]
    if lacking:
        raise CheckpointError(f"{record.path}:1 does not say {' and '.join(lacking)}; put the file back from a copy")
    points = {f"trial {number}": trial.point for number, trial in record.trials.items()}
    points |= {f"start {number}": start for number, start in enumerate(record.about["starts"])}
    for name, point in points.items():
        try:
            space.at(point) if point else None
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            raise CheckpointError(
                f"{record.path}: the point of {name}, {point}, is none of the space that it records; put the file back "
                "from a copy"
            ) from error


def _options(settings: TuneSettings) -> dict[str, Any]:
    options = settings.searcher.model_dump(mode="json")
    return options if settings.searcher.is_extensible else {**options, "trials": settings.num_trials}


def _changes(before: object, after: object, path: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from _changes(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
    elif before != after and not (before == [] and after == ()):
        yield f"{path} {'not set' if before is None else before} → {'not set' if after is None else after}"


def _count_evaluations(search: PreparedSearch, *, watch: Callable[[Event], None]) -> int:
    """How often a whole trial is evaluated: by its options, or else by a look at the data."""
    policy = search.base.train
    length, every = policy.length, policy.evaluate_every
    if not search.base.model.is_grown and length != "auto" and length.unit == every.unit:
        return max(1, math.ceil(length.amount / every.amount - 1e-9))
    return forecast(search.given, is_steps_only=True, watch=watch).evaluations


def _starts(search: PreparedSearch, *, watch: Callable[[Event], None]) -> Iterator[Coordinates]:
    """Where the first trials stand: the experiment as written, for the default space, and earlier results."""
    if not search.settings.space:
        yield {}
    for name in search.settings.start_from:
        points = (search.space.find(values) for values in _earlier(Path(name), search))
        found = [*islice(((rank, each) for rank, each in enumerate(points) if each is not None), _STARTS_OF_A_STUDY)]
        if not found:
            raise ConfigError(
                [Problem(f"{name}: none of its options lie in the space of this study, so that it is no start")],
                subject="the search",
            )
        if found[0][0]:
            watch(Noted(0, f"the best trial of {name} lies outside of this space; the next ones are the starts"))
        yield from (point for _, point in found)


def _earlier(place: Path, search: PreparedSearch) -> Iterator[Mapping[str, object]]:
    """Read the options of an earlier run, or of the best trials of a study; what was not searched is in the plan."""
    document = read_json(place / "study.json")
    if not isinstance(document, dict) or not isinstance(document.get("trials"), list):
        yield _values_of(find_run(str(place)), search)
        return
    sign = 1 if document.get("is_lower_better") else -1
    rows = [row for row in document["trials"] if isinstance(row, dict) and row.get("state") == "finished"]
    for row in sorted(filter(_is_start, rows), key=lambda row: sign * row["score"]):
        values = dict(row["values"])
        is_whole = search.space.options.keys() <= values.keys()
        yield values if is_whole else {**_values_of(RunDirectory(place / row["run"]), search), **values}


def _is_start(row: Mapping[str, object]) -> bool:
    """Tell whether a row of a table has what a study begins with: a score, options, and a run in its folder."""
    score, run = row.get("score"), row.get("run")
    has_score = isinstance(score, int | float) and abs(score) <= sys.float_info.max
    return has_score and isinstance(row.get("values"), dict) and isinstance(run, str) and Path(run).name == run


def _values_of(run: RunDirectory, search: PreparedSearch) -> dict[str, object]:
    written = describe_experiment(read_plan(run))
    known = {path: read_scalar(None if text == "null" else text) for path, text in written.items()}
    values: dict[str, object] = {}
    for name in search.space.options:
        below = {key.removeprefix(f"{name}."): value for key, value in known.items() if key.startswith(f"{name}.")}
        values[name] = known.get(name, below.get("examples", below or None))
    return values


def _refuse_unfit(directory: Path) -> None:
    if not directory.is_dir() or (directory / "study.jsonl").exists():
        return
    others = [each.name for each in directory.iterdir() if each.name not in (".lock", "lock.json", "STOP")]
    if others:
        raise CheckpointError(f"{directory} holds files but no study; name an empty or new directory with --dir")


def _refit(
    record: StudyRecord, search: PreparedSearch, data: StudyData, *, watch: Callable[[Event], None]
) -> str | None:
    """Train with the best options on training and validation rows together, as long as was best; None if stopped."""
    assert record.best is not None  # the caller asked
    trial = record.trials[record.best.trial]
    settled = search.space.at(trial.point) if trial.point else Settled({}, (), {})
    best = record.run_of(trial.number)
    source = {"data": {"type": "refit", "of": _written(best, "data")}}
    resolved = check(
        search.given,
        overrides=[*settled.layers, *from_values({**source, **_length(best)}, origin=Origin("the refit"))],
    )
    run = RunDirectory(record.directory / REFIT)

    def hear(event: Event) -> None:
        if RunDirectory(record.directory).stop_file.exists():
            run.stop_file.touch()
        watch(event)

    train = partial(continue_run, run, settle=partial(settle_plan, run, resolved), processes=1, watch=hear)
    try:
        result = train()
    except AnotherExperiment:  # another trial was best when the study ended before
        with unclaimed(run):
            place = move_aside(run)
        watch(Noted(0, f"another trial is the best now; the refit of the one before is in {place}"))
        result = train()
    changes = data.compare_refit(run)
    if changes:  # while it trained
        with unclaimed(run):
            place = move_aside(run)
        raise data.refusal([*changes, f"{run.path} was trained on that, and is in {place} now"])
    return REFIT if result.reason in COMPLETE else None


def _written(run: RunDirectory, section: str) -> object:
    from burnish.config.nodes import plain
    from burnish.config.reader import read_file

    return plain(read_file(run.plan, source=str(run.plan)).nodes[section])


def _length(run: RunDirectory) -> dict[str, object]:
    """How long the best trial trained until it was best: so long is trained again, without looking at validation."""
    experiment = read_plan(run)
    events = EventsFile(run.events)
    ended = events.last(Ended)
    step = ended.event.best_step if ended and isinstance(ended.event, Ended) else None
    if step is None:
        raise BurnishError(f"{run.path} does not say which step was best; it cannot be trained again")
    if experiment.model.is_grown:
        return {"model.rounds": step, "model.patience": None, "model.evaluate_every": step}
    steps = (each.event for each in events.read(faulty="skip") if isinstance(each.event, Stepped))
    epochs = next(event.epoch for event in steps if event.step == step)
    return {"train.length": f"{epochs:.6g} epochs", "train.evaluate_every": "never", "train.patience": None}
