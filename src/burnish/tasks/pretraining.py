"""Trains an encoder from raw documents: hidden tokens, and whether two stretches of text stand in their order."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, PositiveInt

from burnish.spec.component import Component
from burnish.spec.protocols import Assets, Encoder, Metric
from burnish.spec.values import Head, Objective, Outcome, Profile, Rows, Term
from burnish.tasks.language import likelihood_metrics, text_profile
from burnish.tasks.masking import Masking

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.spec.values import Array


class Pretraining(Component):
    """Train BERT as it was made: fill in hidden tokens, and tell whether the second text follows the first."""

    heads: ClassVar[tuple[str, ...]] = ("pretraining",)
    kind: ClassVar[str] = "likelihood"

    text: str = "text"
    """The column that holds the documents: one sentence a line, or running text that is cut after . ! and ?"""
    max_length: PositiveInt = 128
    """The longest pair in tokens, special tokens included."""
    pairing: Literal["sentence_order", "next_sentence"] = "sentence_order"
    """A wrong pair is a right one turned round, or one whose second text is of another document."""
    pair_weight: Annotated[float, Field(ge=0)] = 1.0
    """How much the loss of the pairs counts beside that of the tokens."""
    masking: Masking = Masking()

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
        """Ask for one logit a token of the vocabulary at the hidden places, and two a pair."""
        pair = Term("pair", "pair_label", Objective("cross_entropy"), weight=self.pair_weight)
        terms = (pair,) if self.pair_weight else ()
        return Head("pretraining", 0, Objective("cross_entropy"), terms=terms, answer="likelihood")

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Split into sentences, tokenise, pair and hide."""
        from burnish.tasks.block_codec import BlockCodec
        from burnish.tasks.pair_encoder import PairEncoder

        codec = BlockCodec.build(assets, text=self.text, max_length=self.max_length, is_packed=False, join="")
        return PairEncoder.build(codec, self.masking, pairing=self.pairing)

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        """Add up the hidden tokens of each document."""
        from burnish.tasks.guesses import decode

        return decode(outputs, num_rows=None if table is None else table.num_rows)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        """Give perplexity and the share of right guesses."""
        return likelihood_metrics()
