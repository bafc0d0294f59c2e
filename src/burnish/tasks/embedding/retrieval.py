"""Learns embeddings that lead from queries to passages: one encoder reads both, each by itself."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import PositiveFloat, PositiveInt, SkipValidation, model_validator

from burnish.spec.component import Slot
from burnish.spec.protocols import Assets, Encoder, Metric, Task, Truncation
from burnish.spec.values import Array, HeadSpec, Objective, Outcome, Profile, RowFault, Rows
from burnish.tasks.defaults import EMBEDDING
from burnish.tasks.pooling import Pooling

if TYPE_CHECKING:
    import pyarrow as pa


class Retrieval(Task):
    """Train a bi-encoder for search: a query's embedding is close to its passage, with in-batch negatives."""

    heads: ClassVar[tuple[str, ...]] = ("embedding",)
    defaults = EMBEDDING
    kind: ClassVar[str] = "retrieval"

    query: str = "query"
    """The column of the first text, the one that prediction embeds."""
    passage: str = "passage"
    """The column of the text that belongs to it."""
    negative: str | None = None
    """A column of texts that do not, though they look as if: further wrong answers in training."""
    max_length: PositiveInt = 128
    """The longest text of either side in tokens, special tokens included."""
    truncation: Annotated[SkipValidation[Truncation], Slot("truncations", default="head")]
    pooling: Pooling = "mean"
    """Whether an embedding is the mean of a text's tokens, or its first token."""
    normalise: bool = True
    """Whether embeddings have length 1, so that their products are cosines."""
    temperature: PositiveFloat = 0.05
    """What products are divided by before the softmax: less makes near misses count more."""

    @model_validator(mode="after")
    def _one_embedding_a_text(self) -> "Retrieval":
        refuse_windows(self.truncation)
        return self

    @property
    def training_columns(self) -> tuple[str, ...]:
        """Name the columns that training reads."""
        return (self.query, self.passage) if self.negative is None else (self.query, self.passage, self.negative)

    @property
    def input_columns(self) -> tuple[str, ...]:
        """Name the column that prediction needs: whatever text is in it is embedded."""
        return (self.query,)

    def profile(self, rows: Rows) -> Profile:
        """Make sure that there are texts to learn from."""
        from burnish.tasks.tabular.column_types import refuse_other_than_text

        refuse_other_than_text(rows.table, self.training_columns)
        return Profile("retrieval")

    def head(self, profile: Profile) -> HeadSpec:
        """Ask for the embeddings of both texts side by side."""
        options = {"pooling": self.pooling, "normalise": self.normalise, "temperature": self.temperature}
        return HeadSpec("embedding", 1, Objective("in_batch"), options={**options, "output": "embeddings"})

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Tokenise and cut each side."""
        from burnish.tasks.embedding.bi_encoder import SidesEncoder

        return SidesEncoder.build(
            assets,
            self.training_columns,
            max_length=self.max_length,
            truncation=self.truncation,
            labels=self._number_of_texts,
        )

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        """Rank the passages of the whole split for each query; without passages, give embeddings."""
        from burnish.tasks.embedding.decoder import decode

        return decode(outputs, table, columns=(self.query, self.passage), temperature=self.temperature)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        """Give the mean reciprocal rank, and how often the passage is among the first."""
        from burnish.metrics.language import Mrr, RecallAt

        return (Mrr(), RecallAt())

    def _number_of_texts(self, table: "pa.Table") -> "tuple[Array, list[RowFault]]":
        """Label each row by how many texts it holds: the right passage is the second, whatever the row."""
        import numpy as np

        return np.full(table.num_rows, len(self.training_columns)), []


def refuse_windows(truncation: Truncation) -> None:
    """Refuse a policy that makes several sequences of one text; an embedding is of one."""
    if hasattr(truncation, "pool"):
        raise ValueError("has `truncation: windows`, and an embedding is of one stretch of text; take head or tail")
