"""What all language models have in common as tasks: a column of text without labels, and likelihoods of tokens."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import PositiveInt

from burnish.errors import DataError
from burnish.metrics.perplexity import GuessAccuracy, Perplexity
from burnish.spec.component import Component
from burnish.spec.protocols import Assets, Metric
from burnish.spec.values import Array, Outcome, Profile, Rows

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.tasks.language_modeling.block_codec import BlockCodec


class LanguageTask(Component):
    """Learn from a column of text without labels."""

    text: str = "text"
    """The column that holds the text."""
    max_length: PositiveInt = 128
    """How long an example is in tokens, special tokens included."""

    @property
    def kind(self) -> str:
        """Say what comes of a row."""
        return "likelihood"

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
        """Refuse a column that holds no text at all; nothing else is learned before the tokenizer is known."""
        import pyarrow.compute as pc

        from burnish.tasks.tabular.column_types import refuse_other_than_text

        refuse_other_than_text(rows.table, [self.text])
        characters = pc.sum(pc.utf8_length(rows.table[self.text])).as_py() or 0
        if not characters:
            raise DataError(f"task.text: the column `{self.text}` of train is empty in every row")
        return Profile(self.kind, facts={"characters": characters})

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        """Add up the tokens of each row that were asked for, or collect the guesses at its places."""
        from burnish.tasks.language_modeling.decoder import decode

        return decode(outputs, num_rows=None if table is None else table.num_rows)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        """Give perplexity, which selects, and the share of right guesses."""
        return (Perplexity(), GuessAccuracy())


class BlockTask(LanguageTask):
    """Learn from blocks of text."""

    pack: bool = True
    """Fill blocks with text after text; false takes each text by itself, cut where it is too long."""
    join: str = "\n"
    """What stands after each text that is packed, if the tokenizer knows it."""
    best: PositiveInt = 5
    """How many guesses a prediction gives for each place."""

    def codec(self, assets: Assets) -> "BlockCodec":
        """Put the tokenizer and these options together."""
        from burnish.tasks.language_modeling.block_codec import BlockCodec

        return BlockCodec.build(assets, text=self.text, max_length=self.max_length, is_packed=self.pack, join=self.join)
