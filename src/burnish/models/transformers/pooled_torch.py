"""Classifies a text by one vector of its tokens, for encoders whose own head looks at something else."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn
from transformers import PreTrainedModel

from burnish.models.transformers.config_torch import largest_dropout
from burnish.models.transformers.embedding_torch import pooled
from burnish.models.transformers.network_torch import TransformerNetwork
from burnish.spec.values import HeadSpec


class PooledNetwork(TransformerNetwork):
    """Put a linear layer above the vector of a text; `head.options`: `pooling` is mean or cls."""

    def __init__(self, model: PreTrainedModel, head: HeadSpec, *, layer_decay: float | None = None) -> None:
        super().__init__(model, head, layer_decay=layer_decay)
        self.dropout = nn.Dropout(largest_dropout(model.config))
        self.output = nn.Linear(model.config.hidden_size, head.size)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Give the logits [n, size]."""
        hidden: Tensor = self.run(batch).last_hidden_state
        vectors = pooled(hidden, batch["attention_mask"], how=self.head.options["pooling"])
        logits: Tensor = self.output(self.dropout(vectors))
        return logits
