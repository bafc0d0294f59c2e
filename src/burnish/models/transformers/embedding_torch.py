"""Turns each text of a row into one vector: the middle of its tokens or the first of them, of length 1 if asked."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from burnish.models.transformers.network_torch import TransformerNetwork


class EmbeddingNetwork(TransformerNetwork):
    """Embed the texts of a row by one encoder: inputs are [n, texts, length].

    `head.options`: `pooling` is mean or cls; `normalise`; `temperature`, by which the first vector is divided, so that
    products with the others are what a softmax takes; `output` is embeddings, side by side, or the cosine of two,
    put on a `scale` of which 0 and 1 are the ends.
    """

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Give [n, texts * width], or [n, 1] numbers."""
        options = self.head.options
        first, *others = (self._embedded(batch, side) for side in range(batch["input_ids"].shape[1]))
        if options["output"] == "cosine":
            low, high = options["scale"]
            cosines: Tensor = nn.functional.cosine_similarity(first, others[0], dim=1)[:, None]
            return cosines * float(high - low) + float(low)
        return torch.cat([first / options["temperature"], *others], dim=1)

    def _embedded(self, batch: Mapping[str, Tensor], side: int) -> Tensor:
        mask = batch["attention_mask"][:, side]
        # Both texts are padded to one length, and the shorter ones of all rows may be much shorter.
        used = mask.any(dim=0)
        taken = {name: batch[name][:, side][:, used] for name in self.inputs if name in batch}
        hidden: Tensor = self.model(**taken, return_dict=True).last_hidden_state
        vectors = pooled(hidden, mask[:, used], how=self.head.options["pooling"])
        return nn.functional.normalize(vectors, dim=1) if self.head.options["normalise"] else vectors


def pooled(hidden: Tensor, mask: Tensor, *, how: str) -> Tensor:
    """Make one vector of a text: the mean of its tokens, or its first one (`cls`)."""
    if how == "cls":
        return hidden[torch.arange(len(hidden), device=hidden.device), mask.argmax(dim=1)]
    weights = mask[:, :, None].to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)
