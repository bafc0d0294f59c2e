"""Learns to go on with a text: causal language modelling."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import PositiveInt

from burnish.errors import DataError
from burnish.spec.component import Component
from burnish.spec.protocols import Assets, Encoder, Metric
from burnish.spec.values import Head, Objective, Outcome, Profile, Rows
from burnish.tasks.language import likelihood_metrics, text_profile

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.spec.values import Array


class CausalLm(Component):
    """Learn to guess each token of texts from those before it; a row with `prompt` is gone on with."""

    heads: ClassVar[tuple[str, ...]] = ("causal_lm",)
    kind: ClassVar[str] = "likelihood"

    text: str = "text"
    """The column that holds the text."""
    max_length: PositiveInt = 128
    """How long a block is in tokens, special tokens included."""
    pack: bool = True
    """Fill blocks with text after text; false takes each text by itself, cut where it is too long."""
    join: str = "\n"
    """What stands after each text that is packed, if the tokenizer knows it."""
    best: PositiveInt = 5
    """How many next tokens a prediction gives."""

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
        """Ask for one logit a token of the vocabulary, wherever a token follows."""
        return Head("causal_lm", 0, Objective("cross_entropy"), answer="likelihood", options={"best": self.best})

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Tokenise and cut into blocks."""
        from burnish.tasks.block_codec import BlockCodec
        from burnish.tasks.causal_encoder import CausalEncoder

        codec = BlockCodec.build(
            assets, text=self.text, max_length=self.max_length, is_packed=self.pack, join=self.join
        )
        return CausalEncoder(codec)

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        """Add up the tokens of each row, or collect what may come next."""
        from burnish.tasks.guesses import decode

        return decode(outputs, num_rows=None if table is None else table.num_rows)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        """Give perplexity and the share of right guesses."""
        return likelihood_metrics()

    def table(self, rows: Sequence[Mapping[str, Any]], profile: Profile) -> "pa.Table":
        """Take texts to score, or with `prompt` texts to go on with; all rows of one sort."""
        import pyarrow as pa

        prompts = [row for row in rows if "prompt" in row]
        texts = [row.get("prompt", row.get(self.text, row.get("text"))) for row in rows]
        if prompts and len(prompts) < len(rows):
            raise DataError("some rows have a prompt to go on with and others a text to score; give them apart")
        wrong = [number for number, text in enumerate(texts, start=1) if not isinstance(text, str)]
        if wrong:
            raise DataError(f"row {', '.join(map(str, wrong[:5]))}: give `{self.text}` or `prompt`, as text")
        marked = {"prompt": pa.array([True] * len(rows))} if prompts else {}
        return pa.table({self.text: pa.array(texts, pa.string()), **marked})
