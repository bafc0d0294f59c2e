"""The judge itself: what it lets pass, and what it does not."""

import sys
from pathlib import Path

import pytest

from tests.adversary.judge import DOCUMENTED, Canary, judge


def say(code: int, words: str) -> int:
    sys.stderr.write(f"{words}\n")
    return code


def test_the_documented_exit_codes_are_those_of_the_page() -> None:
    assert {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70, 75, 130} == DOCUMENTED


def test_a_refusal_in_a_sentence_passes() -> None:
    assert judge([], call=lambda _: say(5, "error: this is not a run")).code == 5


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (70, "error: this is a bug in burnish"),
        (99, "error: nobody knows this code"),
        (5, "Traceback (most recent call last)\nerror: and so on and on"),
        (5, ""),
        (5, "error: KeyError"),
        (5, "error: " + "much too much " * 2000),
    ],
)
def test_anything_else_does_not(code: int, words: str) -> None:
    with pytest.raises(AssertionError):
        judge([], call=lambda _: say(code, words))


def test_code_that_ran_is_seen(tmp_path: Path) -> None:
    bird = Canary("any", tmp_path / "trace")
    with pytest.raises(AssertionError, match="nobody trusted"):
        judge([], canary=bird, call=lambda _: bird.trace.touch() or 0)


def test_what_was_lost_is_named_and_what_was_moved_is_not(tmp_path: Path) -> None:
    kept = tmp_path / "kept.bin"
    kept.write_bytes(b"precious")
    judge([], keeps=[tmp_path], call=lambda _: 0 if kept.rename(tmp_path / "aside.bin") else 1)
    with pytest.raises(AssertionError, match=r"lost .*aside.bin"):
        judge([], keeps=[tmp_path], call=lambda _: (tmp_path / "aside.bin").unlink() or 0)
