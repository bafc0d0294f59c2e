"""Tokenizers in Python only encode as transformers does with them, and are saved with an artifact."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from burnish.data.batching.padding import learn_template
from burnish.data.tokens.python_tokenizer_torch import PythonTokenizer
from burnish.data.tokens.text import TextCodec
from burnish.data.tokens.tokens import TextAssets, Vocabulary, word_pieces
from burnish.data.truncation import Head
from burnish.errors import ConfigError, MissingExtra
from burnish.models.transformer import Transformer
from burnish.spec.values import RandomKey
from burnish.tasks.question_answering.encoder import QuestionEncoder
from tests import python_tokenizers as made

KINDS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "xlm": (made.xlm_tokenizer, "xlm"),
    "marian": (made.marian_tokenizer, "marian"),
    "bytes": (made.byte_tokenizer, "t5"),
    "bertweet": (made.bertweet_tokenizer, "roberta"),
    "prophet": (made.prophet_tokenizer, "bert"),
}
TEXTS = ["a good film", "", "Zoë's   bad film!", "the story"]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def saved(kind: str, tmp_path: Path) -> tuple[Any, Path]:
    """A tokenizer, and the folder that holds it as published."""
    make, model_type = KINDS[kind]
    tokenizer = make(tmp_path / "made")
    tokenizer.save_pretrained(tmp_path / "saved")
    if (tmp_path / "made").is_dir():  # as published: transformers writes BERTweet's merges otherwise than it reads them
        shutil.copytree(tmp_path / "made", tmp_path / "saved", dirs_exist_ok=True)
    (tmp_path / "saved" / "config.json").write_text(json.dumps({"model_type": model_type}))
    return tokenizer, tmp_path / "saved"


def test_features_are_what_the_tokenizer_itself_gives(kind: str, saved: tuple[Any, Path]) -> None:
    theirs, folder = saved
    rows = pa.table({"a": TEXTS, "b": TEXTS[::-1]})
    for pair in (None, "b") if kind != "marian" else (None,):  # Marian reads one text
        codec = TextCodec(Transformer(name=str(folder)).assets(), ("a",), pair, 60, Head())
        ours = codec.collate(codec.encode(rows), np.arange(len(TEXTS)), RandomKey(0, 0, is_training=False))
        for row, text in enumerate(TEXTS):
            expected = theirs(text, None if pair is None else TEXTS[::-1][row])["input_ids"]
            assert ours["input_ids"][row][ours["attention_mask"][row] > 0].tolist() == expected


def test_what_is_saved_gives_the_same_tokens_and_digest(saved: tuple[Any, Path], tmp_path: Path) -> None:
    assets = Transformer(name=str(saved[1])).assets()
    (tmp_path / "artifact").mkdir()
    assets.save(tmp_path / "artifact")
    again = TextAssets.load(tmp_path / "artifact")
    assert (again.digest, again.num_ids, again.is_fast) == (assets.digest, assets.num_ids, False)
    for text in TEXTS:
        ids = again.tokenizer.encode(text, add_special_tokens=False).ids
        assert ids == assets.tokenizer.encode(text, add_special_tokens=False).ids
        assert again.tokenizer.decode(ids, skip_special_tokens=True) == saved[0].decode(ids, skip_special_tokens=True)


def test_words_are_encoded_one_by_one(tmp_path: Path) -> None:
    theirs = made.xlm_tokenizer(tmp_path)
    words = ["good", "zoo", "film", "\x01"]
    pieces = word_pieces(pa.array(words), _assets(theirs))
    expected = [theirs.convert_tokens_to_ids(theirs.tokenize(word)) for word in words[:3]]
    assert [pieces[place].tolist() for place in range(4)] == [*expected, [theirs.unk_token_id]]


@pytest.mark.parametrize(
    ("make", "text", "begins"),
    [
        (made.xlm_tokenizer, "good zq film", [True, True, False, True]),
        (made.bertweet_tokenizer, "good zq film", [True, True, False, True]),
        (made.prophet_tokenizer, "good zq film", [True, True, False, True]),
    ],
)
def test_it_is_known_which_tokens_begin_a_word(
    make: Callable[[Path], Any], text: str, begins: list[bool], tmp_path: Path
) -> None:
    assets = _assets(make(tmp_path))
    ids = np.array([assets.tokenizer.encode(text, add_special_tokens=False).ids])
    assert Vocabulary(assets).begins(ids).tolist() == [begins]


def test_the_half_of_marian_that_is_written_in_has_a_tokenizer_of_its_own(tmp_path: Path) -> None:
    theirs = made.marian_tokenizer(tmp_path)
    assets = _assets(theirs)
    written = theirs(text_target="A GOOD FILM")["input_ids"]
    found = assets.target_tokenizer.encode("A GOOD FILM", add_special_tokens=True).ids
    assert found == written
    assert found != assets.tokenizer.encode("A GOOD FILM", add_special_tokens=True).ids
    assert assets.target_tokenizer.decode(found, skip_special_tokens=True) == "A GOOD FILM"
    assert learn_template(assets.target_tokenizer, num_texts=1).num_special == 1
    assert assets.tokenizer.encode(">>upper<<a", add_special_tokens=False).ids[0] == theirs.get_vocab()[">>upper<<"]


def test_questions_need_a_tokenizer_that_tells_places(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="without the places of tokens in a context"):
        QuestionEncoder.build(_assets(made.xlm_tokenizer(tmp_path)), *[None] * 2)  # type: ignore[arg-type]  # unread


def test_what_a_tokenizer_needs_is_named_with_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made.xlm_model(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "sacremoses", None)
    with pytest.raises(MissingExtra, match=r"install sacremoses .*burnish\[tokenizers\]"):
        Transformer(name=str(folder)).assets()


def test_case_is_left_to_the_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a XLMTokenizer takes it from its tokenizer_config\.json alone"):
        Transformer(name=str(made.xlm_model(tmp_path)), lower_case=True).assets()


def test_two_vocabularies_are_refused(tmp_path: Path) -> None:
    made.marian_tokenizer(tmp_path).save_pretrained(tmp_path)
    (tmp_path / "target_vocab.json").write_bytes((tmp_path / "vocab.json").read_bytes())
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**config, "separate_vocabs": True}))
    (tmp_path / "config.json").write_text('{"model_type": "marian"}')
    with pytest.raises(ConfigError, match="has a vocabulary to read and one to write, not one"):
        Transformer(name=str(tmp_path)).assets()


def test_a_class_that_comes_with_the_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "vocab.txt").write_text("a\n")
    (tmp_path / "own.py").write_text(
        "from transformers import ByT5Tokenizer\n\nclass Own(ByT5Tokenizer):\n    '''Bytes.'''\n"
    )
    described = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", None]}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(described))
    with pytest.raises(ConfigError, match="is a Own, code that comes with the model"):
        Transformer(name=str(tmp_path), trust_remote_code=True).assets()


def _assets(tokenizer: Any) -> TextAssets:
    files = {"tokenizer_config.json": b"{}"}
    return TextAssets(PythonTokenizer(tokenizer), tokenizer.pad_token_id, 0, "right", 64, False, files)
