"""Reads a text and the columns beside it: the encoder's vector and those of the columns go through layers together."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from burnish.models.deep import Deep
from burnish.models.tabular.deep_torch import layers
from burnish.models.tabular.table import NumberEmbedding, inputs_of
from burnish.models.tabular.table_features_torch import FeatureLayers
from burnish.models.transformers.embedding_torch import pooled
from burnish.models.transformers.network_torch import TransformerNetwork
from burnish.spec.values import HeadSpec


class FusionNetwork(TransformerNetwork):
    """Put the text's vector and the columns' side by side, then layers, then logits.

    `head.options`: `pooling` is mean or cls; `numbers` how numbers are embedded, as in models over tables; `hidden`
    the widths of the layers, and their `dropout`.
    """

    def __init__(self, model: PreTrainedModel, head: HeadSpec, *, layer_decay: float | None = None) -> None:
        super().__init__(model, head, layer_decay=layer_decay)
        options = head.options
        self.features = FeatureLayers(Deep(numbers=NumberEmbedding(kind=options["numbers"])), inputs_of(head))
        widths = (model.config.hidden_size + sum(self.features.sizes), *options["hidden"])
        self.layers = layers(widths, batch_norm=False, dropout=options["dropout"])
        self.output = nn.Linear(widths[-1], head.size)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Give the logits [n, size]."""
        hidden: Tensor = self.run(batch).last_hidden_state
        text = pooled(hidden, batch["attention_mask"], how=self.head.options["pooling"])
        logits: Tensor = self.output(self.layers(torch.cat([text, self.features(batch)], dim=1)))
        return logits
