"""Writes the range of a foreign parameter as a range of our space, or says what is wrong with it."""

import math


def read_range(kind: str, low: str | None, high: str | None) -> dict[str, str] | str:
    """Write a range, its ends as they were written; a sentence for one that is empty or has no numbers."""
    try:
        first, last = (int(low or ""), int(high or "")) if kind == "int" else (float(low or ""), float(high or ""))
    except ValueError:
        return f"a range needs {'whole numbers' if kind == 'int' else 'numbers'} as its ends"
    if not (math.isfinite(first) and math.isfinite(last) and first < last):
        return "its range is empty"
    if kind in ("log", "reverse_log") and first <= 0:
        return "a logarithmic scale needs a range above zero"
    return {"type": kind, "min": (low or "").strip(), "max": (high or "").strip()}


def read_power_range(base: str, low: str | None, high: str | None) -> dict[str, str] | str:
    """Write a range whose ends are exponents of a base."""
    try:
        ends = [repr(float(base) ** float(each or "")) for each in (low, high)]
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        return "its ends must be exponents of its base, and give ordinary numbers"
    return read_range("log", *ends)
