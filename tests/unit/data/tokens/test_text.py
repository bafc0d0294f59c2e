"""Texts become features and batches: checked against the tokenizers library, which does it one by one."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.data.tokens import tokens
from burnish.data.tokens.text import TextCodec, drop_report
from burnish.data.tokens.truncate import share_room
from burnish.data.truncation import Head, HeadTail, RandomSpans, RandomSpansDeleting, RandomSpansOverlapping, Windows
from burnish.errors import ConfigError
from burnish.spec.values import RandomKey

TRAIN = RandomKey(seed=7, epoch=0, is_training=True)
FAMILIES = ("bert", "roberta", "xlnet", "t5", "plain")
lengths_of_texts = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=8)


def table_of(toy, lengths):
    first = [toy.words(*range(a)) for a, _ in lengths]
    second = [toy.words(*range(100, 100 + b)) for _, b in lengths]
    return pa.table({"first": first, "second": second})


def codec(toy, *, truncation=None, pair=None, max_length=16, tokenizer=None, **options):
    assets = toy.assets(tokenizer, **options)
    return TextCodec(assets, text=("first",), pair=pair, max_length=max_length, truncation=truncation or Head())


def all_of(codec, table, draw=TRAIN):
    features = codec.encode(table)
    return codec.collate(features, np.arange(features.num_rows), draw)


def reference(tokenizer, table, *, pair, max_length, side):
    """Let the library truncate the head, add special tokens and pad."""
    tokenizer.enable_truncation(max_length, strategy="longest_first")
    tokenizer.enable_padding(direction=side, pad_id=0, pad_type_id=0)
    columns = [table["first"].to_pylist(), *([table["second"].to_pylist()] if pair else [])]
    rows = list(zip(*columns, strict=True)) if pair else columns[0]
    encoded = tokenizer.encode_batch(rows)
    return {
        "input_ids": [one.ids for one in encoded],
        "attention_mask": [one.attention_mask for one in encoded],
        "token_type_ids": [one.type_ids for one in encoded],
    }


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pair", [None, "second"])
@settings(max_examples=25)
@given(lengths=lengths_of_texts, max_length=st.integers(6, 40), side=st.sampled_from(["left", "right"]))
def test_batches_equal_those_of_the_tokenizers_library(toy, family, pair, lengths, max_length, side):
    make = getattr(toy, family)
    table = table_of(toy, lengths)
    batch = all_of(codec(toy, tokenizer=make(), pair=pair, max_length=max_length, padding_side=side), table)
    expected = reference(make(), table, pair=pair, max_length=max_length, side=side)
    if not any(map(len, expected["input_ids"])):
        return  # nothing but empty texts and no special tokens: the library gives no column, a network needs one
    assert {name: array.tolist() for name, array in batch.items()} == expected
    assert all(array.dtype == np.int64 for array in batch.values())


def test_padding_uses_the_ids_side_and_segment_of_the_tokenizer(toy):
    xlnet = codec(toy, tokenizer=toy.xlnet(), pad_id=5, pad_type_id=4, padding_side="left")
    batch = all_of(xlnet, table_of(toy, [(1, 0), (3, 0)]))
    assert batch["input_ids"].tolist() == [[5, 5, 10, toy.SEP, toy.CLS], [10, 11, 12, toy.SEP, toy.CLS]]
    assert batch["token_type_ids"].tolist() == [[4, 4, 0, 0, 2], [0, 0, 0, 0, 2]]


def test_a_model_without_segments_gets_none(toy):
    assert set(all_of(codec(toy, uses_segments=False), table_of(toy, [(3, 0)]))) == {"input_ids", "attention_mask"}


@pytest.mark.parametrize(("multiple", "width"), [(1, 5), (4, 8), (8, 8), (64, 20)])
def test_the_width_is_rounded_up_but_not_past_the_model(toy, multiple, width):
    batch = all_of(codec(toy, max_positions=20, multiple=multiple), table_of(toy, [(3, 0)]))
    assert batch["input_ids"].shape == (1, width)


def test_an_empty_batch_has_the_right_names_and_no_rows(toy):
    features = codec(toy).encode(table_of(toy, [(3, 0)]))
    batch = codec(toy).collate(features, np.array([], dtype=np.int64), TRAIN)
    assert {name: len(array) for name, array in batch.items()} == {
        "input_ids": 0,
        "attention_mask": 0,
        "token_type_ids": 0,
    }


def test_an_empty_table_gives_an_empty_table_of_features(toy):
    features = codec(toy).encode(table_of(toy, [(3, 0)]).slice(0, 0))
    assert features.num_rows == 0
    assert drop_report(features)["texts_cut"] == 0.0


def test_length_and_dropped_tell_what_became_of_each_text(toy):
    features = codec(toy, max_length=12).encode(table_of(toy, [(3, 0), (10, 0), (25, 0)]))
    assert features["length"].to_pylist() == [5, 12, 12]
    assert features["dropped"].to_pylist() == [0, 0, 15]
    assert features["row"].to_pylist() == [0, 1, 2]
    assert features.schema.field("length").type == pa.int32()
    assert features.schema.field("row").type == pa.int64()


def test_the_drop_report_counts_each_text_once(toy):
    table = table_of(toy, [(5, 0), (25, 0), (40, 0)])
    report = drop_report(codec(toy, max_length=12, truncation=Windows(stride=2)).encode(table))
    assert report == {"texts_cut": 0.0, "tokens_dropped": 0.0, "longest_text": 40, "median_text": 25.0}
    report = drop_report(codec(toy, max_length=12).encode(table))
    assert report["texts_cut"] == pytest.approx(2 / 3)
    assert report["tokens_dropped"] == pytest.approx((15 + 30) / 70)


def test_windows_give_several_features_of_one_row(toy):
    windows = codec(toy, max_length=12, truncation=Windows(stride=2))
    features = windows.encode(table_of(toy, [(3, 0), (25, 0), (4, 0)]))
    assert features["row"].to_pylist() == [0, 1, 1, 1, 2]
    numbers = [[value - toy.FIRST_WORD for value in ids] for ids in features["a"].to_pylist()]
    assert numbers == [[0, 1, 2], [*range(10)], [*range(8, 18)], [*range(15, 25)], [0, 1, 2, 3]]


def test_windows_of_a_pair_go_over_the_longer_text(toy):
    windows = codec(toy, max_length=13, pair="second", truncation=Windows(stride=0))
    features = windows.encode(table_of(toy, [(2, 16)]))
    assert features["a"].to_pylist() == [[10, 11]] * 2
    assert [ids[0] - 110 for ids in features["b"].to_pylist()] == [0, 8]


def test_head_tail_of_a_pair_shares_the_room(toy):
    both = codec(toy, max_length=13, pair="second", truncation=HeadTail(head=1, tail=1))
    features = both.encode(table_of(toy, [(20, 3)]))
    assert [value - 10 for value in features["a"].to_pylist()[0]] == [0, 1, 2, 3, 17, 18, 19]
    assert len(features["b"].to_pylist()[0]) == 3


RANDOM = (RandomSpans(span=3), RandomSpansOverlapping(span=3), RandomSpansDeleting(span=3))


@pytest.mark.parametrize("truncation", RANDOM)
@pytest.mark.parametrize("pair", [None, "second"])
@settings(max_examples=15)
@given(lengths=lengths_of_texts, seed=st.integers(0, 99), shuffle=st.randoms(use_true_random=False))
def test_a_random_example_does_not_depend_on_its_batch(toy, truncation, pair, lengths, seed, shuffle):
    made = codec(toy, truncation=truncation, pair=pair)
    features = made.encode(table_of(toy, lengths))
    draw = RandomKey(seed=seed, epoch=3, is_training=True)
    order = list(range(len(lengths)))
    shuffle.shuffle(order)
    together = made.collate(features, np.array(order), draw)
    for place, index in enumerate(order):
        alone = made.collate(features, np.array([index]), draw)["input_ids"][0]
        assert together["input_ids"][place, : len(alone)].tolist() == alone.tolist()
        assert together["attention_mask"][place].sum() == features["length"][index].as_py()


@pytest.mark.parametrize("truncation", RANDOM)
def test_random_examples_change_with_seed_epoch_row_and_view_in_training(toy, truncation):
    made = codec(toy, truncation=truncation)
    table = table_of(toy, [(150, 0), (150, 0)])
    draws = [RandomKey(7, 0, True), RandomKey(8, 0, True), RandomKey(7, 1, True), RandomKey(7, 0, True, view=1)]
    batches = [all_of(made, table, draw)["input_ids"] for draw in draws]
    assert len({row.tobytes() for batch in batches for row in batch}) == 8


@pytest.mark.parametrize("truncation", RANDOM)
def test_random_examples_are_fixed_in_evaluation_but_for_views(toy, truncation):
    made = codec(toy, truncation=truncation)
    table = table_of(toy, [(150, 0)])
    ids = {all_of(made, table, RandomKey(7, epoch, False))["input_ids"].tobytes() for epoch in range(5)}
    views = {all_of(made, table, RandomKey(7, 0, False, view=view))["input_ids"].tobytes() for view in range(5)}
    assert (len(ids), len(views)) == (1, 5)


def test_many_portions_give_the_same_features_as_one(toy, monkeypatch):
    table = table_of(toy, [(number % 30, number % 7) for number in range(100)])
    made = codec(toy, pair="second", truncation=Windows(stride=4))
    whole = made.encode(table)
    monkeypatch.setattr(tokens, "_ROWS_AT_ONCE", 7)
    assert made.encode(table).equals(whole)


@settings(max_examples=20)
@given(indices=st.lists(st.integers(0, 39), max_size=20), size=st.integers(1, 17))
def test_features_in_many_chunks_collate_as_in_one(toy, indices, size):
    made = codec(toy, pair="second", truncation=RandomSpans(span=3))
    whole = made.encode(table_of(toy, [(number, 40 - number) for number in range(40)]))
    chunked = pa.Table.from_batches(whole.to_batches(max_chunksize=size))
    expected = made.collate(whole, np.array(indices, dtype=np.int64), TRAIN)
    batch = made.collate(chunked, np.array(indices, dtype=np.int64), TRAIN)
    assert all(np.array_equal(batch[name], expected[name]) for name in expected)


def test_the_key_changes_with_everything_that_shapes_features(toy):
    keys = [
        codec(toy).key,
        codec(toy, pad_id=1).key,
        codec(toy, pair="second").key,
        codec(toy, max_length=17).key,
        codec(toy, truncation=HeadTail()).key,
        codec(toy, truncation=HeadTail(head=1)).key,
    ]
    assert all(one != other for number, one in enumerate(keys) for other in keys[:number])
    assert codec(toy).key == codec(toy).key


def test_a_limit_beyond_the_model_is_refused(toy):
    with pytest.raises(ConfigError, match=r"task\.max_length must be at most 512, got 900"):
        codec(toy, max_length=900)


@pytest.mark.parametrize(("pair", "least"), [(None, 3), ("second", 5)])
def test_a_limit_without_room_for_a_token_is_refused(toy, pair, least):
    codec(toy, pair=pair, max_length=least)
    with pytest.raises(ConfigError, match=f"must be at least {least}, got {least - 1}"):
        codec(toy, pair=pair, max_length=least - 1)


@pytest.mark.parametrize(("family", "between"), [("bert", 1), ("roberta", 2), ("t5", 1), ("xlnet", 1)])
@settings(max_examples=25)
@given(lengths=lengths_of_texts)
def test_columns_of_one_text_are_read_as_if_separators_stood_in_it(toy, family, between, lengths):
    make = getattr(toy, family)
    table = table_of(toy, lengths)
    batch = all_of(TextCodec(toy.assets(make()), ("first", "second"), None, 80, Head()), table)
    separator = " ".join([make().id_to_token(toy.SEP)] * between)
    whole = [
        f"{a} {separator} {b}" for a, b in zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    ]
    expected = reference(make(), pa.table({"first": whole}), pair=None, max_length=80, side="right")
    assert {name: array.tolist() for name, array in batch.items()} == expected


def test_columns_of_one_text_are_of_one_segment_and_a_pair_of_the_other(toy):
    three = TextCodec(toy.assets(), ("first", "second"), "third", 64, Head())
    table = pa.table({"first": [toy.words(0)], "second": [toy.words(1, 2)], "third": [toy.words(3)]})
    batch = all_of(three, table)
    assert batch["input_ids"].tolist() == [[toy.CLS, 10, toy.SEP, 11, 12, toy.SEP, 13, toy.SEP]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 0, 0, 0, 1, 1]]


def test_a_long_column_leaves_the_short_ones_whole(toy):
    codec = TextCodec(toy.assets(), ("first", "second"), None, 13, Head())
    table = pa.table({"first": [toy.words(0, 1)], "second": [toy.words(*range(2, 40))]})
    kept = all_of(codec, table)["input_ids"][0].tolist()
    assert kept == [toy.CLS, 10, 11, toy.SEP, *range(12, 20), toy.SEP]


def test_a_tokenizer_without_a_separator_gets_a_line_break(toy):
    codec = TextCodec(toy.assets(toy.plain()), ("first", "second"), None, 64, Head())
    newline = toy.plain().encode("\n", add_special_tokens=False).ids
    table = pa.table({"first": [toy.words(0)], "second": [toy.words(1)]})
    assert all_of(codec, table)["input_ids"].tolist() == [[10, *newline, 11]]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=5), st.integers(0, 90))
def test_room_is_shared_so_that_only_the_longest_lose(lengths, room):
    budgets = share_room(lengths, room)
    assert all(0 <= budget <= length for budget, length in zip(budgets, lengths, strict=True))
    assert sum(budgets) == min(room, sum(lengths))
    cut = [budget for budget, length in zip(budgets, lengths, strict=True) if budget < length]
    assert all(budget <= min(cut) + 1 for budget in budgets) if cut else True
