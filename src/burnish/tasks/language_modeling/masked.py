"""Learns to fill in hidden tokens: masked language modelling."""

from typing import ClassVar

from burnish.spec.protocols import Assets, Encoder
from burnish.spec.values import Head, Objective, Profile
from burnish.tasks.defaults import TEXT
from burnish.tasks.language_modeling.masking import Masking
from burnish.tasks.language_modeling.task import BlockTask


class MaskedLm(BlockTask):
    """Masked language modeling, as in BERT; predicting a text with mask tokens fills them in."""

    heads: ClassVar[tuple[str, ...]] = ("masked_lm",)
    defaults = TEXT

    masking: Masking = Masking()

    def head(self, profile: Profile) -> Head:
        """Ask for one logit a token of the vocabulary, at the hidden places."""
        return Head("masked_lm", 0, Objective("cross_entropy"), answer="likelihood", options={"best": self.best})

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Tokenise, cut into blocks and hide."""
        from burnish.tasks.language_modeling.masked_encoder import MaskedEncoder

        return MaskedEncoder(self.codec(assets), self.masking)
