"""The model, optimizer, length and batch that an experiment gets from its task where it names none.

`burnish new` writes these values too, so that a starter means the same with and without them.
"""

from collections.abc import Mapping
from typing import Any


def fine_tuning(name: str, *, learning_rate: str = "auto", batch: str | int = "auto") -> Mapping[str, Any]:
    """Fine-tune a pretrained transformer in the usual way; `auto` fits the number of rows and the size of the model."""
    return {
        "model": {"type": "transformer", "name": name},
        "optimizer": {"type": "adamw", "learning_rate": learning_rate},
        "train": {"length": "auto", "batch": batch},
    }


TEXT = fine_tuning("bert-base-uncased")
CLASSES: Mapping[str, Any] = {**TEXT, "train": {**TEXT["train"], "select": "auto"}}
# The model gives embeddings already, which a high rate would undo, and a small batch has few texts to tell apart.
EMBEDDING = fine_tuning("sentence-transformers/all-MiniLM-L6-v2", learning_rate="2e-5", batch=32)
TABLE: Mapping[str, Any] = {
    "model": "tab_m",
    "optimizer": {"type": "adamw", "learning_rate": "auto"},
    "train": {"length": "30 epochs", "batch": "auto", "select": "loss", "patience": 5},
}
