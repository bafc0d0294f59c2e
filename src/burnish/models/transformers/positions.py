"""Tells the longest input of a model from its config, without loading anything heavy."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NAMES = ("max_position_embeddings", "n_positions")

# These number positions from pad_token_id + 1, so that many rows of the position table are never reached.
_OFFSET_BY_PAD = frozenset(
    {
        "camembert",
        "data2vec-text",
        "esm",
        "ibert",
        "longformer",
        "luke",
        "markuplm",
        "mpnet",
        "roberta",
        "roberta-prelayernorm",
        "xlm-roberta",
        "xlm-roberta-xl",
        "xmod",
    }
)
_DEFAULT_PAD = 1


def usable_positions(config: Mapping[str, Any]) -> int | None:
    """Give the number of tokens that fit, or None if the config states no limit."""
    positions = next((config[name] for name in _NAMES if isinstance(config.get(name), int)), None)
    if positions is None or positions <= 0:
        return None
    if config.get("model_type") not in _OFFSET_BY_PAD:
        return int(positions)
    pad = config.get("pad_token_id")
    return int(positions) - (_DEFAULT_PAD if pad is None else int(pad)) - 1


def read_config(folder: Path) -> Mapping[str, Any]:
    """Read config.json if it is there and readable; whoever loads the model says what is wrong with it."""
    try:
        content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
