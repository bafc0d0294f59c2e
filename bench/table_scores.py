"""Trains the shipped experiments over tables with several seeds, and sets them beside boosted trees on the same rows.

Each run scores its test rows once, with the weights that its validation rows chose, and grows LightGBM's trees on its
own training rows, stopped by its own validation rows. The seed decides the weights, the order and, where the data
comes without parts, which rows are held out.
"""

import io
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from burnish.commands.config import check
from burnish.commands.train import read_result
from burnish.run.record.directory import RunDirectory
from burnish.run.record.ending import COMPLETE
from burnish.run.record.plan import settle_plan
from burnish.run.record.result import RunResult
from burnish.run.worker import main
from burnish.spec.values import Score

SEEDS = (0, 1, 2, 3, 4)
_TREES = "boosted_trees"


@dataclass(frozen=True)
class Case:
    """An experiment, what is written over it, and the scores that are told."""

    name: str
    experiment: str
    folder: str
    scores: tuple[str, ...]
    options: tuple[str, ...] = ()
    unit: float = 1.0
    """What a score is divided by."""


CASES = (
    Case("Adult, `tab_m`", "adult", "adult", ("roc_auc", "accuracy")),
    Case("California housing, 100,000 dollars", "california_housing", "california_housing", ("rmse",), unit=1e5),
    Case("Chicago taxi, tips", "taxi/tips", "chicago_taxi", ("roc_auc", "accuracy")),
    Case("Chicago taxi, fare in dollars", "taxi/fare", "chicago_taxi", ("rmse", "mae")),
    Case("New York taxi, fare in dollars", "taxi/fare_nyc", "nyc_taxi_fare", ("rmse", "mae")),
    Case("Adult, `wide_deep`", "adult", "adult", ("roc_auc", "accuracy"), ("model=wide_deep",)),
)


def table_scores(data: Path, runs: Path, *, seeds: Sequence[int] = SEEDS, tell: Callable[[str], None]) -> Iterator[str]:
    """Give a line for each score of each experiment."""
    yield "| data and model | score on test | seeds | ours, mean ± spread | least to most | boosted trees | interval |"
    yield "| --- | --- | ---: | ---: | --- | ---: | --- |"
    for case in CASES:
        results = [_result(case, data, runs, seed=seed) for seed in seeds]
        for name in case.scores:
            line = _line(case, name, results)
            tell(line)
            yield line


def _result(case: Case, data: Path, runs: Path, *, seed: int) -> RunResult:
    options = [f"data.dir={data / case.folder}", f"runtime.seed={seed}", "task.importance=0", *case.options]
    words = [case.experiment.replace("/", "-"), *(option.partition("=")[2] for option in case.options), str(seed)]
    return _trained(case.experiment, RunDirectory(runs / "-".join(words)), options)


def _trained(experiment: str, run: RunDirectory, options: Sequence[str]) -> RunResult:
    """Train in this process, for most of a short run is the start of another; one that is already there is read."""
    settle_plan(run, check(experiment, overrides=options))
    if read_result(run).reason not in COMPLETE:
        with redirect_stdout(io.StringIO()):
            main([str(run.path)])
    return read_result(run)


def _line(case: Case, name: str, results: Sequence[RunResult]) -> str:
    ours = [result.scores["test"][name].value / case.unit for result in results]
    trees = [result.baselines[_TREES][name] for result in results]
    theirs = [score.value / case.unit for score in trees]
    spread = f"{_figure(min(ours))} to {_figure(max(ours))}"
    told = [case.name, name, str(len(ours)), _mean(ours), spread, _mean(theirs), _interval(trees, case.unit)]
    return f"| {' | '.join(told)} |"


def _mean(values: Sequence[float]) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{_figure(statistics.fmean(values))} ± {_figure(deviation)}"


def _interval(scores: Sequence[Score], unit: float) -> str:
    """Give the mean of the ends of the runs' bootstrap intervals."""
    low = statistics.fmean(score.low for score in scores if score.low is not None) / unit
    high = statistics.fmean(score.high for score in scores if score.high is not None) / unit
    return f"{_figure(low)} to {_figure(high)}"


def _figure(value: float) -> str:
    return f"{value:.4f}"
