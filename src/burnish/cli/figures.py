"""How numbers, times and scores are written for people."""

import math
from collections.abc import Mapping
from datetime import datetime

from burnish.spec.values import CELLS, Score

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


_UNSAID = ("environment", "provenance", "files", "select", "batches_per_epoch")
"""Facts that the report tells and a line in a terminal need not."""
_SHARES = ("texts_cut", "tokens_dropped", "padding")
_OF_TEXTS = ("texts_cut", "tokens_dropped", "longest_text", "median_text")


def number(value: float) -> str:
    """Write a count with thousands apart, anything else to four significant digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e12 else f"{value:.3g}"
    return f"{value:.3g}" if 0 < abs(value) < 1e-3 else f"{value:.4g}"


def figure(value: float, *, name: str = "") -> str:
    """Write a score's value to four places, so that columns of them line up, and a count, told by its name, as one."""
    if name.startswith(CELLS) and math.isfinite(value):
        return number(int(value) if float(value).is_integer() else value)
    if math.isnan(value):
        return "\N{EN DASH}"
    return f"{value:.4f}" if abs(value) < 1e4 else f"{value:.4g}"


def interval(score: Score, *, name: str = "") -> str:
    """Write a score's 95% interval, or why there is no score, or nothing."""
    if score.why is not None:
        return f"not defined: {score.why}"
    if score.low is None or score.high is None:
        return ""
    return f"{figure(score.low, name=name)} to {figure(score.high, name=name)}"


def score_text(score: Score | None, *, name: str = "") -> str:
    """Write a score with its interval in one cell."""
    if score is None:
        return "-"
    value, between = figure(score.value, name=name), interval(score, name=name)
    return f"{value} ({between})" if between else value


def duration(seconds: float) -> str:
    """Write a length of time: `48 s`, `3 min 12 s`, `2 h 05 min`, `1 d 04 h`."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02d} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR:02d} h"


def moment(timestamp: float) -> str:
    """Write a time of the clock on this machine."""
    return datetime.fromtimestamp(timestamp).strftime("%Y-%m-%d %H:%M")  # people read local time


def facts_table(facts: Mapping[str, object]) -> list[tuple[str, str]]:
    """Write facts as lines of a name and a value; those of rows share a line, and so do those of texts."""
    groups: dict[str, list[str]] = {}
    for name, value in facts.items():
        group, called = _place(name)
        if name not in _UNSAID:
            groups.setdefault(group, []).append(f"{called} {_fact(name, value)}".strip())
    return [(group, " · ".join(values)) for group, values in groups.items()]


def _place(name: str) -> tuple[str, str]:
    """Choose the line that a fact belongs to, and what it is called there."""
    words = name.replace("_", " ")
    if name.endswith("_rows"):
        return "rows", words.removesuffix(" rows")
    if name in _OF_TEXTS:
        return "texts", words.removesuffix(" text").removeprefix("texts ")
    return words, ""


def _fact(name: str, value: object) -> str:
    if name in _SHARES and isinstance(value, float):
        return f"{value:.1%}"
    return number(value) if isinstance(value, int | float) else str(value)
