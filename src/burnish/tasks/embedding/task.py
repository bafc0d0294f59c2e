"""Learns embeddings with a bi-encoder: for retrieval of passages, or for the similarity of two texts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import PositiveFloat, PositiveInt, SkipValidation, model_validator

from burnish.errors import DataError
from burnish.spec.component import Slot
from burnish.spec.protocols import Assets, Encoder, Metric, Task, Truncation
from burnish.spec.values import Array, BaselineRequest, HeadSpec, Objective, Outcome, Profile, RowFault, Rows
from burnish.tasks.options import EMBEDDING, TEXT_SPACE, Pooling

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.data.tokens.text import TextCodec


class Retrieval(Task):
    """Train a bi-encoder for search: a query's embedding is close to its passage, with in-batch negatives."""

    heads: ClassVar[tuple[str, ...]] = ("embedding",)
    defaults = EMBEDDING
    search_space = TEXT_SPACE
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
        return (self.query, self.passage) if self.negative is None else (self.query, self.passage, self.negative)

    @property
    def input_columns(self) -> tuple[str, ...]:
        return (self.query,)

    def profile(self, rows: Rows) -> Profile:
        from burnish.tasks.labels import refuse_other_than_text

        refuse_other_than_text(rows.table, self.training_columns)
        return Profile("retrieval")

    def head(self, profile: Profile) -> HeadSpec:
        options = {"pooling": self.pooling, "normalise": self.normalise, "temperature": self.temperature}
        own = {"output": "embeddings", "max_length": self.max_length}
        return HeadSpec("embedding", 1, Objective("in_batch"), options={**options, **own})

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.tasks.embedding.bi_encoder import BiEncoderFeatures

        codec = _build_codec(self, assets)
        return BiEncoderFeatures(codec, self.training_columns, self._number_of_texts, label=None)

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        from burnish.tasks.embedding.decoder import decode

        return decode(outputs, table, columns=(self.query, self.passage), temperature=self.temperature)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        from burnish.metrics.classification import LogLoss
        from burnish.metrics.language import Mrr, RecallAt

        return (Mrr(), RecallAt(), LogLoss())

    def _number_of_texts(self, table: "pa.Table") -> "tuple[Array, list[RowFault]]":
        """Label each row by how many texts it holds: the right passage is the second, whatever the row."""
        import numpy as np

        return np.full(table.num_rows, len(self.training_columns)), []


def refuse_windows(truncation: Truncation) -> None:
    """Refuse a policy that makes several sequences of one text; an embedding is of one."""
    if hasattr(truncation, "pool"):
        raise ValueError("has `truncation: windows`, and an embedding is of one stretch of text; take head or tail")


class Similarity(Task):
    """Train a bi-encoder for similarity: the cosine of two embeddings says how similar the texts are."""

    extras: ClassVar[tuple[str, ...]] = ("baselines",)
    heads: ClassVar[tuple[str, ...]] = ("embedding",)
    defaults = EMBEDDING
    search_space = TEXT_SPACE
    kind: ClassVar[str] = "regression"

    text: str = "text"
    pair: str = "pair"
    """The column of the second text."""
    label: str = "label"
    """The column that says how alike they are."""
    scale: tuple[float, float] | None = None
    """The labels of a cosine of 0 and of 1; by default the lowest and the highest of the training rows."""
    max_length: PositiveInt = 128
    """The longest text of either side in tokens, special tokens included."""
    truncation: Annotated[SkipValidation[Truncation], Slot("truncations", default="head")]
    pooling: Pooling = "mean"
    """Whether an embedding is the mean of a text's tokens, or its first token."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Similarity":
        refuse_windows(self.truncation)
        if self.scale is not None and self.scale[0] >= self.scale[1]:
            raise ValueError(f"has a `scale` that does not rise: {self.scale[0]:g} to {self.scale[1]:g}")
        return self

    @property
    def training_columns(self) -> tuple[str, ...]:
        return (*self.input_columns, self.label)

    @property
    def input_columns(self) -> tuple[str, ...]:
        return (self.text, self.pair)

    def profile(self, rows: Rows) -> Profile:
        from burnish.tasks.labels import LabelColumns, refuse_other_than_text

        refuse_other_than_text(rows.table, self.input_columns)
        labels = LabelColumns((self.label,))
        labels.refuse_words(rows.table, instead="set task.type: text_classification")
        found = labels.range(rows.table)
        low, high = self.scale or (found["lowest"], found["highest"])
        if not low < high:
            raise DataError(f"all labels in {self.label} are {low:g}; two different ones at least are needed")
        return Profile("regression", facts={**found, "scale": [low, high]})

    def head(self, profile: Profile) -> HeadSpec:
        options = {"pooling": self.pooling, "normalise": False, "output": "cosine", "scale": profile.facts["scale"]}
        own = {"max_length": self.max_length}
        return HeadSpec("embedding", 1, Objective("mean_squared_error"), options={**options, **own})

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.tasks.embedding.bi_encoder import BiEncoderFeatures
        from burnish.tasks.labels import LabelColumns

        read_labels = LabelColumns((self.label,)).numbers
        return BiEncoderFeatures(_build_codec(self, assets), self.input_columns, read_labels, self.label)

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        from burnish.tasks.text_classification.decoder import decode

        return decode(outputs, profile, pool="mean", threshold=0.5)

    def baselines(self, asked: BaselineRequest) -> Mapping[str, Outcome]:
        from burnish.tasks.text_classification.baselines import text_baselines

        return text_baselines(asked, self.input_columns)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        from burnish.tasks.text_classification.task import CORRELATIONS

        return CORRELATIONS


def _build_codec(task: Retrieval | Similarity, assets: Assets) -> "TextCodec":
    from burnish.data.tokens.text import TextCodec
    from burnish.data.tokens.tokens import demand_tokenizer

    return TextCodec(demand_tokenizer(assets), task.input_columns[:1], None, task.max_length, task.truncation)
