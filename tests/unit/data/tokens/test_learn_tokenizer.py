"""Tokenizers learned from texts: complete, repeatable, with their special tokens in place."""

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from burnish.data.tokens.learn_tokenizer import FRAMES, USUAL_FRAMES, Kind, TokenizerRecipe, choose_frame, learn
from burnish.errors import DataError

TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "the dog barks, and the foxes jump: quickly, quickly!",
    "Dogs and foxes are quick; lazy dogs bark.",
] * 3
KINDS: tuple[Kind, ...] = ("wordpiece", "bpe", "unigram")


def learned(kind: Kind, *, texts: list[str] = TEXTS, size: int = 400, **options: object) -> Tokenizer:
    recipe = choose_frame(TokenizerRecipe(kind, size, **options), frame=None)  # type: ignore[arg-type]  # by keyword, as given
    return Tokenizer.from_buffer(learn(iter(texts), recipe)["tokenizer.json"])


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_seen_is_read_and_written_back(kind: Kind) -> None:
    tokenizer = learned(kind)
    for text in TEXTS:
        ids = tokenizer.encode(text.lower(), add_special_tokens=False).ids
        assert tokenizer.token_to_id(FRAMES[USUAL_FRAMES[kind]].roles["unk_token"]) not in ids
        assert tokenizer.decode(ids).replace(" ", "") == text.lower().replace(" ", "")


ELSEWHERE = """
import hashlib, sys
from burnish.data.tokens.learn_tokenizer import TokenizerRecipe, choose_frame, learn
for kind, size in (("wordpiece", 120), ("bpe", 300), ("unigram", 100)):
    files = learn(sys.argv[1:], choose_frame(TokenizerRecipe(kind, size), frame=None))
    print(kind, hashlib.sha256(files["tokenizer.json"]).hexdigest())
"""


def test_other_processes_learn_the_same_bytes() -> None:
    command = [sys.executable, "-c", ELSEWHERE, *TEXTS]
    runs = [subprocess.run(command, capture_output=True, check=True, text=True).stdout for _ in range(3)]
    assert len(set(runs)) == 1
    assert len(runs[0].splitlines()) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_vocabulary_is_no_larger_than_asked(kind: Kind) -> None:
    size = 300 if kind == "bpe" else 90
    tokenizer = learned(kind, size=size)
    assert tokenizer.get_vocab_size() <= size
    assert sorted(tokenizer.get_vocab().values()) == [*range(tokenizer.get_vocab_size())]


def test_special_tokens_come_first_and_are_never_cut() -> None:
    tokenizer = learned("wordpiece", special=("<user>",))
    assert [tokenizer.id_to_token(number) for number in range(6)] == [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "<user>",
    ]
    assert tokenizer.encode("the <user> barks [MASK]").tokens[2] == "<user>"


def test_an_encoder_frames_its_texts() -> None:
    encoding = learned("wordpiece").encode("the fox", "the dog")
    assert encoding.tokens == ["[CLS]", "the", "fox", "[SEP]", "the", "dog", "[SEP]"]
    assert encoding.type_ids == [0, 0, 0, 0, 1, 1, 1]


def test_a_decoder_frames_nothing() -> None:
    assert learned("bpe").encode("fox").ids == learned("bpe").encode("fox", add_special_tokens=False).ids


def test_cased_keeps_capitals() -> None:
    assert (
        learned("wordpiece", lowercase=False).encode("Dogs").ids
        != learned("wordpiece", lowercase=False).encode("dogs").ids
    )
    assert learned("wordpiece").encode("Dogs").ids == learned("wordpiece").encode("dogs").ids


BYTES = learned("bpe", lowercase=False)


@settings(max_examples=30)
@given(text=st.text(max_size=40))
def test_bytes_know_every_text(text: str) -> None:
    ids = BYTES.encode(text, add_special_tokens=False).ids
    assert BYTES.decode(ids) == unicodedata.normalize("NFC", text).replace("<|endoftext|>", "")


def test_too_small_a_vocabulary_is_refused_with_the_least_that_would_do() -> None:
    with pytest.raises(DataError, match=r"at least \d+ tokens .* got 20"):
        learned("wordpiece", size=20)


@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_nothing_to_learn_from_is_refused(texts: list[str]) -> None:
    with pytest.raises(DataError, match="no text to learn"):
        learned("wordpiece", texts=texts)
