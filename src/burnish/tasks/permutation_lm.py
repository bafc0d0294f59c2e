"""Learns to guess tokens in any order: XLNet's permutation language modelling."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import PositiveInt

from burnish.spec.component import Component
from burnish.spec.protocols import Assets, Encoder, Metric
from burnish.spec.values import Head, Objective, Outcome, Profile, Rows
from burnish.tasks.language import likelihood_metrics, text_profile
from burnish.tasks.masking import Masking

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.spec.values import Array


class PermutationLm(Component):
    """Learn to guess some tokens of texts one after the other in random order, each from all that is known by then."""

    heads: ClassVar[tuple[str, ...]] = ("permutation_lm",)
    kind: ClassVar[str] = "likelihood"

    text: str = "text"
    """The column that holds the text."""
    max_length: PositiveInt = 128
    """How long a block is in tokens, special tokens included."""
    pack: bool = True
    """Fill blocks with text after text; false takes each text by itself, cut where it is too long."""
    join: str = "\n"
    """What stands after each text that is packed, if the tokenizer knows it."""
    masking: Masking = Masking(probability=1 / 6, spans="ngram", max_span=5)
    """Which tokens are guessed; nothing stands in for them."""
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
        """Ask for one logit a token of the vocabulary, at the guessed places."""
        return Head("permutation_lm", 0, Objective("cross_entropy"), answer="likelihood", options={"best": self.best})

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Tokenise, cut into blocks and order."""
        from burnish.tasks.block_codec import BlockCodec
        from burnish.tasks.masked_encoder import MaskedEncoder
        from burnish.tasks.permutation_encoder import PermutationEncoder

        codec = BlockCodec.build(
            assets, text=self.text, max_length=self.max_length, is_packed=self.pack, join=self.join
        )
        return PermutationEncoder(MaskedEncoder(codec, self.masking))

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        """Add up the hidden tokens of each row, or collect what was guessed at its masks."""
        from burnish.tasks.guesses import decode

        return decode(outputs, num_rows=None if table is None else table.num_rows)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        """Give perplexity and the share of right guesses."""
        return likelihood_metrics()
