"""Decides whether a run is good enough to be used: requirements on its scores, and a paired test against a champion."""

import math
import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from burnish.commands.compare.comparison import compare
from burnish.errors import CheckpointError, ConfigError, Problem
from burnish.nearest import nearest
from burnish.run.record.directory import find_run, read_json
from burnish.run.record.result import ScoreSheet, read_sheet
from burnish.spec.parts import read_profiles
from burnish.spec.values import Score

JudgedBy = Literal["interval", "value"]

_OPERATORS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
_REQUIREMENT = re.compile(r"\s*([^\s/]+)/(\S+?)\s*(>=|<=|>|<)\s*(\S+)\s*")
_EXAMPLE = "test/accuracy >= 0.85"


@dataclass(frozen=True)
class Finding:
    """One thing that was asked of a run, and whether it holds."""

    asked: str
    is_met: bool
    sentence: str


@dataclass(frozen=True)
class GateResult:
    """All that was asked of a run."""

    run: Path
    findings: tuple[Finding, ...]

    @property
    def is_passed(self) -> bool:
        """Whether everything holds."""
        return all(finding.is_met for finding in self.findings)


@dataclass(frozen=True)
class _Requirement:
    text: str
    split: str
    score: str
    operator: str
    bound: float

    def judge(self, score: Score, *, by: JudgedBy) -> Finding:
        is_floor = self.operator.startswith(">")
        near = score.value if by == "value" else score.low if is_floor else score.high
        place = f"{self.split}/{self.score}"
        if not math.isfinite(score.value):
            why = score.why or f"it is {score.value:g}, which is no finite number"
            return Finding(self.text, False, f"{place} cannot be judged: {why}")
        if near is None or not math.isfinite(near):
            why = "it has no interval; `--by value` compares the value itself"
            return Finding(self.text, False, f"{place} cannot be judged: {why}")
        is_met = _OPERATORS[self.operator](near, self.bound)
        end = (
            "" if by == "value" else f", and the {'lower' if is_floor else 'upper'} end of its 95% interval {near:.4g}"
        )
        return Finding(self.text, is_met, f"{place} is {score.value:.4g}{end}: {'met' if is_met else 'not met'}")


def check(
    run: Path | str,
    *,
    require: Sequence[str] = (),
    no_worse_than: Sequence[Path | str] = (),
    by: JudgedBy = "interval",
    trust_code: bool = False,
) -> GateResult:
    """Judge a run; what cannot be judged is not met.

    A requirement compares the near end of a score's 95% interval with its bound, or with `by="value"` the value. A run
    is worse than a champion where the paired test shows it at p < 0.05.
    """
    if not require and not no_worse_than:
        raise ConfigError(
            [Problem(f'nothing is asked of the run; give `--require "{_EXAMPLE}"` or `--no-worse-than RUN`')]
        )
    directory = find_run(run)
    sheet = read_sheet(directory)
    if sheet is None:
        raise CheckpointError(f"{directory.path} has no scores yet; finish it with `burnish resume {directory.path}`")
    judged = [each.judge(sheet.scores[each.split][each.score], by=by) for each in _read(require, sheet)]
    for champion in no_worse_than:
        judged += _compare(champion, directory.path, trust_code=trust_code)
    return GateResult(directory.path, tuple(judged))


def _read(texts: Sequence[str], sheet: ScoreSheet) -> list[_Requirement]:
    found = [_parse(text, sheet) for text in texts]
    problems = [each for each in found if isinstance(each, Problem)]
    if problems:
        raise ConfigError(problems, subject="what is required")
    return [each for each in found if isinstance(each, _Requirement)]


def _parse(text: str, sheet: ScoreSheet) -> _Requirement | Problem:
    match = _REQUIREMENT.fullmatch(text)
    try:
        split, score, compared, bound = match.groups() if match else ("", "", "", "nan")
        requirement = _Requirement(text, split, score, compared, float(bound))
    except ValueError:
        requirement = None
    if requirement is None or not math.isfinite(requirement.bound):
        return Problem(
            f"{text!r} is no requirement; write it like {_EXAMPLE!r}: a split, a score, one of >= > <= <, a number"
        )
    known = [f"{split}/{name}" for split, scores in sheet.scores.items() for name in scores]
    if f"{requirement.split}/{requirement.score}" in known:
        return requirement
    meant = nearest(f"{requirement.split}/{requirement.score}", known)
    guess = f"; did you mean {meant}?" if meant else ""
    return Problem(
        f"{text!r}: the run has no score {requirement.split}/{requirement.score}{guess}",
        (f"it has {', '.join(known)}",),
    )


def _compare(champion: Path | str, run: Path, *, trust_code: bool) -> Iterator[Finding]:
    asked = f"no worse than {champion}"
    verdicts = compare([champion, run], trust_code=trust_code).verdicts
    if not verdicts:
        yield Finding(asked, False, f"{run} and {champion} have no predictions of the same split and task to compare")
        return
    judged = {verdict.task for verdict in verdicts}
    for task in read_profiles(read_json(find_run(champion).profile)):
        if task not in judged:
            sentence = f"{run} and {champion} have no predictions of the same split of task {task} to compare"
            yield Finding(asked, False, sentence)
    for verdict in verdicts:
        is_met = verdict.p_value is not None and verdict.better != verdict.names[0]
        yield Finding(asked, is_met, verdict.sentence)
