"""Blocks hold every token, in order, whatever the room and however the cuts are moved."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.batching.ragged import Ragged, from_lists
from burnish.data.tokens.packing import cut_lines, cut_packed, draw_offset, find_rows, gather_moved

ROWS = st.lists(st.integers(0, 9), min_size=1, max_size=9)
ROOM = st.integers(1, 7)


def texts_of(lengths: list[int]) -> Ragged:
    """Rows of so many tokens, no token twice."""
    ids = np.arange(100, 100 + sum(lengths), dtype=np.int32)
    return from_lists(np.split(ids, np.cumsum(lengths)[:-1]))


def owners(lengths: list[int]) -> list[int]:
    return [row for row, length in enumerate(lengths) for _ in range(length)]


@given(lengths=ROWS, room=ROOM)
def test_packed_blocks_are_the_whole_text_and_full_but_the_last(lengths: list[int], room: int) -> None:
    texts = texts_of(lengths)
    blocks = cut_packed(texts, room=room)
    assert blocks.tokens.values.tolist() == texts.values.tolist()
    assert (blocks.lengths[:-1] == room).all()
    assert (blocks.lengths > 0).all()


@given(lengths=ROWS, room=ROOM)
def test_every_place_knows_its_row(lengths: list[int], room: int) -> None:
    for blocks in (cut_packed(texts_of(lengths), room=room), cut_lines(texts_of(lengths), room=room)):
        found = find_rows(blocks.rows, blocks.turns, width=room)
        told = [row for at, length in enumerate(blocks.lengths) for row in found[at, :length].tolist()]
        assert told == owners(lengths)


@given(lengths=ROWS, room=ROOM)
def test_lines_are_cut_apart_and_lose_nothing(lengths: list[int], room: int) -> None:
    blocks = cut_lines(texts_of(lengths), room=room)
    assert blocks.tokens.values.tolist() == texts_of(lengths).values.tolist()
    assert np.bincount(blocks.rows, weights=blocks.lengths, minlength=len(lengths)).tolist() == lengths
    assert (blocks.lengths <= room).all()


@given(parts=st.lists(ROWS, min_size=1, max_size=3), room=ROOM, offset=st.integers(0, 6), data=st.data())
def test_moved_cuts_lose_and_repeat_no_token(
    parts: list[list[int]], room: int, offset: int, data: st.DataObject
) -> None:
    # Parts are encoded one by one, so the last block of each may be short.
    chunks = [cut_packed(texts_of(lengths), room=room).tokens for lengths in parts]
    column = pa.chunked_array([chunk.to_arrow() for chunk in chunks], type=pa.list_(pa.int32()))
    offset = offset % room
    order = np.array(data.draw(st.permutations(range(len(column)))), dtype=np.int64)
    moved = gather_moved(column, order, offset=offset)
    assert (moved.lengths <= room).all()
    assert (moved.lengths > 0).all()
    whole = [token for chunk in chunks for token in chunk.values.tolist()]
    again = [token for at in np.argsort(order) for token in moved[int(at)].tolist()]
    turned = min(offset, len(chunks[0].values), room) if len(column) else 0
    first = min(turned, int(chunks[0].lengths[0])) if len(chunks[0]) else None
    if first is not None:
        assert again == whole[first:] + whole[:first]
    assert sorted(again) == sorted(whole)


def test_every_epoch_is_cut_elsewhere() -> None:
    offsets = [draw_offset(epoch, seed=1, room=128) for epoch in range(20)]
    assert len(set(offsets)) > 12
    assert offsets == [draw_offset(epoch, seed=1, room=128) for epoch in range(20)]
