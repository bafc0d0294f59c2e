"""Blocks of text with an order in which some tokens are guessed: batches of a permutation language model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from burnish.data.batching.rng import uniforms
from burnish.spec.values import Array, Batch, RandomKey
from burnish.tasks.language_modeling.masked_encoder import MaskedEncoder


@dataclass(frozen=True)
class PermutationEncoder(MaskedEncoder):
    """Encode as a masked language model does, but hide nothing: the order says who may look at whom."""

    def collate(self, features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        """Choose tokens to guess, and `order` them: -1 for all others, which everyone may look at."""
        if self.is_asked(features, draw):
            batch = self.asked(features, indices, draw)
            return {**batch, "order": np.where(batch["scored"], 0, -1)}  # all are guessed at once
        numbers = np.asarray(indices)
        texts = self.codec.gather(features, indices, draw)
        _, chosen = self.hide(texts, numbers, draw)
        batch, layout = self.laid_out(texts, texts, chosen)
        batch["order"] = layout.spread(_ranks(chosen, numbers, draw), fill=-1)
        return batch if draw.is_training else batch | self.codec.places(features, indices, layout)


def _ranks(chosen: Array, numbers: Array, draw: RandomKey) -> Array:
    """Draw an order of the chosen places of each example, from 0; -1 elsewhere."""
    seed, epoch = (draw.seed, draw.epoch) if draw.is_training else (0, draw.view)
    lots = uniforms(numbers, chosen.shape[1], seed=seed, purpose="permutation", epoch=epoch)
    order = np.argsort(np.where(chosen, lots, 2.0), axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), axis=1)
    return np.where(chosen, ranks, -1)
