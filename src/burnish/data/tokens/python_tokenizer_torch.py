"""A tokenizer that transformers has in Python only, under the calls that encoders make of the tokenizers library."""

from __future__ import annotations

import copy
import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from burnish.errors import MissingExtra
from burnish.extras import require


def read_tokenizer(folder: Path, *, trust_remote_code: bool = False) -> Any:  # AutoTokenizer makes many kinds
    """Read the tokenizer of a folder, a fast one if there is one."""
    if any(folder.glob("*.spm")):  # without it, transformers says that there is no such tokenizer
        require("sentencepiece", extra="tokenizers", why="to read this tokenizer")
    try:
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code, local_files_only=True)
    except ImportError as error:
        said = textwrap.shorten(str(error), 200)
        raise MissingExtra(f"{said} (pip install 'burnish[tokenizers]' brings sacremoses and sentencepiece)") from error


@dataclass(frozen=True)
class EncodedText:
    """The ids of a text or two, and which of the two each is of."""

    ids: list[int]
    type_ids: list[int]


class PythonTokenizer:
    """Works on one core, and does not tell where in a text its tokens stand."""

    def __init__(self, model: Any) -> None:  # each of them is a class of its own
        self.model = model

    @classmethod
    def load(cls, folder: Path) -> PythonTokenizer:
        """Read what a run saved."""
        return cls(read_tokenizer(folder))

    @cached_property
    def for_targets(self) -> PythonTokenizer:
        """The one that reads the texts to be written: Marian's has a half for each language."""
        if not hasattr(self.model, "_switch_to_target_mode"):
            return self
        other = copy.deepcopy(self.model)
        other._switch_to_target_mode()
        other._in_target_context_manager = True  # else each call switches back
        return PythonTokenizer(other)

    def encode(
        self, text: str | list[str], pair: str | None = None, *, add_special_tokens: bool, is_pretokenized: bool = False
    ) -> EncodedText:
        """Encode a text or two; a text may be given as a list of words."""
        found = self.model(
            text,
            pair,
            add_special_tokens=add_special_tokens,
            is_split_into_words=is_pretokenized,
            return_token_type_ids=True,
            verbose=False,
        )
        return EncodedText(found["input_ids"], found["token_type_ids"])

    def encode_batch_fast(self, texts: Iterable[Any], **options: Any) -> list[EncodedText]:
        """Encode texts one after another."""
        return [self.encode(text, **options) for text in texts]

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        """Write ids as a text."""
        return str(self.model.decode(ids, skip_special_tokens=skip_special_tokens))

    def decode_batch(self, rows: Iterable[Sequence[int]], *, skip_special_tokens: bool) -> list[str]:
        """Write each row of ids as a text."""
        return [self.decode(ids, skip_special_tokens=skip_special_tokens) for ids in rows]

    def get_vocab(self, *, with_added_tokens: bool) -> Mapping[str, int]:
        """Return the ids of all tokens, those among them that were added."""
        assert with_added_tokens, "nobody asks for less"
        return self._ids

    def get_vocab_size(self) -> int:
        """Count the tokens."""
        return len(self._ids)

    def token_to_id(self, token: str) -> int | None:
        """Find a token's id."""
        return self._ids.get(token)

    def id_to_token(self, number: int) -> str | None:
        """Find the token of an id."""
        return self._tokens.get(number)

    def get_added_tokens_decoder(self) -> Mapping[int, Any]:
        """Return the tokens that were added, the special ones among them, by their ids."""
        return dict(self.model.added_tokens_decoder)

    def to_str(self) -> str:
        """Tell, as a `tokenizer.json` does, how a token inside a word is marked."""
        kind = (
            "wordpiece"
            if hasattr(self.model, "wordpiece_tokenizer")
            else getattr(self.model, "subword_tokenizer_type", "")
        )
        word_pieces = {"type": "WordPiece", "continuing_subword_prefix": "##"}
        return json.dumps({"model": word_pieces if kind == "wordpiece" else {}})

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        return dict(self.model.get_vocab())

    @cached_property
    def _tokens(self) -> Mapping[int, str]:
        return {number: token for token, number in self._ids.items()}
