"""Makes tiny transformers folders without a network: for the tests of Burnish and of its plug-ins."""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

from burnish.models.transformers.hf_logging_torch import quiet

_ASCII = string.ascii_lowercase + string.digits + string.punctuation
_ID_ROLES = ("pad_token", "bos_token", "eos_token")

TEXTS = (
    "a good film with a fine cast",
    "a bad film with a dull plot",
    "the story is warm and funny",
    "the story is cold and boring",
)


@dataclass(frozen=True)
class Family:
    """How one family of models marks its texts, and what it calls the numbers of its size."""

    roles: Mapping[str, str]
    """Special tokens by role, in the order of their ids."""
    single: str
    pair: str
    inputs: tuple[str, ...] = ("input_ids", "attention_mask")
    padding_side: str = "right"
    width: str = "intermediate_size"
    extra: Mapping[str, Any] | None = None


_BERT_ROLES = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
_ROBERTA_ROLES = {
    "bos_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
_XLNET_ROLES = {
    "unk_token": "<unk>",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "cls_token": "<cls>",
    "sep_token": "<sep>",
    "pad_token": "<pad>",
}
_T5_ROLES = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
_SEGMENTS = ("input_ids", "token_type_ids", "attention_mask")
_BERT = Family(_BERT_ROLES, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", inputs=_SEGMENTS)

FAMILIES: Mapping[str, Family] = {
    "bert": _BERT,
    "electra": Family(_BERT_ROLES, _BERT.single, _BERT.pair, inputs=_SEGMENTS, extra={"embedding_size": 16}),
    "distilbert": Family(_BERT_ROLES, _BERT.single, _BERT.pair, width="hidden_dim"),
    "albert": Family(_BERT_ROLES, _BERT.single, _BERT.pair, inputs=_SEGMENTS, extra={"embedding_size": 16}),
    "deberta-v2": Family(_BERT_ROLES, _BERT.single, _BERT.pair, inputs=_SEGMENTS),
    "roberta": Family(
        {**_ROBERTA_ROLES, "cls_token": "<s>", "sep_token": "</s>"},
        "<s> $A </s>",
        "<s> $A </s> </s> $B </s>",
        extra={"type_vocab_size": 1},
    ),
    "xlnet": Family(
        _XLNET_ROLES,
        "$A <sep> <cls>:2",
        "$A <sep> $B:1 <sep>:1 <cls>:2",
        inputs=_SEGMENTS,
        padding_side="left",
        width="d_inner",
    ),
    "t5": Family(
        _T5_ROLES,
        "$A </s>",
        "$A </s> $B </s>",
        width="d_ff",
        extra={"d_kv": 16, "num_decoder_layers": 2, "decoder_start_token_id": 0},
    ),
    "bart": Family(
        {**_ROBERTA_ROLES, "cls_token": "<s>", "sep_token": "</s>"},
        "<s> $A </s>",
        "<s> $A </s> </s> $B </s>",
        width="encoder_ffn_dim",
        extra={"decoder_layers": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 64},
    ),
    "marian": Family(
        _T5_ROLES,
        "$A </s>",
        "$A </s> $B </s>",
        width="encoder_ffn_dim",
        extra={
            "decoder_layers": 2,
            "decoder_attention_heads": 2,
            "decoder_ffn_dim": 64,
            "decoder_start_token_id": 0,
            "forced_eos_token_id": 1,
        },
    ),
    "gpt2": Family(
        {"unk_token": "<|endoftext|>", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"},
        "$A",
        "$A $B",
        width="n_inner",
    ),
}
ENCODER_DECODERS = frozenset({"t5", "bart", "marian"})
"""Families that write a text for a text; the others have one stack of layers."""


def tiny_model(
    directory: Path,
    *,
    architecture: str = "bert",
    hidden: int = 32,
    layers: int = 2,
    heads: int = 2,
    positions: int = 64,
    texts: Sequence[str] = TEXTS,
    seed: int = 0,
) -> Path:
    """Write a tiny model that `transformers` can load, the same bytes for the same arguments; give its folder.

    Plug-in authors may rely on it: it needs no network, takes a fraction of a second, knows every word of
    `texts` and spells all others, and leaves torch's generator as it was. `architecture` is one of `FAMILIES`.
    """
    family = FAMILIES[architecture]
    # Special tokens, characters, characters inside words, and words, in an order that never changes.
    words = sorted({word for text in texts for word, _ in _words().pre_tokenize_str(text.lower())})
    letters = sorted({*_ASCII, *(letter for word in words for letter in word)})
    tokens = [*family.roles.values(), *letters, *(f"##{letter}" for letter in letters), *words]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    size = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, family.width: 2 * hidden}
    size |= {"d_head": hidden // heads} if architecture == "xlnet" else {}
    size |= {} if architecture in ("xlnet", "t5") else {"max_position_embeddings": positions}
    ids = {f"{role}_id": vocabulary[token] for role, token in family.roles.items() if role in _ID_ROLES}
    config = AutoConfig.for_model(architecture, **size, **(family.extra or {}), **ids, vocab_size=len(vocabulary))
    directory.mkdir(parents=True, exist_ok=True)
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(seed)
        AutoModel.from_config(config, dtype=torch.float32).save_pretrained(directory)  # type: ignore[no-untyped-call]  # as it is
        _tokenizer(family, vocabulary).save_pretrained(directory)
    return directory


def _words() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.BertPreTokenizer()


def _tokenizer(family: Family, vocabulary: Mapping[str, int]) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordPiece(dict(vocabulary), unk_token=family.roles["unk_token"]))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = _words()
    backend.decoder = decoders.WordPiece()
    special = [(token, vocabulary[token]) for token in dict.fromkeys(family.roles.values())]
    backend.post_processor = processors.TemplateProcessing(
        single=family.single, pair=family.pair, special_tokens=special
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # as it is
        tokenizer_object=backend,
        model_input_names=list(family.inputs),
        padding_side=family.padding_side,
        **family.roles,
    )
