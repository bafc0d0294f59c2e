"""The frame of special tokens is learned right for every family of tokenizers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Replace
from tokenizers.processors import TemplateProcessing

from burnish.data.batching.padding import Piece, Template, learn_template
from burnish.errors import ConfigError

FAMILIES = ("bert", "roberta", "xlnet", "t5", "plain")


def wrap(template, texts):
    ids, segments = list(template.pieces[0].ids), list(template.pieces[0].segments)
    for text, segment, piece in zip(texts, template.segments, template.pieces[1:], strict=True):
        ids += [*text, *piece.ids]
        segments += [*[segment] * len(text), *piece.segments]
    return ids, segments


@pytest.mark.parametrize("family", FAMILIES)
@given(first=st.lists(st.integers(0, 50), max_size=5), second=st.lists(st.integers(0, 50), max_size=5))
def test_the_frame_gives_what_the_tokenizer_itself_gives(toy, family, first, second):
    tokenizer = getattr(toy, family)()
    for numbers in ([first], [first, second]):
        texts = [toy.words(*words) for words in numbers]
        expected = tokenizer.encode(*texts)
        plain = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        template = learn_template(tokenizer, num_texts=len(texts))
        assert wrap(template, plain) == (expected.ids, expected.type_ids)
        assert template.num_special == len(expected.ids) - sum(map(len, plain))


def test_a_roberta_pair_has_a_double_separator(toy):
    assert learn_template(toy.roberta(), num_texts=2).pieces[1].ids == (toy.SEP, toy.SEP)


def test_xlnet_puts_its_special_tokens_at_the_end_in_segment_two(toy):
    expected = Template((Piece(), Piece((toy.SEP, toy.CLS), (0, 2))), (0,))
    assert learn_template(toy.xlnet(), num_texts=1) == expected


def test_no_special_tokens_make_an_empty_frame(toy):
    assert learn_template(toy.plain(), num_texts=2).num_special == 0


def test_the_real_frame_is_found_when_the_vocabulary_begins_with_special_tokens():
    tokenizer = Tokenizer(WordLevel({"[CLS]": 0, "[SEP]": 1, "red": 2, "blue": 3}, unk_token="[SEP]"))
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    template = learn_template(tokenizer, num_texts=2)
    assert [piece.ids for piece in template.pieces] == [(0,), (1,), (1,)]


def test_a_tokenizer_without_usable_words_is_refused(toy):
    tokenizer = toy.bert()
    tokenizer.normalizer = Replace("a", "a")
    tokenizer.model = WordLevel({"[UNK]": toy.CLS}, unk_token="[UNK]")
    with pytest.raises(ConfigError, match="fewer than 1 distinct tokens"):
        learn_template(tokenizer, num_texts=1)


def test_a_tokenizer_that_swaps_the_texts_is_refused(toy):
    tokenizer = toy.plain()
    tokenizer.post_processor = TemplateProcessing(single="$A", pair="$B $A", special_tokens=[])
    with pytest.raises(ConfigError, match="changes a text when it adds special tokens"):
        learn_template(tokenizer, num_texts=2)
