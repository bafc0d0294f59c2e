"""Work behind one's back, heard in front."""

import threading

import pytest

from burnish.storage.background import Background


def test_what_is_said_is_heard_in_order_and_to_the_end() -> None:
    worker: Background[int] = Background()
    worker.begin(lambda say: [say(number) for number in range(3)] and None)  # type: ignore[func-returns-value]
    assert list(worker.finished()) == [0, 1, 2]


def test_nothing_is_waited_for_while_hearing() -> None:
    worker: Background[str] = Background()
    go_on = threading.Event()
    worker.begin(lambda say: go_on.wait(30) and say("done"))  # type: ignore[func-returns-value]
    assert list(worker.heard()) == []
    go_on.set()
    assert list(worker.finished()) == ["done"]


def test_an_error_rises_where_the_end_is_heard_and_only_once() -> None:
    worker: Background[str] = Background()

    def fail(say: object) -> None:
        raise OSError("disk gone")

    worker.begin(fail)
    with pytest.raises(OSError, match="disk gone"):
        list(worker.finished())
    assert list(worker.finished()) == []


def test_it_can_be_used_again() -> None:
    worker: Background[str] = Background()
    for word in ("one", "two"):
        worker.begin(lambda say, word=word: say(word))  # type: ignore[misc]
        assert list(worker.finished()) == [word]
