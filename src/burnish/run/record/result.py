"""What a run came to, and the form it has in scores.json."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from burnish.run.record.directory import RunDirectory, read_json, write_json
from burnish.spec.values import Score, Times

Scores = Mapping[str, Score]
THIS_RUN = "this_run"
"""What times call the run, next to the names of baselines."""


@dataclass(frozen=True)
class RunResult:
    """Say how a run ended, what it scored and what it left."""

    directory: Path
    reason: str
    step: int
    scores: Mapping[str, Scores]
    """Split → name of a score → score."""
    baselines: Mapping[str, Scores]
    """Name of a baseline → name of a score → score, on the split that the headline is taken from."""
    headline: str
    """The score that the run is judged by."""
    artifact: Path | None
    report: Path | None
    seconds: float
    is_lower_better: bool = False
    """Whether the headline is an error or a loss."""
    address: str | None = None
    """Where the run is for others, if `directory` is the working copy of a run in a bucket."""

    @property
    def place(self) -> str:
        """What to call the run in a command."""
        return self.address or str(self.directory)


@dataclass(frozen=True)
class ScoreSheet:
    """Hold what scores.json says."""

    headline: str
    scores: Mapping[str, Scores]
    baselines: Mapping[str, Scores]
    is_lower_better: bool = False
    """Whether the headline is an error or a loss; not written by old versions."""
    times: Mapping[str, Times] = field(default_factory=dict)
    """By baseline, and of the run itself as `this_run`; not written by old versions."""

    @property
    def split(self) -> str | None:
        """The split that the headline is taken from: test if it was scored there."""
        scored = [split for split in ("test", "validation") if split in self.scores]
        judged = (split for split in scored if self.headline in self.scores[split])
        return next(judged, next(iter([*scored, *self.scores]), None))

    @property
    def judged(self) -> Score | None:
        """The headline's score, if there is one."""
        return None if self.split is None else self.scores[self.split].get(self.headline)

    @property
    def best_baseline(self) -> str | None:
        """The baseline with the best headline score; None without any."""
        known = {name: each[self.headline].value for name, each in self.baselines.items() if self.headline in each}
        known = {name: value for name, value in known.items() if math.isfinite(value)}
        return min(known, key=lambda name: known[name] if self.is_lower_better else -known[name], default=None)


def sheet_of(result: RunResult) -> ScoreSheet:
    """Take the scores out of a result."""
    return ScoreSheet(result.headline, result.scores, result.baselines, result.is_lower_better)


def read_sheet(directory: RunDirectory) -> ScoreSheet | None:
    """Read what a run scored; None while it has not."""
    return sheet_from_json(read_json(directory.scores))


def write_sheet(directory: RunDirectory, sheet: ScoreSheet) -> None:
    """Record what a run scored."""
    write_json(directory.scores, sheet_to_json(sheet))


def sheet_to_json(sheet: ScoreSheet) -> dict[str, object]:
    """Turn a score sheet into the JSON values of scores.json."""
    return {
        "headline": sheet.headline,
        "is_lower_better": sheet.is_lower_better,
        "scores": {split: scores_to_json(scores) for split, scores in sheet.scores.items()},
        "baselines": {name: scores_to_json(scores) for name, scores in sheet.baselines.items()},
        **({"times": {name: asdict(times) for name, times in sheet.times.items()}} if sheet.times else {}),
    }


def sheet_from_json(document: object) -> ScoreSheet | None:
    """Read the JSON values of scores.json; None for anything else."""
    try:
        return ScoreSheet(
            headline=str(document["headline"]),  # type: ignore[index]  # anything else is caught below
            scores={k: scores_from_json(v) for k, v in document["scores"].items()},  # type: ignore[index]  # as above
            baselines={k: scores_from_json(v) for k, v in document["baselines"].items()},  # type: ignore[index]  # as above
            is_lower_better=document.get("is_lower_better") is True,  # type: ignore[attr-defined]  # as above
            times={k: _times(v) for k, v in document.get("times", {}).items() if isinstance(v, Mapping)},  # type: ignore[attr-defined]  # as above
        )
    except (TypeError, KeyError, ValueError, AttributeError):
        return None


def scores_to_json(scores: Scores) -> dict[str, object]:
    """Write scores with their intervals; numbers that JSON has no word for become strings."""
    return {
        name: {
            "value": None if math.isnan(score.value) else _number(score.value),
            "low": _number(score.low),
            "high": _number(score.high),
            **({"why": score.why} if score.why else {}),
        }
        for name, score in scores.items()
    }


def scores_from_json(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Score]:
    """Read scores back from JSON values; those of another shape raise."""
    return {
        name: Score(
            math.nan if each["value"] is None else float(each["value"]),
            low=_float(each.get("low")),
            high=_float(each.get("high")),
            why=each.get("why"),
        )
        for name, each in scores.items()
    }


def _times(times: Mapping[str, Any]) -> Times:
    return Times(*(_seconds(times.get(name)) for name in ("fit_seconds", "predict_seconds")))


def _seconds(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < math.inf else None  # type: ignore[operator,arg-type]  # a number


def _number(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def _float(value: float | str | None) -> float | None:
    return None if value is None else float(value)
