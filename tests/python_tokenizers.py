"""Makes tiny models whose tokenizers transformers has in Python only."""

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import sentencepiece
import torch
from transformers import (
    BertweetTokenizer,
    ByT5Tokenizer,
    MarianConfig,
    MarianModel,
    MarianTokenizer,
    ProphetNetTokenizer,
    XLMConfig,
    XLMModel,
    XLMTokenizer,
)

from burnish.models.transformers.hf_logging_torch import quiet
from burnish.testing.tiny_torch import TEXTS

LETTERS = "abcdefghijklmnopqrstuvwxyz.,'!?"


def xlm_tokenizer(folder: Path) -> XLMTokenizer:
    """Whole words of `TEXTS` by merges, and letters."""
    special = ["<s>", "</s>", "<pad>", "<unk>", *(f"<special{number}>" for number in range(10))]
    merges, words = _merges(sorted({word for text in TEXTS for word in text.split()}))
    vocabulary = _numbered([*special, *LETTERS, *(f"{letter}</w>" for letter in LETTERS), *words])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("".join(f"{first} {second} 1\n" for first, second in merges))
    return XLMTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))


def xlm_model(folder: Path) -> Path:
    """A tiny XLM, as its authors publish one."""
    tokenizer = xlm_tokenizer(folder)
    ids = {"pad_index": 2, "pad_token_id": 2, "bos_index": 0, "eos_index": 1, "unk_index": 3, "mask_index": 5}
    size = {"emb_dim": 32, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 64, "vocab_size": len(tokenizer)}
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(0)
        XLMModel(XLMConfig(**size, **ids)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def marian_tokenizer(folder: Path) -> MarianTokenizer:
    """Reads words in small letters and writes them in capitals, of one vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"source": TEXTS, "target": [text.upper() for text in TEXTS]}
    pieces: list[str] = []
    for name, lines in texts.items():
        model = _sentence_pieces(lines)
        (folder / f"{name}.spm").write_bytes(model)
        reader = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces += [reader.id_to_piece(number) for number in range(3, reader.vocab_size())]
    vocabulary = _numbered(["</s>", "<unk>", *pieces, ">>upper<<", "<pad>"])
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    names = [str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")]
    return MarianTokenizer(*names, source_lang="low", target_lang="upper")


def marian_model(folder: Path) -> Path:
    """A tiny Marian, as its authors publish one."""
    tokenizer = marian_tokenizer(folder)
    last = len(tokenizer) - 1
    size = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "max_position_embeddings": 64}
    parts = {f"{part}_{name}": 2 for part in ("encoder", "decoder") for name in ("attention_heads",)}
    widths = {"encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
    ids = {"pad_token_id": last, "decoder_start_token_id": last, "eos_token_id": 0, "forced_eos_token_id": 0}
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(0)
        config = MarianConfig(**size, **parts, **widths, **ids, vocab_size=len(tokenizer))
        MarianModel(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def byte_tokenizer(folder: Path) -> ByT5Tokenizer:
    """Bytes, for which there is no file."""
    return ByT5Tokenizer()


def bertweet_tokenizer(folder: Path) -> BertweetTokenizer:
    """Words that end, and pieces that go on with `@@`."""
    folder.mkdir(parents=True, exist_ok=True)
    merges, _ = _merges(["good", "film"])
    words = ["good", "film", "fil@@", *LETTERS, *(f"{letter}@@" for letter in LETTERS)]
    (folder / "vocab.txt").write_text("".join(f"{word} 1\n" for word in words))
    (folder / "bpe.codes").write_text("".join(f"{first} {second} 1\n" for first, second in merges))
    return BertweetTokenizer(str(folder / "vocab.txt"), str(folder / "bpe.codes"))


def prophet_tokenizer(folder: Path) -> ProphetNetTokenizer:
    """BERT's words and pieces in a class of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[X_SEP]"]
    words = [*special, "good", "film", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    (folder / "prophetnet.tokenizer").write_text("\n".join(words))
    return ProphetNetTokenizer(str(folder / "prophetnet.tokenizer"))


def _merges(words: Iterable[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Build each word from its first letter on, the last of which carries the mark of an end."""
    merges, made = dict[tuple[str, str], None](), dict[str, None]()
    for word in words:
        done, *rest = [*word[:-1], f"{word[-1]}</w>"]
        for letter in rest:
            merges[(done, letter)] = None
            done += letter
            made[done] = None
    return list(merges), list(made)


def _numbered(tokens: Iterable[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


def _sentence_pieces(texts: Sequence[str]) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )
    return model.getvalue()
