"""The check of prose rates as the formula does, and sees a link that leads nowhere."""

from pathlib import Path

import pytest

from bench import prose
from bench.prose import broken_links, count_syllables, reading_ease


@pytest.mark.parametrize(
    ("word", "number"), [("cat", 1), ("table", 2), ("make", 1), ("reading", 2), ("configuration", 5), ("the", 1)]
)
def test_syllables(word: str, number: int) -> None:
    assert count_syllables(word) == number


def test_the_formula() -> None:
    """Six words, one sentence, six syllables."""
    assert reading_ease("The cat sat on the mat.") == pytest.approx(206.835 - 1.015 * 6 - 84.6 * 1)


def test_code_tables_and_headings_are_no_prose() -> None:
    plain = "The cat sat on the mat."
    dressed = f"# Internationalisation\n\n{plain}\n\n```python\nconfiguration = 1\n```\n\n| characterisation |\n"
    assert reading_ease(dressed) == reading_ease(plain)


def test_long_words_in_long_sentences_are_hard() -> None:
    hard = (
        "Notwithstanding considerable organisational complexity, configuration necessitates comprehensive deliberation."
    )
    assert reading_ease(hard) < 0 < prose.LEAST_EASE


def test_links_that_lead_nowhere_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    (tmp_path / "b.md").write_text("# What it is\n")
    page = tmp_path / "a.md"
    page.write_text("[x](b.md) [x](b.md#what-it-is) [x](c.md) [x](b.md#else) [x](https://example.org/none)")
    assert [*broken_links(page)] == ["a.md: c.md leads to no file", "a.md: b.md#else leads to no heading of that page"]


@pytest.mark.parametrize("page", prose.pages(), ids=lambda page: page.name)
def test_what_a_stranger_reads_first_is_plain(page: Path) -> None:
    assert reading_ease(page.read_text(encoding="utf-8")) >= prose.LEAST_EASE
    assert [*broken_links(page)] == []
