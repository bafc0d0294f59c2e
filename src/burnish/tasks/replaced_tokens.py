"""Learns to tell replaced tokens from true ones: ELECTRA's pre-training."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, PositiveInt

from burnish.spec.component import Component
from burnish.spec.protocols import Assets, Encoder, Metric
from burnish.spec.values import Head, Objective, Outcome, Profile, Rows, Term
from burnish.tasks.language import likelihood_metrics, text_profile
from burnish.tasks.masking import Masking

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.spec.values import Array


class ReplacedTokens(Component):
    """Train ELECTRA: a small generator fills in hidden tokens, and the model tells which of them are not the true ones.

    The model is what fine-tuning goes on with; scores and predictions are those of the generator.
    """

    heads: ClassVar[tuple[str, ...]] = ("replaced_tokens",)
    kind: ClassVar[str] = "likelihood"

    text: str = "text"
    """The column that holds the text."""
    max_length: PositiveInt = 128
    """How long a block is in tokens, special tokens included."""
    pack: bool = True
    """Fill blocks with text after text; false takes each text by itself, cut where it is too long."""
    join: str = "\n"
    """What stands after each text that is packed, if the tokenizer knows it."""
    masking: Masking = Masking(masked=1.0, random=0.0)
    generator_size: Annotated[float, Field(gt=0, le=1)] = 0.25
    """How wide the generator is beside the model."""
    replaced_weight: Annotated[float, Field(gt=0)] = 50.0
    """How much telling tokens apart counts beside filling them in."""
    best: PositiveInt = 5
    """How many guesses a prediction gives for each mask."""

    @property
    def training_columns(self) -> tuple[str, ...]:
        """Name the columns that training reads."""
        return (self.text,)

    @property
    def input_columns(self) -> tuple[str, ...]:
        """Name the columns that prediction needs."""
        return (self.text,)

    @property
    def stratify(self) -> str | None:
        """Name no column: there are no classes."""
        return None

    @property
    def num_views(self) -> int:
        """Take one view of a text."""
        return 1

    def profile(self, rows: Rows) -> Profile:
        """See that there is text."""
        return text_profile(rows, self.text)

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
        """Tokenise, cut into blocks and hide."""
        from burnish.tasks.block_codec import BlockCodec
        from burnish.tasks.masked_encoder import MaskedEncoder
        from burnish.tasks.replaced_encoder import ReplacedEncoder

        codec = BlockCodec.build(
            assets, text=self.text, max_length=self.max_length, is_packed=self.pack, join=self.join
        )
        return ReplacedEncoder(MaskedEncoder(codec, self.masking))

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        """Add up the hidden tokens of each row, or collect what was guessed at its masks."""
        from burnish.tasks.guesses import decode

        return decode(outputs, num_rows=None if table is None else table.num_rows)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        """Give perplexity and the share of right guesses."""
        return likelihood_metrics()
