"""Learns to guess tokens in any order: XLNet's permutation language modelling."""

from typing import ClassVar

from burnish.spec.protocols import Assets, Encoder
from burnish.spec.values import Head, Objective, Profile
from burnish.tasks.defaults import fine_tuning
from burnish.tasks.language_modeling.masking import Masking
from burnish.tasks.language_modeling.task import BlockTask


class PermutationLm(BlockTask):
    """Permutation language modeling, as in XLNet: predict some tokens of a text in random order."""

    heads: ClassVar[tuple[str, ...]] = ("permutation_lm",)
    defaults = fine_tuning("xlnet/xlnet-base-cased")

    masking: Masking = Masking(probability=1 / 6, spans="ngram", max_span=5)
    """Which tokens are predicted; nothing replaces them."""

    def head(self, profile: Profile) -> Head:
        """Ask for one logit a token of the vocabulary, at the guessed places."""
        return Head("permutation_lm", 0, Objective("cross_entropy"), answer="likelihood", options={"best": self.best})

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Tokenise, cut into blocks and order."""
        from burnish.tasks.language_modeling.permutation_encoder import PermutationEncoder

        return PermutationEncoder(self.codec(assets), self.masking)
