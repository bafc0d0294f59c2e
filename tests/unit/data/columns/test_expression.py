"""Expressions compute what Python would, over whole columns, and nothing else gets through."""

import ast
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.data.columns.evaluate import evaluate
from burnish.data.columns.expression import parse
from burnish.tasks.tabular.frame import ColumnFrame

_FUNCTIONS = {
    "abs": abs,
    "sqrt": lambda value: value**0.5 if value >= 0 else math.nan,
    "floor": math.floor,
    "min": min,
    "max": max,
    "clip": lambda value, low, high: min(max(value, low), high),
}


def of(text: str, **columns: object) -> list[float | None]:
    values = evaluate(parse(text), ColumnFrame(pa.table({name: pa.array(cells) for name, cells in columns.items()})))
    return [None if math.isnan(value) else value for value in values.tolist()]


def expressions() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["a", "b", "2", "0.5", "-3", "10"])

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            st.builds(
                lambda pair, op: f"({pair[0]} {op} {pair[1]})",
                pairs,
                st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "<=", "==", "!="]),
            ),
            st.builds(
                lambda pair, op: f"(({pair[0]} > 0) {op} ({pair[1]} > 1))", pairs, st.sampled_from(["and", "or"])
            ),
            st.builds(lambda each, name: f"{name}({each})", inner, st.sampled_from(["abs", "sqrt", "floor"])),
            st.builds(lambda pair, name: f"{name}({pair[0]}, {pair[1]})", pairs, st.sampled_from(["min", "max"])),
            st.builds(lambda pair: f"({pair[0]} if {pair[1]} > 0 else 1)", pairs),
            st.builds(lambda each: f"(not {each})", inner),
        )

    return st.recursive(leaves, grown, max_leaves=8)


@settings(max_examples=300, deadline=None)
@given(expressions(), st.integers(-20, 20), st.integers(-20, 20))
def test_a_row_is_what_python_computes(text: str, a: int, b: int) -> None:
    found = of(text, a=[a, a], b=[b, b])
    try:
        expected = float(eval(text, {"__builtins__": {}}, {**_FUNCTIONS, "a": float(a), "b": float(b)}))  # the oracle
    except (ZeroDivisionError, OverflowError):
        expected = math.nan
    if not math.isfinite(expected):
        # Python decides by what it skips; columns compute both sides, so a hole may show there only.
        assert found == [None, None] or not math.isnan(expected) or "sqrt" in text
    elif found[0] is not None:
        assert found[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)
    else:
        assert any(mark in text for mark in ("/", "%", "sqrt"))  # a branch that Python did not take divides by zero
    assert found[0] == found[1]


def test_missing_values_spread_and_a_division_by_zero_is_missing() -> None:
    assert of("a / b", a=[1, 1, None], b=[2, 0, 1]) == [0.5, None, None]
    assert of("a / b > 3", a=[1, 1], b=[0, 0.1]) == [None, 1.0]
    assert of("fill(a, 7) + is_missing(a)", a=[1, None]) == [1.0, 8.0]
    assert of("log(a)", a=[1.0, -1.0, 0.0]) == [0.0, None, None]


def test_text_is_compared_as_text_and_times_come_apart() -> None:
    pay = ["Cash", "Card", None]
    assert of("pay == 'Cash'", pay=pay) == [1.0, 0.0, None]
    assert of("pay in ('Cash', 'Dispute') or lower(pay) == 'card'", pay=pay) == [1.0, 1.0, None]
    assert of("length(pay)", pay=pay) == [4.0, 4.0, None]
    assert of("hour(at) + 100 * dayofweek(at)", at=["2024-03-01 18:30", "x"]) == [418.0, None]
    assert of('col("zip code") % 10', **{"zip code": ["60615"]}) == [5.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os').system('x')", "only a function may be called at character 1"),
        ("a.real", "a dot at character 1"),
        ("1 + a[0]", "an index in brackets at character 5"),
        ("[x for x in a]", "ListComp"),
        ("(lambda: 1)()", "only a function may be called"),
        ("eval('1')", "`eval` is not a function at character 1"),
        ("a if b", "is not an expression"),
        ("f'{a}'", "a formatted text"),
        ("(a := 1)", "an assignment"),
        ("log(a, b)", "`log` takes 1 value at character 1"),
        ("hour(1 + 2)", "`hour` takes a column"),
        ("col(a)", "in quotes"),
        ("a in b", "takes `in` with a list"),
        ("log(x=1)", "`log` takes 1 value"),
        ("None", "may hold numbers and text, not None"),
        ("1j", "may hold numbers and text"),
        ("a" * 2000, "at most 1000 characters"),
        ("-" * 200 + "a", "nested more than"),
        ("(" * 300 + "a" + ")" * 300, ""),
        ("a\0b", ""),
        ("é + zählen(a)", "`zählen` is not a function at character 5"),
    ],
)
def test_anything_else_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=r".") as refusal:
        parse(text)
    assert words in str(refusal.value)


@given(st.text(max_size=60))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    try:
        expression = parse(text)
    except ValueError:
        return
    assert isinstance(expression.tree, ast.expr)


def test_huge_powers_cost_nothing_and_are_missing() -> None:
    assert of("9 ** 9 ** 9 ** a", a=[9]) == [None]
    assert np.isfinite(of("2 ** 10", a=[1])[0])


def test_the_columns_read_are_named_once_and_in_order() -> None:
    assert parse('fare / (miles + fare) * col("b c")').columns == ("fare", "miles", "b c")
