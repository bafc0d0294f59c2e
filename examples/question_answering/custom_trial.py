"""A model class of your own: tokenizer, config and model are made by these three methods, and nothing else changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import PositiveInt

from burnish.models.transformer import Transformer

if TYPE_CHECKING:
    from burnish.data.tokens.tokens import TextAssets
    from burnish.spec.values import HeadSpec


class Trial(Transformer):
    """Take every second layer of a pretrained model, without dropout, and read numbers digit by digit."""

    every: PositiveInt = 2

    def build_tokenizer(self) -> Any:
        """Split numbers into digits before anything else, so that no year is a token of its own."""
        from tokenizers import pre_tokenizers

        tokenizer = super().build_tokenizer()
        backend = tokenizer.backend_tokenizer
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), backend.pre_tokenizer]
        )
        return tokenizer

    def build_config(self, head: HeadSpec, assets: TextAssets) -> Any:
        """Leave dropout out: a short training of a halved model does better without."""
        config = super().build_config(head, assets)
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        return config

    def build_model(self, config: Any, head: HeadSpec) -> tuple[Any, set[str]]:
        """Load all layers and keep some; what is fresh, the head, stays so."""
        from torch.nn import ModuleList

        model, fresh = super().build_model(config, head)
        encoder = model.base_model.encoder
        encoder.layer = ModuleList(list(encoder.layer)[:: self.every])
        model.config.num_hidden_layers = len(encoder.layer)
        return model, fresh & {name for name, _ in model.named_parameters()}
