"""Writes one text for another: translation, summarisation."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, NonNegativeInt, PositiveInt

from burnish.metrics.language import Bleu, GuessAccuracy, Perplexity, Rouge
from burnish.spec.component import Component
from burnish.spec.protocols import Assets, Encoder, Metric, Task
from burnish.spec.values import Array, BaselineRequest, HeadSpec, Objective, Outcome, Profile, Rows
from burnish.tasks.options import TEXT_SPACE, fine_tuning

if TYPE_CHECKING:
    import pyarrow as pa


class Generation(Component):
    """How an answer is searched; what is left out is as the model's own generation config says."""

    shorthand = "num_beams"

    num_beams: PositiveInt | None = None
    """How many continuations are followed at once; 1 takes the likeliest token each time."""
    max_new_tokens: PositiveInt | None = None
    """The longest answer in tokens; by default `max_target_length`."""
    length_penalty: float | None = None
    """Above 0 beams prefer longer answers, below 0 shorter ones."""
    no_repeat_ngram_size: NonNegativeInt | None = None
    """No run of so many tokens comes twice in an answer; 0 allows all."""


class Seq2Seq(Task):
    """Sequence to sequence: write the target text of a source text, as in translation and summarisation."""

    heads: ClassVar[tuple[str, ...]] = ("seq2seq_lm",)
    defaults = fine_tuning("google-t5/t5-small")
    search_space = TEXT_SPACE

    source: str = "source"
    """The column of the text to read."""
    target: str = "target"
    """The column of the text to write."""
    prefix: str = ""
    """Put before every source text, like `summarize: ` for T5."""
    max_length: PositiveInt = 512
    """The longest source in tokens, special tokens included; the rest is cut."""
    max_target_length: PositiveInt = 128
    """The longest target in tokens, special tokens included; the rest is cut."""
    generation: Generation = Generation()
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    slices: tuple[str, ...] = ()
    """Columns by whose values the report scores the rows apart; they need not be columns that are learned from."""

    @property
    def kind(self) -> str:
        """Say what comes of a row."""
        return "generated"

    @property
    def training_columns(self) -> tuple[str, ...]:
        return (self.source, self.target)

    @property
    def input_columns(self) -> tuple[str, ...]:
        return (self.source,)

    def profile(self, rows: Rows) -> Profile:
        from burnish.tasks.labels import refuse_other_than_text

        refuse_other_than_text(rows.table, self.training_columns)
        return Profile(self.kind)

    def head(self, profile: Profile) -> HeadSpec:
        asked: dict[str, Any] = {"max_new_tokens": self.max_target_length}
        asked |= {name: value for name, value in self.generation.model_dump().items() if value is not None}
        return HeadSpec(
            "seq2seq_lm", 0, Objective("cross_entropy", label_smoothing=self.label_smoothing), options=asked
        )

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.data.tokens.tokens import demand_tokenizer
        from burnish.tasks.seq2seq.encoder import Seq2SeqEncoder

        return Seq2SeqEncoder.build(demand_tokenizer(assets), self)

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        from burnish.tasks.seq2seq.decoder import decode

        return decode(outputs, table, target=self.target)

    def baselines(self, asked: BaselineRequest) -> Mapping[str, Outcome]:
        from burnish.tasks.seq2seq.decoder import copy_source

        return {"copy of the source": copy_source(asked, source=self.source)}

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        return (Bleu(), Rouge(), Perplexity(), GuessAccuracy())
