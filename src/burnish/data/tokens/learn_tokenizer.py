"""Learns a tokenizer from texts: WordPiece, byte-level BPE or Unigram; the same texts give the same tokenizer."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from burnish.data.tokens.unigram import learn_pieces
from burnish.errors import DataError

Kind = Literal["wordpiece", "bpe", "unigram"]
Frame = Literal["encoder", "decoder", "xlnet"]

_INSIDE = "##"
_COVERAGE = 0.9995
"""Which share of all characters of the texts gets a token of its own; the rest is unknown."""


@dataclass(frozen=True)
class SpecialTokens:
    """The special tokens of a frame: by role, and where they stand around one text and two."""

    roles: Mapping[str, str]
    single: str | None = None
    pair: str | None = None
    has_segments: bool = False
    padding_side: Literal["left", "right"] = "right"


FRAMES: Mapping[Frame, SpecialTokens] = {
    "encoder": SpecialTokens(
        {
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "mask_token": "[MASK]",
        },
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        has_segments=True,
    ),
    "decoder": SpecialTokens(
        {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
    ),
    "xlnet": SpecialTokens(
        {
            "unk_token": "<unk>",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "pad_token": "<pad>",
            "cls_token": "<cls>",
            "sep_token": "<sep>",
            "mask_token": "<mask>",
        },
        single="$A <sep> <cls>:2",
        pair="$A <sep> $B:1 <sep>:1 <cls>:2",
        has_segments=True,
        padding_side="left",
    ),
}
USUAL_FRAMES: Mapping[Kind, Frame] = {"wordpiece": "encoder", "bpe": "decoder", "unigram": "encoder"}


@dataclass(frozen=True)
class TokenizerRecipe:
    """What kind of tokenizer is learned, and how large."""

    kind: Kind = "wordpiece"
    vocab_size: int = 30_000
    lowercase: bool = True
    frame: Frame = "encoder"
    special: tuple[str, ...] = ()
    """Further tokens that are never cut."""
    min_frequency: int = 2

    @property
    def marks(self) -> SpecialTokens:
        """The special tokens of the frame."""
        return FRAMES[self.frame]

    @property
    def special_tokens(self) -> list[str]:
        """List the special tokens, in the order of their ids."""
        return list(dict.fromkeys([*self.marks.roles.values(), *self.special]))

    @property
    def unknown(self) -> str:
        """The token for what has none."""
        return self.marks.roles["unk_token"]


def learn(texts: Iterable[str], recipe: TokenizerRecipe) -> dict[str, bytes]:
    """Learn from the texts, and give the files of a folder that `model.tokenizer` and `transformers` take."""
    learned = _LEARNERS[recipe.kind](_some(texts), recipe)
    size = learned.get_vocab_size(with_added_tokens=True)
    if size > recipe.vocab_size:
        raise DataError(
            f"the vocabulary must have at least {size:,} tokens for the letters of these texts and the special tokens, "
            f"got {recipe.vocab_size:,}"
        )
    learned.add_special_tokens(recipe.special_tokens)
    marks = recipe.marks
    if marks.single is not None:
        ids = [(token, learned.token_to_id(token)) for token in recipe.special_tokens]
        learned.post_processor = processors.TemplateProcessing(single=marks.single, pair=marks.pair, special_tokens=ids)
    return {"tokenizer.json": learned.to_str(pretty=True).encode(), "tokenizer_config.json": _describe(recipe)}


def _some(texts: Iterable[str]) -> Iterator[str]:
    seen = False
    for text in texts:
        seen = seen or bool(text.strip())
        yield text
    if not seen:
        raise DataError("there is no text to learn a tokenizer from: every row is empty")


def _wordpiece(texts: Iterator[str], recipe: TokenizerRecipe) -> Tokenizer:
    held = [*texts]
    normalizer, pre_tokenizer = (
        normalizers.BertNormalizer(lowercase=recipe.lowercase),
        pre_tokenizers.BertPreTokenizer(),
    )
    alphabet = _alphabet(normalizer.normalize_str(text) for text in held)
    inside = [f"{_INSIDE}{letter}" for letter in alphabet if len(pre_tokenizer.pre_tokenize_str(f"a{letter}a")) == 1]
    # Handed over as special tokens, the letters inside words get their ids by their order here; else by chance.
    draft = Tokenizer(models.WordPiece(unk_token=recipe.unknown))
    draft.normalizer, draft.pre_tokenizer = normalizer, pre_tokenizer
    trainer = trainers.WordPieceTrainer(
        vocab_size=recipe.vocab_size,
        min_frequency=recipe.min_frequency,
        special_tokens=[*recipe.special_tokens, *inside],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    draft.train_from_iterator(held, trainer)
    learned = Tokenizer(models.WordPiece(draft.get_vocab(), unk_token=recipe.unknown))
    learned.normalizer, learned.pre_tokenizer = normalizer, pre_tokenizer
    learned.decoder = decoders.WordPiece(prefix=_INSIDE)
    return learned


def _bpe(texts: Iterator[str], recipe: TokenizerRecipe) -> Tokenizer:
    learned = Tokenizer(models.BPE())
    learned.normalizer = normalizers.Sequence([normalizers.NFC(), *_lowering(recipe)])
    learned.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learned.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocab_size,
        min_frequency=recipe.min_frequency,
        special_tokens=recipe.special_tokens,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    learned.train_from_iterator(texts, trainer)
    return learned


def _unigram(texts: Iterator[str], recipe: TokenizerRecipe) -> Tokenizer:
    normalizer = normalizers.Sequence([normalizers.NFKC(), *_lowering(recipe)])
    pre_tokenizer = pre_tokenizers.Metaspace()
    words: Counter[str] = Counter()
    for text in texts:
        words.update(word for word, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(text)))
    special = recipe.special_tokens
    pieces = learn_pieces(words, size=recipe.vocab_size - len(special), letters=_alphabet(words.elements()))
    vocabulary = [(token, 0.0) for token in special]
    vocabulary += sorted(pieces.items(), key=lambda pair: (-pair[1], pair[0]))
    learned = Tokenizer(models.Unigram(vocabulary, unk_id=special.index(recipe.unknown)))
    learned.normalizer, learned.pre_tokenizer = normalizer, pre_tokenizer
    learned.decoder = decoders.Metaspace()
    return learned


_LEARNERS: Mapping[Kind, Any] = {"wordpiece": _wordpiece, "bpe": _bpe, "unigram": _unigram}


def _lowering(recipe: TokenizerRecipe) -> list[normalizers.Normalizer]:
    return [normalizers.Lowercase()] if recipe.lowercase else []


def _alphabet(texts: Iterable[str]) -> list[str]:
    """Choose the characters that get tokens, in their order: the most frequent, until nearly all text is covered."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    counts = Counter({letter: count for letter, count in counts.items() if not _is_blank(letter)})
    wanted = _COVERAGE * counts.total()
    kept: list[str] = []
    for letter, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if wanted <= 0:
            break
        kept.append(letter)
        wanted -= count
    return sorted(kept)


def _is_blank(letter: str) -> bool:
    return letter.isspace() or unicodedata.category(letter)[0] == "C"


def _describe(recipe: TokenizerRecipe) -> bytes:
    """Write what `transformers` needs to know beside the tokenizer itself."""
    marks = recipe.marks
    segments = ["token_type_ids"] if marks.has_segments else []
    described = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", *segments, "attention_mask"],
        "padding_side": marks.padding_side,
        "clean_up_tokenization_spaces": False,
        **marks.roles,
        "extra_special_tokens": list(recipe.special),
    }
    return (json.dumps(described, indent=2, ensure_ascii=False) + "\n").encode()


def choose_frame(recipe: TokenizerRecipe, *, frame: Frame | None) -> TokenizerRecipe:
    """Complete the recipe with the frame that was asked for, or the one that is usual for its kind."""
    return replace(recipe, frame=frame or USUAL_FRAMES[recipe.kind])
