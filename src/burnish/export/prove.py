"""Measures an exported form against torch: the same answers, the same score, and at what speed."""

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pyarrow as pa

from burnish.artifact.predictor import Predictor, relative_error
from burnish.artifact.tables import prediction_columns
from burnish.artifact.variants import ANSWER_IN_NUMBERS, EngineSpeed, TaskProof
from burnish.errors import BurnishError, ServeError
from burnish.metrics.compare import Comparison, compare
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome

MOST_ROWS = 5_000
_TIMED_ROWS, _ROUNDS, _SINGLE_ROWS = 256, 3, 15


def prove_task(torch: Outcome, other: Outcome, *, metric: Metric) -> TaskProof:
    """Compare two outcomes of the same rows, with 95% intervals; refuse answers that are no numbers any more."""
    lost = np.isnan(other.outputs) & ~np.isnan(torch.outputs)
    num_lost = int(lost.reshape(len(lost), -1).any(axis=1).sum())
    if num_lost:
        raise ServeError(
            f"{num_lost:,} of {len(lost):,} rows have an answer by torch and none by the exported graph, which gives "
            "nan; nothing was exported. Please report this model"
        )
    agreement: dict[str, float] = {}
    if torch.kind not in ANSWER_IN_NUMBERS:
        mine, theirs = (prediction_columns(each)["predicted"].to_pylist() for each in (torch, other))
        alike = sum(a == b for a, b in zip(mine, theirs, strict=True))
        low, high = _wilson(alike, len(mine))
        agreement = {"agreement": alike / max(1, len(mine)), "agreement_low": low, "agreement_high": high}
    error = relative_error(np.nan_to_num(other.outputs), np.nan_to_num(torch.outputs))
    return TaskProof(rows=len(torch.rows), max_error=error, **agreement, **_scored(torch, other, metric))


def _scored(torch: Outcome, other: Outcome, metric: Metric) -> dict[str, object]:
    if torch.truth is None:
        return {}
    name = metric.names()[0]
    first, second = (float(metric.scores(each)[name][0]) for each in (torch, other))
    if not math.isfinite(first):
        return {}
    if not math.isfinite(second):
        return {"score": name, "torch_value": first}
    sign = -1 if metric.better == "higher" else 1
    found = {"score": name, "torch_value": first, "value": second, "loss": sign * (second - first)}
    compared = _compared(torch, other, metric)
    if compared is None or compared.low is None or compared.high is None:
        return found
    low, high = sorted((sign * compared.low, sign * compared.high))
    return {**found, "loss_low": low, "loss_high": high}


def _compared(torch: Outcome, other: Outcome, metric: Metric) -> Comparison | None:
    try:
        return compare(torch, other, metric=metric, names=("torch", "export"), resamples=500)
    except BurnishError:  # some scores are of the whole set, and have no interval
        return None


def measure_speed(predictors: Mapping[str, Predictor], tables: Mapping[str, pa.Table], *, files: Path) -> EngineSpeed:
    """Time single rows and batches of all tasks, from rows to answers, and add up the files."""
    parts = [(each, tables[name].slice(0, _TIMED_ROWS)) for name, each in predictors.items()]
    for predictor, some in parts:
        predictor.outcome(some)
    singles = [_seconds(each, some.slice(at % len(some), 1)) for at in range(_SINGLE_ROWS) for each, some in parts]
    together = [min(_seconds(each, some) for _ in range(_ROUNDS)) for each, some in parts]
    paths = [files] if files.is_file() else [path for path in files.rglob("*") if path.is_file()]
    return EngineSpeed(
        one_row_seconds=median(singles),
        rows_per_second=sum(len(some) for _, some in parts) / sum(together),
        num_bytes=sum(path.stat().st_size for path in paths),
    )


def sample_rows(table: pa.Table) -> pa.Table:
    """Take at most 5,000 rows, at equal distances."""
    if len(table) <= MOST_ROWS:
        return table
    return table.take(np.linspace(0, len(table) - 1, MOST_ROWS).astype(np.int64))


def _seconds(predictor: Predictor, table: pa.Table) -> float:
    began = perf_counter()
    predictor.outcome(table)
    return perf_counter() - began


def _wilson(successes: int, total: int) -> tuple[float, float]:
    """Give the 95% interval of a share, which is sound for shares of 0 and 1 too."""
    if not total:
        return 0.0, 1.0
    z, share = 1.96, successes / total
    centre = (share + z * z / (2 * total)) / (1 + z * z / total)
    reach = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return max(0.0, centre - reach), min(1.0, centre + reach)
