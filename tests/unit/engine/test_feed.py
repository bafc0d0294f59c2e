"""Batches made ahead are the batches that would have been made, and only what was consumed counts."""

import threading

import numpy as np
import pytest

from burnish.data.batching.batches import BatchStream, Cursor
from burnish.engine.feed import Prefetch
from burnish.errors import DataError
from burnish.spec.experiment import Batching


def collate(drawn):
    return drawn.indices * 10


def test_prefetch_gives_the_same_batches_in_the_same_order():
    lengths = np.arange(1, 1 + 200)
    expected = BatchStream(lengths, Batching(), 3)
    with Prefetch(BatchStream(lengths, Batching(), 3), collate, depth=3) as ahead:
        for _ in range(30):
            drawn, batch = ahead.draw()
            assert np.array_equal(drawn.indices, expected.draw().indices)
            assert np.array_equal(batch, drawn.indices * 10)


def test_the_cursor_of_prefetch_counts_only_what_was_consumed():
    prepared = threading.Semaphore(0)

    def noted(drawn):
        prepared.release()
        return drawn

    with Prefetch(BatchStream(np.ones(100), Batching(examples=10), 0), noted, depth=4) as ahead:
        for _ in range(4):
            prepared.acquire()
        assert ahead.cursor == {"epoch": 0, "batch": 0}
        ahead.draw()
        assert ahead.cursor == {"epoch": 0, "batch": 1}


def test_prefetch_begins_where_the_stream_stands():
    stream = BatchStream(np.ones(100), Batching(examples=10), 0)
    stream.cursor = Cursor(epoch=2, batch=7)
    with Prefetch(stream, collate) as ahead:
        assert ahead.cursor == {"epoch": 2, "batch": 7}
        assert ahead.draw()[0].cursor_before == {"epoch": 2, "batch": 7}


def test_an_error_of_collating_rises_at_the_consumer_after_the_good_batches():
    def fails_at_third(drawn):
        if drawn.cursor_before["batch"] == 2:
            raise DataError("row 17 is broken")
        return drawn

    with Prefetch(BatchStream(np.ones(100), Batching(examples=10), 0), fails_at_third) as ahead:
        ahead.draw()
        ahead.draw()
        for _ in range(2):
            with pytest.raises(DataError, match="row 17"):
                ahead.draw()
        assert ahead.cursor == {"epoch": 0, "batch": 2}


def test_closing_ends_the_thread_even_when_it_waits_for_room():
    before = threading.active_count()
    prepared = threading.Semaphore(0)

    def noted(drawn):
        prepared.release()
        return drawn

    ahead = Prefetch(BatchStream(np.ones(100), Batching(examples=10), 0), noted, depth=1)
    ahead.draw()
    prepared.acquire()
    prepared.acquire()
    ahead.close()
    ahead.close()
    assert threading.active_count() == before
