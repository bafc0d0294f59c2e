"""Trains an encoder from raw documents: hidden tokens, and whether two stretches of text stand in their order."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from burnish.metrics.perplexity import PairAccuracy
from burnish.spec.protocols import Assets, Encoder, Metric
from burnish.spec.values import Head, Objective, Profile, Term
from burnish.tasks.defaults import TEXT
from burnish.tasks.language_modeling.masking import Masking
from burnish.tasks.language_modeling.task import LanguageTask


class Pretraining(LanguageTask):
    """BERT's pre-training: masked tokens, plus sentence order or next-sentence prediction.

    A row is a document: one sentence a line, or running text.
    """

    heads: ClassVar[tuple[str, ...]] = ("pretraining",)
    defaults = TEXT

    pairing: Literal["sentence_order", "next_sentence"] = "sentence_order"
    """A wrong pair is a right one turned round, or one whose second text is of another document."""
    pair_weight: Annotated[float, Field(ge=0)] = 1.0
    """The weight of the pairs' loss relative to that of the tokens."""
    masking: Masking = Masking()

    @property
    def kind(self) -> str:
        """Say what comes of a row."""
        return "likelihood_of_pairs" if self.pair_weight else "likelihood"

    def head(self, profile: Profile) -> Head:
        """Ask for one logit a token of the vocabulary at the hidden places, and two a pair."""
        pair = Term("pair", "pair_label", Objective("cross_entropy"), weight=self.pair_weight)
        terms = (pair,) if self.pair_weight else ()
        return Head("pretraining", 0, Objective("cross_entropy"), terms=terms, answer="likelihood")

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Split into sentences, tokenise, pair and hide."""
        from burnish.tasks.language_modeling.block_codec import BlockCodec
        from burnish.tasks.language_modeling.pair_encoder import PairEncoder

        codec = BlockCodec.build(assets, text=self.text, max_length=self.max_length, is_packed=False, join="")
        return PairEncoder.build(codec, self.masking, pairing=self.pairing)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        """Give perplexity, which selects, the share of right guesses, and that of pairs told rightly."""
        return (*super().metrics(profile), *([PairAccuracy()] if self.pair_weight else []))
