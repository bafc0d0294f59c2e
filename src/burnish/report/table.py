"""Reads what a run knows of a table's columns: their statistics, their importance, and the scores of slices."""

from collections.abc import Iterator, Mapping
from typing import Any

from burnish.report.data import ColumnSummary, Slice
from burnish.report.figures import figure
from burnish.spec.values import Score

_MOST_SLICES = 60


def read_columns(profile: Mapping[str, Any], insights: Mapping[str, Any]) -> tuple[ColumnSummary, ...]:
    """Summarise the columns of a profile; nothing if it is of no table."""
    facts = profile.get("facts")
    table = facts.get("table") if isinstance(facts, Mapping) else None
    importance = insights.get("importance")
    try:
        return tuple(_columns(table, importance if isinstance(importance, Mapping) else {})) if table else ()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError):
        return ()  # written by another version, or torn: the rest of the page stands


def read_slices(insights: Mapping[str, Any]) -> tuple[Slice, ...]:
    """Give the scores of slices, if they were measured."""
    try:
        return tuple(_slice(each) for each in insights.get("slices", ())[:_MOST_SLICES])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return ()


def _slice(fields: Mapping[str, Any]) -> Slice:
    scores = {str(name): float(value) for name, value in fields["scores"].items() if value is not None}
    low, high = fields.get("interval") or (None, None)
    interval = None if low is None or high is None else (float(low), float(high))
    return Slice(str(fields["column"]), str(fields["value"]), int(fields["rows"]), scores, interval)


def _columns(table: Mapping[str, Any], importance: Mapping[str, Any]) -> Iterator[ColumnSummary]:
    for column in table["columns"]:
        facts = column["facts"]
        name = str(column["name"])
        found = _importance(importance[name]) if importance.get(name) is not None else None
        content = _content(column["kind"], facts)
        yield ColumnSummary(name, str(column["kind"]), int(facts["missing"]), int(facts["distinct"]), content, found)
    for name, why in table["dropped"].items():
        yield ColumnSummary(str(name), "not used", 0, 0, str(why))


def _importance(written: Any) -> Score:
    """Read the mean over several shuffles with the least and the most; early runs wrote the mean alone."""
    if not isinstance(written, Mapping):
        return Score(float(written))
    return Score(float(written["mean"]), float(written["low"]), float(written["high"]))


def _content(kind: str, facts: Mapping[str, Any]) -> str:
    if kind == "datetime" or "mean" in facts:
        words = [f"mean {figure(facts['mean'])}, {figure(facts['lowest'])} to {figure(facts['highest'])}"]
        words = [_dates(facts)] if kind == "datetime" else words
        return ", ".join([*words, f"{facts['infinite']:,} infinite"] if facts.get("infinite") else words)
    top = ", ".join(f"{value} {count:,}" for value, count in facts.get("top", {}).items())
    return f"{top}; {facts['rare']:,} rows of rare values" if facts.get("rare") else top


def _dates(facts: Mapping[str, Any]) -> str:
    from datetime import UTC, datetime

    first, last = (datetime.fromtimestamp(float(facts[name]), UTC) for name in ("lowest", "highest"))
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
