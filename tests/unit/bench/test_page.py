"""Measured tables go between their marks and touch nothing else."""

import pytest

from bench.machine import flags
from bench.page import marks, replaced
from bench.run import PAGE, PARTS, SCALE

TEXT = (
    "# Page\n\n<!-- bench: a -->\nold\n<!-- bench: end of a -->\n\nwords\n<!-- bench: b -->\n<!-- bench: end of b -->\n"
)


def test_only_what_stands_between_the_marks_changes() -> None:
    text = replaced(TEXT, "a", ["new", "lines"])
    assert "old" not in text
    assert text.startswith("# Page\n\n<!-- bench: a -->\n\nnew\nlines\n\n<!-- bench: end of a -->\n\nwords\n")
    assert replaced(text, "a", ["new", "lines"]) == text


@pytest.mark.parametrize("text", ["", "<!-- bench: a -->", "<!-- bench: end of a --> <!-- bench: a -->", TEXT + TEXT])
def test_a_page_without_the_marks_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="bench: end of a"):
        replaced(text, "a", [])


@pytest.mark.parametrize("name", [name for name in PARTS if name != "quality"])
def test_the_page_has_a_place_for_every_part(name: str) -> None:
    page = SCALE if name == "scale" else PAGE
    assert [page.read_text().count(mark) for mark in marks(name)] == [1, 1]


def test_flags_that_matter_are_found_as_whole_words(tmp_path) -> None:
    (tmp_path / "cpuinfo").write_text("model name : X\nflags : fpu avx2 avx512f_like avx512_bf16\n")
    assert flags(tmp_path / "cpuinfo") == ["avx2", "avx512_bf16"]
