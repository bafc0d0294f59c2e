"""A recorded terminal is an SVG that any viewer can read, and its waits are short."""

import re
from xml.etree import ElementTree

from bench.screenshots import COLUMNS, LAST_PAUSE, LONGEST_PAUSE, ROWS, Typed, draw_terminal

SVG = "{http://www.w3.org/2000/svg}"


def test_every_line_is_there_as_it_was_printed() -> None:
    lines = [Typed(0, "$ burnish train a.yaml"), Typed(60, "loss < 0.5 & falling"), Typed(61, "x" * (COLUMNS + 5))]
    texts = [each.text for each in ElementTree.fromstring(draw_terminal(lines)).iter(f"{SVG}text")]
    assert texts == ["$ burnish train a.yaml", "loss < 0.5 & falling", "x" * COLUMNS, "xxxxx"]


def test_a_long_wait_is_cut_short() -> None:
    drawn = draw_terminal([Typed(0, "a"), Typed(600, "b")])
    assert f"{0.05 + LONGEST_PAUSE + LAST_PAUSE:.1f}s infinite" in drawn


def test_more_lines_than_the_window_has_scroll_to_the_last() -> None:
    drawn = draw_terminal([Typed(number, str(number)) for number in range(ROWS + 3)])
    assert re.search(r"g\{transform:translateY\(-(\d+)px\)\}", drawn)[1] == str(3 * 18)  # type: ignore[index]
