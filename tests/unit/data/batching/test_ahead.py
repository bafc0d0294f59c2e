"""A background thread makes items in advance, bounded, and hands its errors over."""

import threading

import pytest

from burnish.data.batching.ahead import Ahead


def test_no_more_than_depth_items_are_made_in_advance():
    made = []
    room = threading.Semaphore(0)

    def items():
        for number in range(10):
            made.append(number)
            room.release()
            yield number

    with Ahead(items(), depth=2) as ahead:
        room.acquire()
        room.acquire()
        assert made == [0, 1]
        assert list(ahead) == list(range(10))
        assert list(ahead) == []


def test_items_made_before_an_error_are_still_given():
    def items():
        yield 1
        raise OSError("the disk is gone")

    with Ahead(items()) as ahead:
        assert next(ahead) == 1
        with pytest.raises(OSError, match="the disk is gone"):
            next(ahead)


def test_nothing_comes_after_close():
    ahead = Ahead(iter(range(100)))
    assert next(ahead) == 0
    ahead.close()
    assert list(ahead) == []
