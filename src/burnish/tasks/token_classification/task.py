"""Tags the words of a text: names of people and places, parts of speech, any label a word."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from burnish.spec.protocols import Assets, Encoder, Metric, Task
from burnish.spec.values import Array, BaselineRequest, HeadSpec, Objective, Outcome, Profile, Rows
from burnish.tasks.options import TEXT, TEXT_SPACE, Weights, weights_of

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.data.codecs.columns import ColumnSpec

_TEXT = "text"


class TokenClassification(Task):
    """Tag every word: entities (BIO, IOB1, IOBES, BILOU), parts of speech, or any other label."""

    heads: ClassVar[tuple[str, ...]] = ("token_classification",)
    defaults = TEXT
    search_space = TEXT_SPACE

    words: str = "words"
    """The column that holds a list of words in each row."""
    tags: str = "tags"
    """The column that holds as many tags."""
    scheme: Literal["auto", "bio", "iob1", "iobes", "bilou", "none"] = "auto"
    """How entities are written as tags; `none` if tags mark none, as parts of speech do."""
    learn_as: Literal["as_written", "bio", "iob1", "iobes", "bilou"] = "as_written"
    """The scheme that tags are rewritten in before the network learns them."""
    impossible: Literal["error", "count"] = "error"
    """What to do about tags that are not allowed where they are, such as I-PER after O in BIO: refuse or count them."""
    labels: tuple[str, ...] | None = None
    """The types of entities, or the tags if they mark none; by default those found in the training rows."""
    max_length: PositiveInt = 128
    """The longest input in tokens, special tokens included; a longer sentence is read in windows."""
    stride: NonNegativeInt = 32
    """How many tokens two neighbouring windows share; each word is answered where it has most context."""
    label_on: Literal["first", "all"] = "first"
    """Which tokens of a word learn its tag; the first one gives the answer."""
    class_weights: Weights = "none"
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    slices: tuple[str, ...] = ()
    """Columns by whose values the report scores the rows apart; they need not be columns that are learned from."""

    @model_validator(mode="after")
    def _fits_together(self) -> "TokenClassification":
        if self.words == self.tags:
            raise ValueError(f"has `words` and `tags` in the same column, {self.words}")
        if self.scheme == "none" and self.learn_as != "as_written":
            raise ValueError(f"has `learn_as: {self.learn_as}`, without effect on `scheme: none`")
        return self

    @property
    def training_columns(self) -> tuple[str, ...]:
        return (self.words, self.tags)

    @property
    def input_columns(self) -> tuple[str, ...]:
        return (self.words,)

    def profile(self, rows: Rows) -> Profile:
        from burnish.tasks.token_classification.schemes import profile_of

        return profile_of(self, rows)

    def head(self, profile: Profile) -> HeadSpec:
        objective = Objective(
            "cross_entropy",
            class_weights=weights_of(self.class_weights, profile),
            label_smoothing=self.label_smoothing,
        )
        return HeadSpec("token_classification", len(profile.labels), objective, profile.labels)

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.data.tokens.text import TextCodec
        from burnish.data.tokens.tokens import demand_tokenizer
        from burnish.data.truncation import Head
        from burnish.tasks.token_classification.encoder import TagEncoder

        codec = TextCodec(demand_tokenizer(assets), (self.words,), None, self.max_length, Head())
        return TagEncoder(codec, profile, self.words, self.tags, self.stride, self.label_on, self.impossible)

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        from burnish.tasks.token_classification.decoder import decode

        return decode(outputs, profile, table, words=self.words)

    def baselines(self, asked: BaselineRequest) -> Mapping[str, Outcome]:
        from burnish.tasks.token_classification.decoder import tag_baselines

        return tag_baselines(asked, words=self.words, tags=self.tags)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        from burnish.metrics.classification import LogLoss
        from burnish.metrics.language import Entities, TokenAccuracy

        marks_none = self.scheme == "none" or (profile is not None and profile.facts.get("written") == "none")
        return (TokenAccuracy(), LogLoss()) if marks_none else (Entities(), TokenAccuracy(), LogLoss())

    def table(self, rows: Sequence[Mapping[str, Any]], profile: Profile) -> "pa.Table":
        import pyarrow as pa

        from burnish.tasks.token_classification.rows import rows_as_column

        values = [row.get(self.words, row.get(_TEXT)) for row in rows]
        return pa.table({self.words: rows_as_column(values, names=f"{self.words} or {_TEXT}")})

    def input_specs(self, profile: Profile) -> "tuple[ColumnSpec, ...]":
        from burnish.data.codecs.columns import ColumnSpec

        return (ColumnSpec(self.words, kind="words"),)
