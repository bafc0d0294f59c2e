"""Masked texts with their originals beside them: batches for telling replaced tokens from true ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from burnish.spec.values import Array, Batch, RandomKey
from burnish.tasks.language_modeling.masked_encoder import MaskedEncoder


@dataclass(frozen=True)
class ReplacedEncoder(MaskedEncoder):
    """Encode as a masked language model does, and keep what stood there."""

    def collate(self, features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        """Hide tokens, and say what they were and which places count."""
        batch = dict(super().collate(features, indices, draw))
        if "label" not in batch:
            return batch
        original = np.where(batch["scored"], batch["label"], batch["input_ids"])
        return {**batch, "original": original, "attended": batch["attention_mask"]}
