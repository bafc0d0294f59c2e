"""The model, optimizer, length and batch that an experiment gets from its task where it names none.

`burnish new` writes these values too, so that a starter means the same with and without them.
"""

from collections.abc import Mapping
from typing import Any


def fine_tuning(name: str) -> Mapping[str, Any]:
    """Fine-tune a pretrained transformer in the usual way."""
    return {
        "model": {"type": "transformer", "name": name},
        "optimizer": {"type": "adamw", "learning_rate": "2e-5"},
        "train": {"length": "3 epochs", "batch": 32},
    }


TEXT = fine_tuning("bert-base-uncased")
EMBEDDING = fine_tuning("sentence-transformers/all-MiniLM-L6-v2")
TABLE: Mapping[str, Any] = {
    "model": "tab_m",
    "optimizer": {"type": "adamw", "learning_rate": "2e-3"},
    "train": {"length": "30 epochs", "batch": "auto", "select": "loss", "patience": 5},
}
