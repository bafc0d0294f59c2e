"""The record of a study: `study.jsonl`, one line for each decision, from which everything else follows."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from burnish.durable import append_durably, read_whole_lines
from burnish.errors import CheckpointError
from burnish.run.record.directory import RunDirectory, write_json
from burnish.spec.search import Coordinates, Leg, LegEnd

TrialState = Literal["running", "paused", "pruned", "finished", "failed"]
BEST = "best_run"
"""What study.json calls the run whose artifact is the study's."""
_FORMAT = 1


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
    record = StudyRecord(directory)
    for number, line in enumerate(read_whole_lines(record.path), start=1):
        try:
            _take(record, json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise CheckpointError(
                f"{record.path}:{number} is no line of a study; put the file back from a copy, or remove that line"
            ) from error
    return record


def _take(record: StudyRecord, values: Mapping[str, Any]) -> None:
    if "study" in values:
        record.about = {name: value for name, value in values.items() if name != "study"}
    elif "trial" in values:
        point = {str(name): float(place) for name, place in values["point"].items()}
        run = str(values["run"])
        if Path(run).name != run or run in ("", ".", ".."):
            raise ValueError("a run of a study lies in its directory")
        record.trials[int(values["trial"])] = Trial(int(values["trial"]), point, dict(values["values"]), run)
    else:
        record.ends.append(_ended(values))
        record.passed |= {int(number): int(count) for number, count in values.get("passed", {}).items()}
        record.score_name, record.is_lower_better = str(values.get("metric", "")), values.get("is_lower_better") is True


def _ended(values: Mapping[str, Any]) -> EndedLeg:
    numbers: dict[str, float | None] = {
        name: None if values.get(name) is None else float(values[name]) for name in ("score", "low", "high", "test")
    }
    until: Sequence[int] = [] if values["until"] is None else [int(values["until"])]
    return EndedLeg(
        int(values["end"]),
        until[0] if until else None,
        values["state"],
        **numbers,
        curve=tuple(float(each) for each in values.get("curve", ())),
        why=str(values.get("why", "")),
        at=float(values.get("at", 0.0)),
    )
