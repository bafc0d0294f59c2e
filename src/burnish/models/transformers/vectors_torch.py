"""Networks that read a text as one vector: embeddings, pooled classification, and texts with columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from burnish.models.tabular.models import Deep, NumberEmbedding, inputs_of
from burnish.models.tabular.networks_torch import layers
from burnish.models.tabular.table_features_torch import FeatureLayers
from burnish.models.transformers.config_torch import largest_dropout
from burnish.models.transformers.network_torch import TransformerNetwork
from burnish.spec.values import HeadSpec


class EmbeddingNetwork(TransformerNetwork):
    """Embed the texts of a row by one encoder: inputs are [n, texts, length].

    `head.options`: `pooling` is mean or cls; `normalise`; `temperature`, by which the first vector is divided, so that
    products with the others are what a softmax takes; `output` is embeddings, side by side, or the cosine of two,
    put on a `scale` of which 0 and 1 are the ends.
    """

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
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
        return self.embed({name: batch[name][:, side][:, used] for name in self.inputs if name in batch})

    def embed(self, texts: Mapping[str, Tensor]) -> Tensor:
        """Return the vector of each text [n, width]; inputs are [n, length]."""
        hidden: Tensor = self.model(**texts, return_dict=True).last_hidden_state
        vectors = pooled(hidden, texts["attention_mask"], how=self.head.options["pooling"])
        return nn.functional.normalize(vectors, dim=1) if self.head.options["normalise"] else vectors


def pooled(hidden: Tensor, mask: Tensor, *, how: str) -> Tensor:
    """Make one vector of a text: the mean of its tokens, or its first one (`cls`)."""
    if how == "cls":
        return hidden[torch.arange(len(hidden), device=hidden.device), mask.argmax(dim=1)]
    weights = mask[:, :, None].to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


class PooledNetwork(TransformerNetwork):
    """Put a linear layer above the vector of a text; `head.options`: `pooling` is mean or cls."""

    def __init__(self, model: PreTrainedModel, head: HeadSpec, *, layer_decay: float | None = None) -> None:
        super().__init__(model, head, layer_decay=layer_decay)
        self.dropout = nn.Dropout(largest_dropout(model.config))
        self.output = nn.Linear(model.config.hidden_size, head.size)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        hidden: Tensor = self.run(batch).last_hidden_state
        vectors = pooled(hidden, batch["attention_mask"], how=self.head.options["pooling"])
        logits: Tensor = self.output(self.dropout(vectors))
        return logits


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
        hidden: Tensor = self.run(batch).last_hidden_state
        text = pooled(hidden, batch["attention_mask"], how=self.head.options["pooling"])
        logits: Tensor = self.output(self.layers(torch.cat([text, self.features(batch)], dim=1)))
        return logits


def write_modules(directory: Path, head: HeadSpec, *, width: int) -> None:
    """Write what lets sentence-transformers load an embedding model alike: its modules, pooling and length."""
    kinds = ["Transformer", "Pooling", *(["Normalize"] if head.options["normalise"] else [])]
    paths = [f"{number}_{kind}" if number else "" for number, kind in enumerate(kinds)]
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    pooling = {
        "word_embedding_dimension": width,
        "pooling_mode_cls_token": head.options["pooling"] == "cls",
        "pooling_mode_mean_tokens": head.options["pooling"] == "mean",
    }
    (directory / paths[1]).mkdir(exist_ok=True)
    _write(directory / paths[1] / "config.json", pooling)
    _write(directory / "modules.json", modules)
    if "max_length" in head.options:
        _write(directory / "sentence_bert_config.json", {"max_seq_length": head.options["max_length"]})


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
