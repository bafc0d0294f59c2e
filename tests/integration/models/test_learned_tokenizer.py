"""A learned tokenizer is one that transformers loads, and that reads alike there."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from burnish.data.tokens.learn_tokenizer import FRAMES, USUAL_FRAMES, Kind, TokenizerRecipe, choose_frame, learn
from burnish.testing.tiny_torch import TEXTS

KINDS: tuple[Kind, ...] = ("wordpiece", "bpe", "unigram")


@pytest.mark.parametrize("kind", KINDS)
def test_transformers_loads_the_folder_alike(kind: Kind, tmp_path: Path) -> None:
    files = learn(TEXTS, choose_frame(TokenizerRecipe(kind, 400), frame=None))
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    text = "the quick fox, barks"
    assert loaded(text)["input_ids"] == Tokenizer.from_buffer(files["tokenizer.json"]).encode(text).ids
    assert loaded.special_tokens_map == dict(FRAMES[USUAL_FRAMES[kind]].roles)
