"""The record of a study: `study.jsonl`, one line for each decision, from which everything else follows."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from burnish.durable import append_durably, read_whole_lines
from burnish.errors import CheckpointError
from burnish.run.record.directory import RunDirectory, write_json
from burnish.spec.search import Coordinates, Leg, LegEnd

TrialState = Literal["running", "paused", "pruned", "finished", "failed"]
BEST = "best_run"
"""What study.json calls the run whose artifact is the study's."""
_FORMAT = 1
_MOST_COUNTED = 10**9
_MOST_SECONDS = 1e12
"""More than thirty thousand years: what says so was not written by a study."""


@dataclass(frozen=True)
class EndedLeg:
    """How a leg of a trial ended."""

    trial: int
    until: int | None
    state: TrialState
    score: float | None = None
    low: float | None = None
    high: float | None = None
    test: float | None = None
    """The same score on the test rows, which chose nothing."""
    curve: tuple[float, ...] = ()
    """The score at each evaluation so far."""
    why: str = ""
    at: float = 0.0
    """Seconds that the study had worked by then, over all of its attempts."""


@dataclass(frozen=True)
class Trial:
    """A point that is tried, and the run that tries it: of an earlier trial if the point is the same."""

    number: int
    point: Coordinates
    values: Mapping[str, object]
    run: str


@dataclass
class StudyRecord:
    """What a study has decided and found; whoever changes it holds the lock of its directory."""

    directory: Path
    about: dict[str, Any] = field(default_factory=dict)
    """What must not change while a study goes on: experiment, space, searcher, seed, metric."""
    trials: dict[int, Trial] = field(default_factory=dict)
    ends: list[EndedLeg] = field(default_factory=list)
    passed: dict[int, int] = field(default_factory=dict)
    """By trial, after how many evaluations its searcher had it train on."""
    score_name: str = ""
    """The score that decides, with its split, once a trial has said so."""
    is_lower_better: bool = False

    @property
    def path(self) -> Path:
        """The file that is only ever added to."""
        return self.directory / "study.jsonl"

    def begin(self, about: dict[str, Any]) -> None:
        """Write the first line of a new study."""
        self.about = about
        self._append({"study": _FORMAT, **about})

    def add_trial(self, trial: Trial) -> None:
        """Record a point before anything of it is trained."""
        self.trials[trial.number] = trial
        self._append({"trial": trial.number, "point": trial.point, "values": trial.values, "run": trial.run})

    def add_end(self, end: EndedLeg, *, others: Iterable[int] = ()) -> None:
        """Record how a leg ended, and how far the other trials had passed without knowing that."""
        self.ends.append(end)
        values = {name: value for name, value in asdict(end).items() if value not in (None, "", ())}
        del values["trial"]
        about = {"metric": self.score_name, "is_lower_better": self.is_lower_better}
        passed = {number: self.passed[number] for number in others if number in self.passed}
        self._append(
            {"end": end.trial, "until": end.until, **values, **about, **({"passed": passed} if passed else {})}
        )

    @property
    def data(self) -> dict[str, str]:
        """The digest of each file as the study began; studies of earlier versions did not record any."""
        found = self.about.get("data")
        return {str(file): str(digest) for file, digest in found.items()} if isinstance(found, dict) else {}

    def run_of(self, trial: int) -> RunDirectory:
        """The run directory of a trial."""
        return RunDirectory(self.directory / self.trials[trial].run)

    @property
    def seconds(self) -> float:
        """How long the study has worked, over all of its attempts."""
        return self.ends[-1].at if self.ends else 0.0

    @property
    def last(self) -> dict[int, EndedLeg]:
        """The newest end of each trial."""
        return {end.trial: end for end in self.ends}

    @property
    def best(self) -> EndedLeg | None:
        """The best of the trials that came to their end; of equals the first."""
        done = [end for end in self.last.values() if end.state == "finished" and end.score is not None]
        return min(done, key=lambda end: (self.loss(end.score), end.trial), default=None)

    def loss(self, score: float | None) -> float:
        """Turn a score into what a searcher minimises; what is no score is the worst."""
        if score is None or not math.isfinite(score):
            return math.inf
        return score if self.is_lower_better else -score

    def leg_ends(self) -> list[LegEnd]:
        """What a searcher is told, in the order in which it came."""
        return [LegEnd(Leg(end.trial, end.until), self.loss(end.score), end.state == "failed") for end in self.ends]

    def to_json(self, *, chosen: str | None = None) -> dict[str, Any]:
        """The table for programs."""
        last, best = self.last, self.best
        rows = [
            {
                "number": number,
                "values": trial.values,
                "state": last[number].state if number in last else "running",
                "score": last[number].score if number in last else None,
                "run": trial.run,
            }
            for number, trial in sorted(self.trials.items())
        ]
        return {
            "metric": self.score_name or self.about.get("metric"),
            "is_lower_better": self.is_lower_better,
            "searcher": self.about.get("searcher"),
            "trials": rows,
            "best": None if best is None else next(row for row in rows if row["number"] == best.trial),
            BEST: chosen or (None if best is None else self.trials[best.trial].run),
        }

    def write_table(self, *, chosen: str | None = None) -> None:
        """Write study.json in one motion."""
        write_json(self.directory / "study.json", self.to_json(chosen=chosen))

    def _append(self, values: Mapping[str, object]) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            append_durably(self.path, json.dumps(values, allow_nan=False).encode() + b"\n")
        except OSError as error:
            raise CheckpointError(f"{self.path} could not be written: {error.strerror or error}") from error


def read_record(directory: Path) -> StudyRecord:
    """Read a study; a last line that is torn was never written, any other that is wrong is refused."""
    record, legs = StudyRecord(directory), set[Leg]()
    for number, line in enumerate(read_whole_lines(record.path), start=1):
        try:
            _take(record, json.loads(line), legs)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise CheckpointError(
                f"{record.path}:{number} is no line of a study; put the file back from a copy, or remove that line"
            ) from error
    return record


def _take(record: StudyRecord, values: Mapping[str, Any], legs: set[Leg]) -> None:
    if "study" in values:
        _refuse_unless(not record.about, "a study begins once")
        record.about = _about({name: value for name, value in values.items() if name != "study"})
        return
    _refuse_unless(bool(record.about), "the line that begins the study is missing")
    if "trial" in values:
        trial = _trial(values)
        _refuse_unless(trial.number not in record.trials, "a trial is planned once")
        record.trials[trial.number] = trial
        return
    end = _ended(values)
    _refuse_unless(end.trial in record.trials, "a trial ends after it was planned")
    leg = Leg(end.trial, end.until)
    _refuse_unless(leg not in legs, "a leg ends once")
    legs.add(leg)
    record.ends.append(end)
    record.passed |= {_count(int(number)): _count(count) for number, count in values.get("passed", {}).items()}
    record.score_name, record.is_lower_better = str(values.get("metric", "")), values.get("is_lower_better") is True


def _about(values: dict[str, Any]) -> dict[str, Any]:
    for name in ("experiment", "space", "data"):
        _refuse_unless(isinstance(values.get(name, {}), dict), f"{name} is no mapping")
    for name in ("seed", "evaluations"):
        _count(values.get(name, 1))
    _refuse_unless(values.get("evaluations", 1) > 0, "a trial is evaluated once at least")
    if values.get("trials") is not None:
        _count(values["trials"])
    for start in values.get("starts", []):
        _point(start)
    return values


def _trial(values: Mapping[str, Any]) -> Trial:
    run = str(values["run"])
    is_inside = Path(run).name == run and run not in ("", ".", "..") and "\0" not in run and run.isprintable()
    _refuse_unless(is_inside, "a run of a study lies in its directory")
    return Trial(_count(values["trial"]), _point(values["point"]), dict(values["values"]), run)


def _ended(values: Mapping[str, Any]) -> EndedLeg:
    numbers = {name: _number(values.get(name)) for name in ("score", "low", "high", "test")}
    seconds = _number(values.get("at", 0.0))
    _refuse_unless(seconds is not None and 0 <= seconds <= _MOST_SECONDS, "no study works so long")
    _refuse_unless(values["state"] in get_args(TrialState), "no trial ends so")
    _refuse_unless(values["state"] != "finished" or numbers["score"] is not None, "a finished trial has a score")
    curve = tuple(_number(each) for each in values.get("curve", ()))
    return EndedLeg(
        _count(values["end"]),
        None if values["until"] is None else _count(values["until"]),
        values["state"],
        **numbers,
        curve=tuple(each for each in curve if each is not None),
        why=str(values.get("why", "")),
        at=seconds or 0.0,
    )


def _point(values: Mapping[str, Any]) -> dict[str, float]:
    point = {str(name): _number(place) for name, place in values.items()}
    return {name: place for name, place in point.items() if place is not None}


def _number(value: object) -> float | None:
    """Read what was written as a number: text and infinities were not."""
    if value is None:
        return None
    _refuse_unless(isinstance(value, int | float) and not isinstance(value, bool), "it is no number")
    number = float(value)  # type: ignore[arg-type]  # a number
    _refuse_unless(math.isfinite(number), "it is no finite number")
    return number


def _count(value: object) -> int:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    _refuse_unless(is_whole and 0 <= value <= _MOST_COUNTED, "it counts nothing")  # type: ignore[operator]  # an int
    return int(value)  # type: ignore[call-overload,no-any-return]  # as above


def _refuse_unless(is_right: bool, why: str) -> None:
    if not is_right:
        raise ValueError(why)
