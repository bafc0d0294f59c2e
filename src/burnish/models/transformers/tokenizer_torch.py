"""Loads a model's tokenizer and limits, as the value that encoders work with."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import normalizers
from transformers import PretrainedConfig, PreTrainedTokenizerBase

from burnish.data.tokens.python_tokenizer_torch import PythonTokenizer, read_tokenizer
from burnish.data.tokens.tokens import TextAssets
from burnish.models.transformer import Transformer, usable_positions
from burnish.models.transformers.config_torch import base_config
from burnish.models.transformers.hf_logging_torch import quiet, refusing
from burnish.models.transformers.locate_model import refusal, tokenizer_folder

_SOURCES = (
    *("tokenizer.json", "vocab.*", "merges.txt", "*.model", "*.tiktoken", "tekken.json", "tokenizer.py"),
    "*.tokenizer",
)
# How a tokenizer came here is no part of what it is; left in, it would change the digest of the features.
_TRACES_OF_LOADING = ("name_or_path", "is_local", "local_files_only")


def load_assets(options: Transformer) -> TextAssets:
    """Load the tokenizer that these options name, and what its model can read."""
    tokenizer = options.build_tokenizer()
    config = base_config(options)
    name, option = _source(options)
    pad_id = _pad_id(tokenizer, name=name, option=option)
    return TextAssets(
        tokenizer=tokenizer.backend_tokenizer if _is_fast(tokenizer) else PythonTokenizer(tokenizer),
        pad_id=pad_id,
        pad_type_id=int(getattr(tokenizer, "pad_token_type_id", 0)),
        padding_side="left" if tokenizer.padding_side == "left" else "right",
        max_positions=usable_positions({**_described(config), "pad_token_id": pad_id}),
        uses_segments="token_type_ids" in tokenizer.model_input_names and knows_segments(config),
        files=_files(tokenizer),
        multiple=options.pad_to_multiple_of,
    )


def load_tokenizer(options: Transformer) -> Any:
    """Load the tokenizer that these options name, a fast one if transformers has it."""
    name, option = _source(options)
    tokenizer = _tokenizer(options, name, option=option)
    if options.lower_case is not None:
        _set_case(tokenizer, is_lower=options.lower_case)
    return tokenizer


def _set_case(tokenizer: Any, *, is_lower: bool) -> None:
    """Lower letters before all else, or stop it where a normaliser of BERT's kind does."""
    if not _is_fast(tokenizer):
        raise refusal(f"model.lower_case: a {type(tokenizer).__name__} takes it from its tokenizer_config.json alone")
    backend = tokenizer.backend_tokenizer
    before = backend.normalizer
    if isinstance(before, normalizers.BertNormalizer):
        before.lowercase = is_lower
        backend.normalizer = before
    elif is_lower:
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *([before] if before else [])])
    elif before is not None and before.normalize_str("A") != "A":
        raise refusal("model.lower_case: this tokenizer always lowers letters; set model.tokenizer to a cased one")
    tokenizer.init_kwargs["do_lower_case"] = is_lower


def knows_segments(config: PretrainedConfig) -> bool:
    """Check whether the model can tell a first text from a second by token_type_ids."""
    num_types = getattr(config, "type_vocab_size", None)
    return num_types is None or num_types > 1


def _source(options: Transformer) -> tuple[str, str]:
    if options.tokenizer is not None:
        return options.tokenizer, "model.tokenizer"
    return options.name or "", "model.name"


def _is_fast(tokenizer: Any) -> bool:
    return bool(getattr(tokenizer, "is_fast", False))


def _tokenizer(options: Transformer, name: str, *, option: str) -> Any:  # AutoTokenizer makes many kinds
    with quiet():
        folder = tokenizer_folder(name, options.hub_copy, option=option)
    # Without this, transformers would make a tokenizer that knows no word at all and say nothing.
    if not any(True for pattern in _SOURCES for _ in folder.glob(pattern)) and not _reads_bytes(folder):
        raise refusal(f"{option}: {name} holds no tokenizer (no tokenizer.json); set model.tokenizer to one that does")
    with refusing(f"{option}: the tokenizer of {name} could not be loaded"):
        tokenizer = read_tokenizer(folder, trust_remote_code=options.trust_remote_code)
    kind = type(tokenizer)
    if not _is_fast(tokenizer) and not kind.__module__.startswith("transformers."):
        raise refusal(
            f"{option}: the tokenizer of {name} is a {kind.__name__}, code that comes with the model, of which an "
            f"artifact takes a fast one (tokenizer.json) only; set model.tokenizer to one with the same tokens"
        )
    if hasattr(tokenizer, "tgt_vocab_size") or getattr(tokenizer, "separate_vocabs", False):
        raise refusal(f"{option}: the {kind.__name__} of {name} has a vocabulary to read and one to write, not one")
    return tokenizer


def _reads_bytes(folder: Path) -> bool:
    """Tell whether a tokenizer needs no file, as its tokens are the bytes of a text."""
    config = folder / "tokenizer_config.json"
    return config.is_file() and "ByT5Tokenizer" in config.read_text(encoding="utf-8", errors="replace")


def _pad_id(tokenizer: PreTrainedTokenizerBase, *, name: str, option: str) -> int:
    """Return the id that fills short rows; where there is none, the end of text, which attention never sees."""
    for token_id in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if isinstance(token_id, int):
            return token_id
    raise refusal(f"{option}: the tokenizer of {name} has neither a pad token nor an end token; it needs one of them")


def _described(config: PretrainedConfig) -> Mapping[str, Any]:
    return {
        "model_type": config.model_type,
        "max_position_embeddings": getattr(config, "max_position_embeddings", None),
    }


def _files(tokenizer: Any) -> Mapping[str, bytes]:  # AutoTokenizer makes many kinds
    """Collect what `save_pretrained` writes, the same bytes wherever the tokenizer was loaded from."""
    source = Path(tokenizer.name_or_path)
    tokenizer.name_or_path = ""
    for trace in _TRACES_OF_LOADING:
        tokenizer.init_kwargs.pop(trace, None)
    with tempfile.TemporaryDirectory() as directory, quiet():
        tokenizer.save_pretrained(directory)
        root = Path(directory)
        files = {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    if _is_fast(tokenizer):
        return files
    # Some are read otherwise than they were written, such as the merges of BERTweet: what was read first is kept.
    names = set(tokenizer.vocab_files_names.values()) - {"tokenizer_config.json"}
    return files | {name: (source / name).read_bytes() for name in sorted(names) if (source / name).is_file()}
