"""What a masked language model must guess, as an experiment says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, PositiveInt, model_validator

from burnish.spec.component import Component

if TYPE_CHECKING:
    from burnish.data.tokens.masks import MaskSelection, Replacement
    from burnish.data.tokens.tokens import Vocabulary

Share = Annotated[float, Field(ge=0, le=1)]
_USUAL_SPANS = {"single": 1, "ngram": 3, "geometric": 10}


class Masking(Component):
    """Hide some tokens: how many, in what pieces, and behind what."""

    shorthand = "probability"

    probability: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """The share of tokens to guess; special tokens are never among them."""
    scored: Annotated[float, Field(gt=0, lt=1)] | None = None
    """The share in validation and test; by default the same. The more is hidden, the harder each guess."""
    whole_words: bool = False
    """Hide a word with all its tokens or not at all."""
    spans: Literal["single", "ngram", "geometric"] = "single"
    """Hide single tokens (or words), or runs of them: `ngram` with lengths by 1/n, `geometric` as SpanBERT does."""
    max_span: PositiveInt | None = None
    """The longest run; by default 3 with `ngram` and 10 with `geometric`."""
    geometric: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """How likely a geometric run ends after each token."""
    dynamic: bool = True
    """Draw again each epoch; false hides the same tokens every time."""
    masked: Share = 0.8
    """The share of hidden tokens that become the mask token."""
    random: Share = 0.1
    """The share that become a random token; the rest stays as it is."""

    @model_validator(mode="after")
    def _shares_fit(self) -> Masking:
        if self.masked + self.random > 1 + 1e-9:
            raise ValueError(
                f"needs `masked` and `random` to be at most 1 together, got {self.masked} and {self.random}"
            )
        return self

    def choice(self, *, is_training: bool) -> MaskSelection:
        """Give the way to choose tokens."""
        from burnish.data.tokens.masks import MaskSelection  # numpy, which checking a config must not load

        share = self.probability if is_training else self.scored or self.probability
        return MaskSelection(share, self.spans, self.max_span or _USUAL_SPANS[self.spans], self.geometric)

    def fates(self, vocabulary: Vocabulary, *, mask_id: int) -> Replacement:
        """Give what becomes of the chosen tokens."""
        from burnish.data.tokens.masks import Replacement  # numpy, which checking a config must not load

        return Replacement(mask_id, vocabulary.plain_ids, self.masked, self.random)
