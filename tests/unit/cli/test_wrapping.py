import io
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.cli.wrapping import Verbatim, say, wrap_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("line", "wrapped"),
    [
        ("short", "short"),
        (
            "note: no column looks like text, so this is a table",
            "note: no column looks like text, so this\n      is a table",
        ),
        (
            "time    about 5 s: start 2 s · training 2 s · evaluations 0 s",
            "time    about 5 s: start 2 s · training\n        2 s · evaluations 0 s",
        ),
        (
            "✓ onnx         ONNX and its runtime, to export models",
            "✓ onnx         ONNX and its runtime, to\n               export models",
        ),
        (
            "  set by a very long word in a file that is far away",
            "  set by a very long word in a file that\n    is far away",
        ),
        (
            "the text of a paragraph goes on at the margin",
            "the text of a paragraph goes on at the\nmargin",
        ),
        (
            "runs/a/folder/whose/name/is/longer/than/a/line is there",
            "runs/a/folder/whose/name/is/longer/than/a/line\nis there",
        ),
    ],
)
def test_a_long_line_is_broken_between_words_and_keeps_its_indent(line: str, wrapped: str) -> None:
    assert wrap_text(line, columns=40) == wrapped


def test_a_long_command_can_still_be_pasted() -> None:
    command = (
        """burnish predict runs/reviews --row '{"text": "two words  and more"}' --out "my predictions.csv" """.strip()
    )
    wrapped = wrap_text(f"  {command}", columns=40)
    assert wrapped.count(" \\\n    ") == 2
    assert shlex.split(wrapped.replace("\\\n", "")) == shlex.split(command)


@given(st.lists(st.text("abc-_/", min_size=1, max_size=12), min_size=1), st.integers(40, 90), st.integers(0, 6))
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(words: list[str], columns: int, indent: int) -> None:
    wrapped = wrap_text(" " * indent + " ".join(words), columns=columns)
    assert max(map(len, wrapped.split("\n"))) <= columns
    assert wrapped.split() == words


def test_only_a_terminal_gets_broken_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    long = "word " * 20
    for stream, text, is_broken in (
        (Terminal(), long, True),
        (Terminal(), Verbatim(long), False),
        (io.StringIO(), long, False),
    ):
        say(text, stream=stream)
        assert (stream.getvalue().count("\n") > 1) is is_broken
