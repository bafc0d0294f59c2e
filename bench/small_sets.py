"""Trains on small files as a newcomer would, `burnish new` and `burnish train` as they are, and compares the baselines.

python -m bench.small_sets --data DIR --runs runs/small                           DIR holds adult, glue, …
python -m bench.small_sets --data DIR --runs runs/small --before runs/older       next to runs of another version

Only the seed, one thread and, for texts, weights that need no download are stated. A run that is already there is read.
"""

import argparse
import io
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path

from bench.sets import MODEL
from bench.small_data import small_files
from burnish.cli.outcome import summarise
from burnish.commands.config import check
from burnish.commands.new import new
from burnish.commands.train import read_result
from burnish.run.record.directory import RunDirectory
from burnish.run.record.ending import COMPLETE
from burnish.run.record.plan import settle_plan
from burnish.run.record.result import RunResult, ScoreSheet, sheet_of
from burnish.run.worker import main as work

SEEDS = (0, 1, 2)
_SECOND = ("log_loss", "mae")
"""What is shown next to the headline: of these, the first that is scored."""


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, default=Path("runs/small_sets"))
    parser.add_argument("--before", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--sets", nargs="+")
    asked = parser.parse_args()
    lines = small_sets(asked.data, asked.runs, before=asked.before, seeds=asked.seeds, only=asked.sets, tell=_tell)
    for line in lines:
        print(line, flush=True)


def small_sets(
    data: Path,
    runs: Path,
    *,
    before: Path | None = None,
    seeds: Sequence[int] = SEEDS,
    only: Sequence[str] | None = None,
    tell: Callable[[str], None],
) -> Iterator[str]:
    """Give a line for each file; with `before`, what runs of another version in that folder scored."""
    heads = ("file", "rows", "score on test", "before", "now", "best baseline", "loss before", "loss now")
    yield f"| {' | '.join((*heads, 'loss of that baseline', 'behind', 'said'))} |"
    yield "| --- | ---: | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    tables, texts = small_files(data, runs / "files")
    for name, path in {**tables, **texts}.items():
        if only and name not in only:
            continue
        options = [f"model={MODEL}"] if name in texts else []
        results = [_trained(path, runs, options, seed=seed) for seed in seeds]
        older = [read_result(_run(before, name, seed)) for seed in seeds] if before else []
        line = _line(path, results, [each for each in older if each.reason in COMPLETE])
        tell(line)
        yield line


def _trained(path: Path, runs: Path, options: Sequence[str], *, seed: int) -> RunResult:
    """Train in this process, because most of a short run is the start of another."""
    config = runs / "configs" / f"{path.stem}.yaml"
    if not config.is_file():
        new(path, out=config)
    run = _run(runs, path.stem, seed)
    if read_result(run).reason not in COMPLETE:
        settle_plan(run, check(str(config), overrides=[f"runtime.seed={seed}", "runtime.threads=1", *options]))
        with redirect_stdout(io.StringIO()) as heard:
            work([str(run.path)])
        if read_result(run).reason not in COMPLETE:
            raise SystemExit(heard.getvalue())
    return read_result(run)


def _run(runs: Path, name: str, seed: int) -> RunDirectory:
    return RunDirectory(runs / f"{name}-{seed}")


def _line(path: Path, results: Sequence[RunResult], older: Sequence[RunResult]) -> str:
    sheets = [sheet_of(result) for result in results]
    headline, rival = sheets[0].headline, _best(sheets)
    second = next((name for name in _SECOND if name in sheets[0].scores["test"]), headline)
    now = [[sheet.scores["test"] for sheet in sheets], [sheet.baselines[rival] for sheet in sheets]]
    then = [result.scores["test"] for result in older]
    behind = [result for result, sheet in zip(results, sheets, strict=True) if _is_behind(sheet)]
    figures = [_mean(scores, headline) for scores in (then, *now)]
    losses = [_mean(scores, second) for scores in (then, *now)]
    rows = f"{sum(1 for _ in path.open(encoding='utf-8')) - 1:,}"
    told = [path.stem, rows, headline, *figures[:2], f"{rival} {figures[2]}", *losses]
    return f"| {' | '.join([*told, str(len(behind)), str(sum(map(_is_said, behind)))])} |"


def _best(sheets: Sequence[ScoreSheet]) -> str:
    """Name the baseline with the best mean."""
    first = sheets[0]
    means = {
        name: statistics.fmean(each.baselines[name][first.headline].value for each in sheets)
        for name in first.baselines
    }
    known = {name: mean for name, mean in means.items() if math.isfinite(mean)}
    return min(known, key=lambda name: known[name] if first.is_lower_better else -known[name])


def _is_behind(sheet: ScoreSheet) -> bool:
    """Tell whether the run's best baseline lies beyond the interval of the run, on the better side."""
    judged, name = sheet.judged, sheet.best_baseline
    if judged is None or judged.low is None or judged.high is None or name is None:
        return False
    rival = sheet.baselines[name][sheet.headline].value
    return rival < judged.low if sheet.is_lower_better else rival > judged.high


def _is_said(result: RunResult) -> bool:
    """Tell whether the last lines of the run say that a baseline is better."""
    return any(f"{sheet_of(result).best_baseline} is better by" in str(line) for line in summarise(result))


def _mean(scores: Sequence[object], name: str) -> str:
    values = [each[name].value for each in scores if name in each]  # type: ignore[index, operator]  # scores by name
    return _figure(statistics.fmean(values)) if values else "-"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.{1 if value >= 10 else 3}f}"


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
