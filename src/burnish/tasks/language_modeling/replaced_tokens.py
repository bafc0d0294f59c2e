"""Learns to tell replaced tokens from true ones: ELECTRA's pre-training."""

from typing import Annotated, ClassVar

from pydantic import Field

from burnish.spec.protocols import Assets, Encoder
from burnish.spec.values import Head, Objective, Profile, Term
from burnish.tasks.defaults import fine_tuning
from burnish.tasks.language_modeling.masking import Masking
from burnish.tasks.language_modeling.task import BlockTask


class ReplacedTokens(BlockTask):
    """Replaced-token detection, as in ELECTRA: a small generator fills in tokens, the model spots the fakes.

    The model is what fine-tuning goes on with; scores and predictions are those of the generator.
    """

    heads: ClassVar[tuple[str, ...]] = ("replaced_tokens",)
    defaults = fine_tuning("google/electra-small-discriminator")

    masking: Masking = Masking(masked=1.0, random=0.0)
    generator_size: Annotated[float, Field(gt=0, le=1)] = 0.25
    """How wide the generator is relative to the model."""
    replaced_weight: Annotated[float, Field(gt=0)] = 50.0
    """The weight of the detection loss relative to that of filling in."""

    def head(self, profile: Profile) -> Head:
        """Ask for the generator's logits at the hidden places, and the loss of telling tokens apart at all places."""
        return Head(
            "replaced_tokens",
            0,
            Objective("cross_entropy"),
            terms=(Term("replaced", "attended", Objective("mean"), weight=self.replaced_weight),),
            answer="likelihood",
            options={"best": self.best, "generator_size": self.generator_size},
        )

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Tokenise, cut into blocks, hide, and keep what stood there."""
        from burnish.tasks.language_modeling.replaced_encoder import ReplacedEncoder

        return ReplacedEncoder(self.codec(assets), self.masking)
