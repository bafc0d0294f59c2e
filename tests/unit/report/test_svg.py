"""Charts are well-formed, accessible, and survive odd numbers."""

import itertools
import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.metrics.confidence import Reliability
from burnish.report.data import CurvePoint, Matrix
from burnish.report.figures import duration, figure, readable, shortened, tick
from burnish.report.svg import NARROW, Bar, Line, Scale, bar_chart, heat_map, line_chart, reliability_chart, ticks
from burnish.spec.values import Score

ODD = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0])


def parse(picture: str) -> ElementTree.Element:
    root = ElementTree.fromstring(picture)
    assert root.attrib["role"] == "img"
    assert [child.tag for child in root][:2] == ["title", "desc"]
    return root


@given(st.lists(st.tuples(st.integers(0, 10**6), ODD), max_size=8), ODD)
def test_any_line_is_drawn_or_left_out(values, best) -> None:
    points = [CurvePoint(step, value) for step, value in values]
    picture = line_chart([Line(points, "model"), Line(points[:1], "faint")], title="<loss>", mark=CurvePoint(1, best))
    assert "nan" not in picture
    assert "inf" not in picture
    if picture:
        parse(picture)
    else:
        assert not any(math.isfinite(point.value) for point in points)


@given(st.lists(st.tuples(ODD, st.none() | st.floats(-9, 9), st.none() | st.floats(-9, 9)), max_size=4))
def test_any_bars_are_drawn_or_left_out(values) -> None:
    picture = bar_chart([Bar("a <b>", Score(*value), is_model=True) for value in values], title="scores")
    if picture:
        parse(picture)


@pytest.mark.parametrize("length", [1, 40])
def test_on_a_phone_nothing_is_scaled_down_and_no_figure_meets_another(length: int) -> None:
    names = ["n" * length, "other"]
    bars = bar_chart([Bar(name, Score(0.512, 0.4, 0.6), is_model=True) for name in names], title="a", width=NARROW)
    points = [CurvePoint(step * 1234, step / 7) for step in range(9)]
    lines = line_chart([Line(points, "model")], title="b", width=NARROW)
    for picture in (bars, lines):
        root = parse(picture)
        assert root.attrib["viewBox"].startswith(f"0 0 {NARROW} ")
        texts = [each for each in root if each.tag == "text"]
        assert all(start >= 0 and end <= NARROW for start, end in map(_ends, texts))
        rows = {each.attrib["y"] for each in texts}
        for row in rows:
            spans = sorted(_ends(each) for each in texts if each.attrib["y"] == row)
            assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans)), (row, spans)


def _ends(element: ElementTree.Element) -> tuple[float, float]:
    """Where a text begins and ends, if a letter is half as wide as it is high."""
    width = 6.0 * len("".join(element.itertext()))
    shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[element.attrib["text-anchor"]]
    return float(element.attrib["x"]) - shift * width, float(element.attrib["x"]) + (1 - shift) * width


def test_a_whisker_spans_the_interval() -> None:
    root = parse(bar_chart([Bar("model", Score(0.5, 0.0, 1.0))], title="scores"))
    (whisker,) = [each for each in root if each.attrib.get("class") == "whisker"]
    assert whisker.attrib["d"].startswith("M210.0 19H850.0")


@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_a_heat_map_has_a_cell_for_each_pair(size) -> None:
    counts = tuple(tuple(range(size)) for _ in range(size))
    root = parse(heat_map(Matrix("test", tuple("<x>" * 9 for _ in range(size)), counts, size), title="c"))
    assert len([each for each in root if each.tag == "rect"]) == size * size


def test_reliability_has_a_dot_for_each_group() -> None:
    points = [Reliability(0.6, 0.2, 3), Reliability(0.9, 1.0, 90)]
    root = parse(reliability_chart(points, title="calibration"))
    assert len([each for each in root if each.tag == "circle"]) == 2
    parse(reliability_chart([Reliability(1.0, 1.0, 1)], title="one"))


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_are_few_and_inside(low, span) -> None:
    found = ticks(low, low + span)
    slack = 1e-6 * (abs(low) + span)
    assert len(found) <= 7
    assert all(low - slack <= value <= low + span + slack for value in found)


def test_a_range_of_the_smallest_number_has_one_tick() -> None:
    assert ticks(0.0, 5e-324) == [0.0]


@given(st.integers(0, 1000), st.integers(1, 100_000))
def test_steps_and_trials_are_whole_numbers(low, span) -> None:
    found = ticks(low, low + span, most=6, is_whole=True)
    assert 0 < len(found) <= 7
    assert all(value == int(value) for value in found)


def test_a_scale_keeps_values_on_the_page() -> None:
    scale = Scale(0, 10, 100, 200)
    assert [scale.at(value) for value in (-5, 0, 5, 10, 50)] == [100, 100, 150, 200, 200]
    assert Scale(3, 3, 0, 10).at(3) == 5


def test_figures_read_well() -> None:
    assert [figure(value) for value in (0.9312, 1.0, 205.0, 1234.5)] == ["0.931", "1.000", "205", "1,234"]
    assert [figure(value) for value in (-0.5, 0.00012)] == ["\N{MINUS SIGN}0.500", "1.2e\N{MINUS SIGN}04"]
    assert [figure(value) for value in (math.nan, None, math.inf)] == ["\N{EN DASH}", "\N{EN DASH}", "∞"]
    assert [tick(value) for value in (0.0, 7.5e-05, 0.25, 20000.0)] == ["0", "7.5e\N{MINUS SIGN}5", "0.25", "20k"]
    assert [duration(seconds) for seconds in (2.34, 42, 412, 7500)] == ["2.3 s", "42 s", "6 min 52 s", "2 h 5 min"]
    assert readable("calibration_error") == "Calibration error"
    assert shortened("a  long\ntext", limit=7) == "a long…"
