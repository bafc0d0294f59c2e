"""Learns from the training rows how each column is encoded and scaled."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.columns.datetimes import PERIODS, CompactForm, slash_order, take_part
from burnish.data.columns.parse_columns import ParsedNumbers, describe_cell, parse_numbers, parse_times
from burnish.errors import ConfigError, Problem
from burnish.spec.values import Array
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.guess import find_date_form, guess, is_all_of_1970, is_day_first
from burnish.tasks.tabular.options import ColumnOptions, Cross
from burnish.tasks.tabular.plan import ColumnPlan, NumberPlan, Scaling, TablePlan, WidePlan

_PARTS = ("elapsed", "month", "weekday", "hour")
_TOP_SHOWN = 5
_HASH_BUCKETS = 1024
_FLAGS = ("false", "true")
_STATED = "as stated"
_STRAYS_SHOWN = 3


@dataclass(frozen=True)
class Fitter:
    """Fit a table by what the user stated and, where nothing is stated, by what the rows look like."""

    frame: ColumnFrame
    options: Mapping[str, ColumnOptions]
    normalise: str = "quantile"
    num_bins: int = 48
    min_count: int = 2

    def fit(self, names: Sequence[str], crosses: Sequence[Cross]) -> TablePlan:
        """Return the plan for these columns."""
        columns: list[ColumnPlan] = []
        numbers: list[NumberPlan] = []
        dropped: dict[str, str] = {}
        for name in names:
            kind, why = self._kind(name)
            if kind == "drop":
                dropped[name] = why
            else:
                columns.append(replace(self._column(name, kind), is_guessed=why != _STATED))
                numbers += self._numbers(columns[-1])
            self.frame.forget(name)  # or all columns, read in every way that was tried, would be in memory at once
        return TablePlan(tuple(columns), tuple(numbers), self._wide(columns, crosses), dropped)

    def _kind(self, name: str) -> tuple[str, str]:
        stated = self._options(name).stated_kind
        if stated != "auto":
            return stated, _STATED
        found = guess(self.frame, name)
        return found.kind, found.why

    def _options(self, name: str) -> ColumnOptions:
        return self.options.get(name, ColumnOptions())

    def _column(self, name: str, kind: str) -> ColumnPlan:
        options = self._options(name)
        if kind in ("number", "datetime"):
            return self._quantity(name, kind, options)
        read = self.frame.words(name)
        sizes = np.bincount(read.codes[read.codes >= 0], minlength=len(read.values))
        counts: dict[str, int] = {}
        for value, size in zip(read.values.to_pylist(), sizes.tolist(), strict=True):
            if value is not None and size:  # "5" and "5.0" are one value
                counts[value] = counts.get(value, 0) + size
        # the most frequent first, and among equals by alphabet
        counts = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        vocabulary = self._vocabulary(counts, options) if kind == "category" else ()
        vocabulary = _FLAGS if kind == "boolean" else vocabulary
        size = (
            (options.size or 0) if kind == "identity" else (options.buckets or _HASH_BUCKETS) if kind == "hash" else 0
        )
        kept = sum(counts.get(value, 0) for value in vocabulary) if kind == "category" else sum(counts.values())
        facts = {
            "missing": int((read.codes < 0).sum()),
            "distinct": len(counts),
            "top": dict(list(counts.items())[:_TOP_SHOWN]),
            **({"rare": sum(counts.values()) - kept} if kind == "category" else {}),
            **(self._strays(name, self.frame.flags(name)) if kind == "boolean" else {}),
            **({"dates": "unknown order"} if slash_order(pc.drop_null(read.values)) == "unknown" else {}),
        }
        return ColumnPlan(name, kind, options.default, vocabulary=vocabulary, size=size, facts=facts)

    def _vocabulary(self, counts: Mapping[str, int], options: ColumnOptions) -> tuple[str, ...]:
        if options.vocabulary:
            return tuple(dict.fromkeys(value.strip() for value in options.vocabulary))
        fewest = options.min_count or self.min_count
        frequent = [value for value, count in counts.items() if count >= fewest]
        # In alphabetical order, so that ids do not tell which value is frequent.
        return tuple(sorted(frequent[: options.max_size] or list(counts)[:1]))

    def _quantity(self, name: str, kind: str, options: ColumnOptions) -> ColumnPlan:
        stated = None if options.format is None else options.format == "day/month/year"
        day_first = kind == "datetime" and (is_day_first(self.frame, name) if stated is None else stated)
        compact = find_date_form(self.frame, name) if kind == "datetime" else ""
        if kind == "datetime":
            read = self.frame.times(name, day_first=day_first, compact=compact)
        else:
            read = self.frame.numbers(name)
        known = _known(read.values)
        middle = float(np.median(known)) if len(known) else 0.0
        facts: dict[str, Any] = {
            "missing": int((np.isnan(read.values) & ~read.is_wrong).sum()),
            "infinite": int(np.isinf(read.values).sum()),
            "distinct": int(np.count_nonzero(known[1:] != known[:-1])) + min(1, len(known)),
            **(_statistics(known) if len(known) else {}),
            **self._strays(name, read),
        }
        if kind == "datetime" and is_all_of_1970(self.frame, name, known):
            facts["dates"] = "all of 1970"
        fill = middle
        if options.default is not None:
            fill = self._stated_fill(name, kind, options.default, day_first=day_first, compact=compact)
        return ColumnPlan(name, kind, options.default, fill=fill, facts=facts, day_first=day_first, compact=compact)

    def _strays(self, name: str, read: ParsedNumbers) -> dict[str, Any]:
        """Count the cells that cannot be read, with a few of them."""
        rows = np.flatnonzero(read.is_wrong).tolist()
        if not rows:
            return {}
        column = self.frame.column(name)
        return {"unreadable": len(rows), "strays": sorted({describe_cell(column, row) for row in rows})[:_STRAYS_SHOWN]}

    def _stated_fill(self, name: str, kind: str, default: str, *, day_first: bool, compact: CompactForm) -> float:
        written = pa.array([default])
        if kind == "datetime":
            read = parse_times(written, day_first=day_first, compact=compact)
        else:
            read = parse_numbers(written)
        value = read.values[0]
        if not np.isfinite(value):
            wanted = "a date or time" if kind == "datetime" else "a number"
            raise ConfigError([Problem(f"task.columns.{name}.default must be {wanted}, got {default!r}")])
        return float(value)

    def _numbers(self, column: ColumnPlan) -> Iterator[NumberPlan]:
        if column.kind == "number":
            options = self._options(column.name)
            known = _known(self.frame.numbers(column.name).values)
            if options.mean is not None and options.variance is not None:
                scaling = Scaling("zscore", options.mean, float(np.sqrt(options.variance)))
            else:
                scaling = fit_scaling(known, options.normalise or self.normalise)
            yield NumberPlan(column.name, column.name, "value", scaling, self._edges(scaled(known, scaling)))
        elif column.kind == "datetime":
            yield from self._time_parts(column)
        else:
            return
        if any(column.facts.get(name) for name in ("missing", "unreadable", "infinite")):
            yield NumberPlan(f"{column.name} is missing", column.name, "missing")

    def _time_parts(self, column: ColumnPlan) -> Iterator[NumberPlan]:
        options = self._options(column.name)
        known = _known(self.frame.times(column.name, day_first=column.day_first, compact=column.compact).values)
        chosen = options.parts or [name for name in _PARTS if len(np.unique(np.floor(take_part(known, name)))) > 1]
        for name in chosen:
            values = np.sort(take_part(known, name))
            if name in PERIODS and options.cyclic is not False:
                for wave in ("sin", "cos"):
                    ordered = np.sort(turned(values, name, wave))
                    yield NumberPlan(
                        f"{column.name} {name} {wave}", column.name, f"{name}_{wave}", edges=self._edges(ordered)
                    )
            else:
                scaling = fit_scaling(values, "zscore")
                ordered = scaled(values, scaling)
                yield NumberPlan(f"{column.name} {name}", column.name, name, scaling, self._edges(ordered))

    def _edges(self, ordered: "Array") -> tuple[float, ...]:
        return edges(ordered, num_bins=self.num_bins)

    def _wide(self, columns: Sequence[ColumnPlan], crosses: Sequence[Cross]) -> tuple[WidePlan, ...]:
        boundaries = {name: options.boundaries for name, options in self.options.items() if options.boundaries}
        found: list[WidePlan] = []
        offset = 1  # 0 is nothing
        for names, size in self._wide_columns(columns, crosses, boundaries):
            own = {name: boundaries[name] for name in names if name in boundaries}
            found.append(WidePlan(names, size, offset, own))
            offset += size
        return tuple(found)

    def _wide_columns(
        self, columns: Sequence[ColumnPlan], crosses: Sequence[Cross], boundaries: Mapping[str, Sequence[float]]
    ) -> Iterator[tuple[tuple[str, ...], int]]:
        for column in columns:
            if column.kind not in ("number", "datetime"):
                yield (column.name,), column.cardinality
            elif column.name in boundaries:
                yield (column.name,), len(boundaries[column.name]) + 2
        kinds = {column.name: column.kind for column in columns}
        problems = [_uncrossable(name, kinds, boundaries) for cross in crosses for name in cross.columns]
        if any(problems):
            raise ConfigError([Problem(each) for each in problems if each])
        for cross in crosses:
            yield cross.columns, cross.buckets


def turned(values: "Array", name: str, wave: str) -> "Array":
    """Put a part of a time on a circle: the last hour of a day is next to the first."""
    angle = 2 * np.pi * values / PERIODS[name]
    return np.asarray(np.sin(angle) if wave == "sin" else np.cos(angle))


def _uncrossable(name: str, kinds: Mapping[str, str], boundaries: Mapping[str, Sequence[float]]) -> str | None:
    if name not in kinds:
        return f"task.crosses names `{name}`, which is not among the columns used: {', '.join(kinds)}"
    if kinds[name] in ("number", "datetime") and name not in boundaries:
        return f"task.crosses names `{name}`, a {kinds[name]}; give it `boundaries`, or make it a category"
    return None


def _known(values: "Array") -> "Array":
    known = values[np.isfinite(values)]
    known.sort()
    return known


def _statistics(known: "Array") -> dict[str, float]:
    low, quarter, middle, three_quarters, high = np.quantile(known, [0, 0.25, 0.5, 0.75, 1]).tolist()
    return {
        "mean": float(known.mean()),
        "std": float(known.std()),
        "lowest": low,
        "quarter": quarter,
        "median": middle,
        "three_quarters": three_quarters,
        "highest": high,
    }


_MOST_POINTS = 256
_ROWS_A_POINT = 4
_AT_ONCE = 1 << 16
_LARGEST = 1e30
"""Scaled numbers stay below this, so that float32 holds them."""


def fit_scaling(ordered: "Array", how: str) -> Scaling:
    """Learn a scaling from the known values, in rising order: sums over them do not depend on the order of rows."""
    if not len(ordered) or how == "none":
        return Scaling()
    if how == "quantile":
        return Scaling("quantile", points=tuple(np.quantile(ordered, _shares(len(ordered))).tolist()))
    if how == "robust":
        low, middle, high = np.quantile(ordered, [0.25, 0.5, 0.75])
        return Scaling("zscore", float(middle), _spread(float(high - low) / 1.349, ordered))
    values = _log(ordered) if how == "log" else ordered
    return Scaling(how, float(values.mean()), _spread(float(values.std()), values))


def scaled(values: "Array", scaling: Scaling) -> "Array":
    """Scale float64 values; the order of values never changes."""
    if len(values) <= _AT_ONCE:
        return _scaled(values, scaling)
    result = np.empty(len(values))
    for start in range(0, len(values), _AT_ONCE):  # or what is reckoned on the way takes several times the memory
        result[start : start + _AT_ONCE] = _scaled(values[start : start + _AT_ONCE], scaling)
    return result


def _scaled(values: "Array", scaling: Scaling) -> "Array":
    if scaling.how == "quantile":
        # To those of a normal distribution; a value that many rows share goes to the middle of its range.
        points = np.asarray(scaling.points)
        normal = np.array(_normal(len(points)))
        upper = np.interp(values, points, normal)
        lower = -np.interp(-values, -points[::-1], -normal[::-1])
        return np.asarray((upper + lower) / 2)
    if scaling.how == "none":
        return np.clip(values, -_LARGEST, _LARGEST)
    plain = _log(values) if scaling.how == "log" else values
    return np.asarray(np.clip((plain - scaling.centre) / scaling.spread, -_LARGEST, _LARGEST))


def edges(ordered: "Array", *, num_bins: int) -> tuple[float, ...]:
    """Return rising bin edges: quantiles of scaled values in rising order, and as many of the distinct ones.

    By rows alone, a column in which most rows share one value would have hardly any edge among all its others.
    """
    if not len(ordered):
        return (0.0, 1.0)
    shares = np.linspace(0, 1, num_bins + 1)
    found = [np.quantile(each, shares) for each in (ordered, np.unique(ordered))]
    # In float32, as the network sees the numbers: edges that fall together there would make a bin of no width.
    cuts = np.unique(np.concatenate(found).astype(np.float32))
    if len(cuts) < 2:
        return (float(cuts[0]), float(cuts[0]) + 1.0)
    return tuple(cuts.tolist())


def _spread(spread: float, values: "Array") -> float:
    """Give a usable width: a column of one value, or with half of its values equal, still has to be divided by one."""
    if spread > 0 and np.isfinite(spread):
        return spread
    wider = float(values.std())
    return wider if wider > 0 and np.isfinite(wider) else 1.0


def _log(values: "Array") -> "Array":
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))


def _shares(num_values: int) -> "Array":
    return np.linspace(0, 1, max(2, min(_MOST_POINTS, num_values // _ROWS_A_POINT)))


@cache
def _normal(num_points: int) -> tuple[float, ...]:
    """Return the quantiles of a normal distribution, once for each number: they are asked for with every few rows."""
    edge = 0.5 / num_points
    shares = np.linspace(0, 1, num_points).tolist()
    return tuple(NormalDist().inv_cdf(min(max(share, edge), 1 - edge)) for share in shares)
