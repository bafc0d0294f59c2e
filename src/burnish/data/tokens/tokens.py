"""A tokenizer with its limits and vocabulary as one value; columns, placed texts and single words as token ids."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

from burnish.data.batching.ragged import Ragged, pack
from burnish.errors import CheckpointError, ConfigError, DataError, MissingExtra, Problem
from burnish.spec.values import Array

if TYPE_CHECKING:
    import pyarrow as pa


DESCRIPTION = "assets.json"
_TOKENIZER = "tokenizer.json"
_ROWS_AT_ONCE = 4096
_PROBE = "the"
_WORDS_AT_ONCE = 1 << 16
_CONFIG = "tokenizer_config.json"
_WORD_STARTS = ("Ġ", "▁", "Ċ")
"""How byte-level and sentence-piece tokens write the blank, or the line end, before a word."""
_GOES_ON = "@@"
"""What tokens of some Python tokenizers end with, if the word goes on: BERTweet's, PhoBERT's, CTRL's."""
_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class TextAssets:
    """A tokenizer, how it pads, and how much text its model can read."""

    tokenizer: Any = field(repr=False, compare=False)
    """A `Tokenizer` of the tokenizers library, or what answers its calls."""
    pad_id: int
    pad_type_id: int
    padding_side: Literal["right", "left"]
    max_positions: int | None
    """The longest input, special tokens counted."""
    uses_segments: bool
    files: Mapping[str, bytes] = field(repr=False)
    """All that rebuilds the tokenizer; `tokenizer.json` is among them, unless transformers has it in Python only."""
    multiple: int = 1
    """Batches are padded to a multiple of so many tokens; features are the same whatever it is."""

    def __post_init__(self) -> None:
        assert self.is_fast or _CONFIG in self.files, f"the files of a tokenizer hold {_TOKENIZER} or {_CONFIG}"
        if self.is_fast:  # many published files carry a truncation and padding, which would cut or fill texts unseen
            self.tokenizer.no_truncation()
            self.tokenizer.no_padding()

    @property
    def is_fast(self) -> bool:
        """Tell whether the tokenizers library reads it, which knows where in a text each token stands."""
        return _TOKENIZER in self.files

    @property
    def target_tokenizer(self) -> Any:
        """The tokenizer of texts to be written, where that is another."""
        return getattr(self.tokenizer, "for_targets", self.tokenizer)

    @cached_property
    def digest(self) -> str:
        """Hash everything that shapes what comes out; a tokenizer that was used before hashes the same."""
        hashed = hashlib.sha256(json.dumps(self._options(), sort_keys=True).encode())
        for name in sorted(self.files):
            content = _without_call_state(self.files[name]) if name == _TOKENIZER else self.files[name]
            hashed.update(f"\n{name} {len(content)}\n".encode())
            hashed.update(content)
        return hashed.hexdigest()

    @cached_property
    def num_ids(self) -> int:
        """Count the ids of tokens, gaps included."""
        return 1 + max(self.tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)

    def save(self, directory: Path) -> None:
        """Write the files and `assets.json`, which says how to read them again."""
        for name, content in self.files.items():
            path = directory / _plain_path(name, source=directory)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        description = {"format": 1, "files": sorted(self.files), **self._options(), "multiple": self.multiple}
        (directory / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, directory: Path) -> TextAssets:
        """Rebuild what `save` wrote, with the tokenizers library alone if that can read it."""
        try:
            described = json.loads((directory / DESCRIPTION).read_text(encoding="utf-8"))
            names = [_plain_path(name, source=directory) for name in described["files"]]
            files = {str(name): (directory / name).read_bytes() for name in names}
            tokenizer = Tokenizer.from_buffer(files[_TOKENIZER]) if _TOKENIZER in files else _in_python(directory)
            options = {name: described[name] for name in _OPTIONS}
            options["multiple"] = int(described.get("multiple", 1))  # older artifacts do not tell
        except (CheckpointError, MissingExtra):
            raise
        except Exception as error:  # tokenizers raises bare Exception for a file that it cannot read
            raise CheckpointError(
                f"{directory} does not hold a tokenizer that can be read ({error}); "
                f"it should hold {DESCRIPTION}, {_TOKENIZER} and the other files listed in {DESCRIPTION}"
            ) from error
        return cls(tokenizer=tokenizer, files=files, **options)

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _OPTIONS}


def _in_python(directory: Path) -> Any:
    from burnish.data.tokens.python_tokenizer_torch import PythonTokenizer

    return PythonTokenizer.load(directory)


_OPTIONS = ("pad_id", "pad_type_id", "padding_side", "max_positions", "uses_segments")


def demand_tokenizer(assets: object) -> TextAssets:
    """Take the tokenizer that a model brings; refuse one that brings nothing."""
    if not isinstance(assets, TextAssets):
        raise ConfigError([Problem("model needs a tokenizer to read text, and this one has none")])
    return assets


def tokenize(column: pa.ChunkedArray | pa.Array, tokenizer: Tokenizer) -> pa.ListArray:
    """Encode a column of texts without special tokens, on all cores; a null gives no tokens."""
    try:
        texts = column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"a text column holds {column.type} values, which cannot be read as text ({error})") from error
    values, lengths = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int64)]
    for start in range(0, len(texts), _ROWS_AT_ONCE):  # what the library makes of a text is many times its ids
        portion = texts.slice(start, _ROWS_AT_ONCE)
        encodings = tokenizer.encode_batch_fast(portion.drop_null().to_pylist(), add_special_tokens=False)
        lists = [encoding.ids for encoding in encodings]
        counts = np.zeros(len(portion), dtype=np.int64)
        counts[portion.is_valid().to_numpy(zero_copy_only=False)] = [len(ids) for ids in lists]
        lengths.append(counts)
        values.append(np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=int(counts.sum())))
    return pack(np.concatenate(values), np.concatenate(lengths)).to_arrow()


def _without_call_state(content: bytes) -> bytes:
    """Drop the truncation and padding that the last caller left in a tokenizer file."""
    try:
        tree = json.loads(content)
    except ValueError:
        return content
    kept = {name: value for name, value in tree.items() if name not in ("truncation", "padding")}
    return json.dumps(kept, sort_keys=True, ensure_ascii=False).encode()


def _plain_path(name: str, *, source: Path) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not path.parts:
        raise CheckpointError(f"{source} names a tokenizer file {name!r}; a file name must stay inside the folder")
    return path


@dataclass(frozen=True)
class PlacedTokens:
    """The tokens of some texts; `begins` and `ends` count characters of each text, one a token."""

    ids: Ragged
    begins: Array
    ends: Array

    def reaching(self, texts: Array, characters: Array) -> Array:
        """Find, for characters of texts by number, the first token of the text that ends behind each."""
        keys, bases = self._rising(self.ends)
        return np.asarray(np.searchsorted(keys, bases[texts] + characters, side="right")) - self.ids.starts[texts]

    def beginning_before(self, texts: Array, characters: Array) -> Array:
        """Find, for characters of texts by number, the last token of the text that begins before each."""
        keys, bases = self._rising(self.begins)
        return np.asarray(np.searchsorted(keys, bases[texts] + characters, side="left")) - 1 - self.ids.starts[texts]

    def _rising(self, places: Array) -> tuple[Array, Array]:
        """Lay all texts on one axis, each behind the one before it, so that one search finds places in any of them."""
        of_text = np.repeat(np.arange(len(self.ids)), self.ids.lengths)
        longest = int(self.ends.max(initial=0)) + 2
        bases = np.arange(len(self.ids), dtype=np.int64) * longest
        # Some tokenizers place a token that stands for nothing at 0; on the axis it must not lie before its neighbours.
        return np.maximum.accumulate(bases[of_text] + places), bases


def tokenize_placed(texts: Sequence[str], tokenizer: Tokenizer) -> PlacedTokens:
    """Encode texts without special tokens, on all cores, and keep where every token stands."""
    encodings = [
        encoding
        for start in range(0, len(texts), _ROWS_AT_ONCE)
        for encoding in tokenizer.encode_batch(texts[start : start + _ROWS_AT_ONCE], add_special_tokens=False)
    ]
    lengths = np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)
    total = int(lengths.sum())
    ids = np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), dtype=np.int32, count=total)
    places = chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings))
    offsets = np.fromiter(places, dtype=np.int32, count=2 * total).reshape(-1, 2)
    return PlacedTokens(pack(ids, lengths), offsets[:, 0].copy(), offsets[:, 1].copy())


def word_pieces(words: pa.Array, assets: TextAssets) -> Ragged:
    """Tokenize each word, with at least one; each distinct word is tokenised once.

    A word of which the tokenizer makes nothing, such as a lone control character, becomes its unknown token.
    """
    coded = words.dictionary_encode()
    ids = _encode_words(coded.dictionary.to_pylist(), assets)
    which = coded.indices.to_numpy(zero_copy_only=False)
    return Ragged(ids.values, ids.starts[which], ids.lengths[which]).packed()


def _encode_words(words: list[str], assets: TextAssets) -> Ragged:
    tokenizer = assets.tokenizer
    prefix = " " if _needs_space(tokenizer) else ""
    stand_in = [_unknown(assets)]
    encode = partial(tokenizer.encode_batch_fast, is_pretokenized=True, add_special_tokens=False)
    lists: list[list[int]] = []
    for start in range(0, len(words), _WORDS_AT_ONCE):
        some = [[prefix + word] for word in words[start : start + _WORDS_AT_ONCE]]
        lists += [encoding.ids or stand_in for encoding in encode(some)]
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    values: Array = np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=int(lengths.sum()))
    return pack(values, lengths)


def _needs_space(tokenizer: Tokenizer) -> bool:
    """Tell whether a word alone is read as the beginning of a text, and only after a space as one within it."""
    within = tokenizer.encode(f"{_PROBE} {_PROBE}", add_special_tokens=False).ids
    alone, spaced = (
        tokenizer.encode([text], is_pretokenized=True, add_special_tokens=False).ids for text in (_PROBE, f" {_PROBE}")
    )
    return within[-len(alone) :] != alone and within[-len(spaced) :] == spaced


def _unknown(assets: TextAssets) -> int:
    token = getattr(assets.tokenizer.model, "unk_token", None)
    number = None if token is None else assets.tokenizer.token_to_id(token)
    return assets.pad_id if number is None else number


@dataclass(frozen=True)
class Vocabulary:
    """Facts of each token, by its id."""

    assets: TextAssets

    @property
    def size(self) -> int:
        """Count the ids, gaps included."""
        return len(self._tokens)

    @cached_property
    def is_special(self) -> Array:
        """Tell which ids are special tokens, or no token at all."""
        special = np.array([token == "" for token in self._tokens], dtype=bool)
        for number, token in self.assets.tokenizer.get_added_tokens_decoder().items():
            special[number] |= token.special
        return special

    @cached_property
    def plain_ids(self) -> Array:
        """The ids of all tokens that are text."""
        return np.flatnonzero(~self.is_special)

    def role(self, name: str) -> int | None:
        """Find the id of a special token by its role, like `mask_token`; None if the tokenizer has none."""
        described = json.loads(self.assets.files.get(_CONFIG, b"{}"))
        token = described.get(name)
        token = token.get("content") if isinstance(token, dict) else token
        return None if token is None else self.assets.tokenizer.token_to_id(token)

    def counts(self, tokens: pa.ChunkedArray) -> Array:
        """Count how often each token comes in a column of lists, a part of it at a time."""
        counted = np.zeros(self.size, dtype=np.int64)
        for chunk in tokens.chunks:
            ids = chunk.flatten().to_numpy()
            for start in range(0, len(ids), _AT_ONCE):
                counted += np.bincount(ids[start : start + _AT_ONCE], minlength=self.size)
        return counted

    def begins(self, ids: Array) -> Array:
        """Tell which tokens [n, length] begin a word."""
        if self._prefix:
            return np.asarray(~self._continues[ids])
        before = np.pad(self._ends_open[ids], ((0, 0), (1, 0)))[:, :-1]
        return np.asarray(~(self._starts_open[ids] & before))

    @cached_property
    def _tokens(self) -> list[str]:
        vocabulary = self.assets.tokenizer.get_vocab(with_added_tokens=True)
        tokens = [""] * (max(vocabulary.values(), default=-1) + 1)
        for token, number in vocabulary.items():
            tokens[number] = token
        return tokens

    @cached_property
    def _prefix(self) -> str:
        """What marks a token inside a word, if this kind of tokenizer marks those."""
        model = json.loads(self.assets.tokenizer.to_str())["model"]
        return str(model.get("continuing_subword_prefix") or "") if model.get("type") == "WordPiece" else ""

    @cached_property
    def _continues(self) -> Array:
        return np.array([token.startswith(self._prefix) for token in self._tokens]) & ~self.is_special

    @cached_property
    def _starts_open(self) -> Array:
        """Tell which tokens go on with a word, if one stands before them: they begin with a letter or a digit."""
        return np.array([token[:1].isalnum() and not token.startswith(_WORD_STARTS) for token in self._tokens])

    @cached_property
    def _ends_open(self) -> Array:
        """Tell which tokens leave a word open: all that end with a letter or a digit, or only those that are marked."""
        marked = np.array([token.endswith(_GOES_ON) for token in self._tokens])
        if marked.any() and not self.assets.is_fast:
            return marked
        return np.array([token[-1:].isalnum() for token in self._tokens]) & ~self.is_special
