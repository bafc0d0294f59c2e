"""Language modelling tasks: masked, causal, permutation, replaced tokens, and pre-training with sentence pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, PositiveInt, model_validator

from burnish.errors import DataError
from burnish.metrics.language import GuessAccuracy, PairAccuracy, Perplexity
from burnish.spec.component import Component
from burnish.spec.protocols import Assets, Encoder, Metric, Task
from burnish.spec.values import Array, HeadSpec, Objective, Outcome, Profile, Rows, Term
from burnish.tasks.options import TEXT, fine_tuning

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.data.tokens.masks import MaskSelection, Replacement
    from burnish.data.tokens.tokens import Vocabulary
    from burnish.tasks.language_modeling.block_codec import BlockCodec


Share = Annotated[float, Field(ge=0, le=1)]
_USUAL_SPANS = {"single": 1, "ngram": 3, "geometric": 10}


class Masking(Component):
    """Hide some tokens: how many, in what pieces, and behind what."""

    shorthand = "probability"

    probability: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """The share of tokens to guess; special tokens are never among them."""
    scored: Annotated[float, Field(gt=0, lt=1)] | None = None
    """The share in validation and test; by default the same. The more is hidden, the harder each guess."""
    whole_words: bool = False
    """Hide a word with all its tokens or not at all."""
    spans: Literal["single", "ngram", "geometric"] = "single"
    """Hide single tokens (or words), or runs of them: `ngram` with lengths by 1/n, `geometric` as SpanBERT does."""
    max_span: PositiveInt | None = None
    """The longest run; by default 3 with `ngram` and 10 with `geometric`."""
    geometric: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """How likely a geometric run ends after each token."""
    dynamic: bool = True
    """Draw again each epoch; false hides the same tokens every time."""
    masked: Share = 0.8
    """The share of hidden tokens that become the mask token."""
    random: Share = 0.1
    """The share that become a random token; the rest stays as it is."""

    @model_validator(mode="after")
    def _shares_fit(self) -> Masking:
        if self.masked + self.random > 1 + 1e-9:
            raise ValueError(
                f"needs `masked` and `random` to be at most 1 together, got {self.masked} and {self.random}"
            )
        return self

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if self.spans == "single":
            yield f"{place}.max_span", f"with `{place}.spans: single`, tokens or words are hidden one by one"
        if self.spans != "geometric":
            yield f"{place}.geometric", f"only `{place}.spans: geometric` draws lengths by it"

    def choice(self, *, is_training: bool) -> MaskSelection:
        """Return the way to choose tokens."""
        from burnish.data.tokens.masks import MaskSelection  # numpy, which checking a config must not load

        share = self.probability if is_training else self.scored or self.probability
        return MaskSelection(share, self.spans, self.max_span or _USUAL_SPANS[self.spans], self.geometric)

    def fates(self, vocabulary: Vocabulary, *, mask_id: int) -> Replacement:
        """Return what becomes of the chosen tokens."""
        from burnish.data.tokens.masks import Replacement  # numpy, which checking a config must not load

        return Replacement(mask_id, vocabulary.plain_ids, self.masked, self.random)


class LanguageTask(Task):
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
        return (self.text,)

    @property
    def input_columns(self) -> tuple[str, ...]:
        return (self.text,)

    def codec(self, assets: Assets, *, is_packed: bool, join: str = "") -> "BlockCodec":
        """Put the tokenizer and these options together."""
        from burnish.data.tokens.tokens import Vocabulary, demand_tokenizer
        from burnish.tasks.language_modeling.block_codec import BlockCodec

        vocabulary = Vocabulary(demand_tokenizer(assets))
        return BlockCodec(vocabulary, self.text, self.max_length, is_packed=is_packed, join=join)

    def profile(self, rows: Rows) -> Profile:
        import pyarrow.compute as pc

        from burnish.tasks.labels import refuse_other_than_text

        refuse_other_than_text(rows.table, [self.text])
        characters = pc.sum(pc.utf8_length(rows.table[self.text])).as_py() or 0
        if not characters:
            raise DataError(f"task.text: the column `{self.text}` of train is empty in every row")
        return Profile(self.kind, facts={"characters": characters})

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        from burnish.tasks.language_modeling.decoder import decode

        return decode(outputs, num_rows=None if table is None else table.num_rows)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        return (Perplexity(), GuessAccuracy())


class BlockTask(LanguageTask):
    """Learn from blocks of text."""

    pack: bool = True
    """Fill blocks with text after text; false takes each text by itself, cut where it is too long."""
    join: str = "\n"
    """What follows each text that is packed, if the tokenizer knows it."""
    best: PositiveInt = 5
    """How many guesses a prediction gives for each place."""

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if not self.pack:
            yield f"{place}.join", f"with `{place}.pack: false`, no text follows another"

    def head(self, profile: Profile) -> HeadSpec:
        options = {"best": self.best}
        return HeadSpec(self.heads[0], 0, Objective("cross_entropy"), answer="likelihood", options=options)


class MaskedLm(BlockTask):
    """Masked language modeling, as in BERT; predicting a text with mask tokens fills them in."""

    heads: ClassVar[tuple[str, ...]] = ("masked_lm",)
    defaults = TEXT

    masking: Masking = Masking()

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.tasks.language_modeling.encoder import MaskedEncoder

        return MaskedEncoder(self.codec(assets, is_packed=self.pack, join=self.join), self.masking)


class PermutationLm(BlockTask):
    """Permutation language modeling, as in XLNet: predict some tokens of a text in random order."""

    heads: ClassVar[tuple[str, ...]] = ("permutation_lm",)
    defaults = fine_tuning("xlnet/xlnet-base-cased")

    masking: Masking = Masking(probability=1 / 6, spans="ngram", max_span=5)
    """Which tokens are predicted; nothing replaces them."""

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.tasks.language_modeling.encoder import PermutationEncoder

        return PermutationEncoder(self.codec(assets, is_packed=self.pack, join=self.join), self.masking)


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

    def head(self, profile: Profile) -> HeadSpec:
        return HeadSpec(
            "replaced_tokens",
            0,
            Objective("cross_entropy"),
            terms=(Term("replaced", "attended", Objective("mean"), weight=self.replaced_weight),),
            answer="likelihood",
            options={"best": self.best, "generator_size": self.generator_size},
        )

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.tasks.language_modeling.encoder import ReplacedEncoder

        return ReplacedEncoder(self.codec(assets, is_packed=self.pack, join=self.join), self.masking)


class Pretraining(LanguageTask):
    """BERT's pre-training: masked tokens, plus sentence order or next-sentence prediction.

    A row is a document: one sentence a line, or running text.
    """

    heads: ClassVar[tuple[str, ...]] = ("pretraining",)
    defaults = TEXT

    pairing: Literal["sentence_order", "next_sentence"] = "sentence_order"
    """A wrong pair is a right one turned round, or one whose second text is of another document."""
    pair_weight: Annotated[float, Field(ge=0)] = 1.0
    """The weight of the pairs' loss relative to that of the tokens."""
    masking: Masking = Masking()

    @property
    def kind(self) -> str:
        return "likelihood_of_pairs" if self.pair_weight else "likelihood"

    def head(self, profile: Profile) -> HeadSpec:
        pair = Term("pair", "pair_label", Objective("cross_entropy"), weight=self.pair_weight)
        terms = (pair,) if self.pair_weight else ()
        return HeadSpec("pretraining", 0, Objective("cross_entropy"), terms=terms, answer="likelihood")

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.tasks.language_modeling.encoder import MaskedEncoder
        from burnish.tasks.language_modeling.pair_encoder import PairEncoder

        return PairEncoder(MaskedEncoder(self.codec(assets, is_packed=False), self.masking), self.pairing)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        return (*super().metrics(profile), *([PairAccuracy()] if self.pair_weight else []))


class CausalLm(BlockTask):
    """Causal language modeling, as in GPT: predict each token from those before it; continues a `prompt`."""

    heads: ClassVar[tuple[str, ...]] = ("causal_lm",)
    defaults = fine_tuning("openai-community/gpt2")

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.tasks.language_modeling.encoder import CausalEncoder

        return CausalEncoder(self.codec(assets, is_packed=self.pack, join=self.join))

    def table(self, rows: Sequence[Mapping[str, Any]], profile: Profile) -> "pa.Table":
        import pyarrow as pa

        from burnish.tasks.language_modeling.encoder import PROMPT

        prompts = [row for row in rows if "prompt" in row] if self.text != "prompt" else []
        if prompts and len(prompts) < len(rows):
            raise DataError("some rows have a prompt to continue and others a text to score; give them separately")
        texts = [row.get("prompt", row.get(self.text, row.get("text"))) for row in rows]
        wrong = [number for number, text in enumerate(texts, start=1) if not isinstance(text, str)]
        if wrong:
            raise DataError(f"row {', '.join(map(str, wrong[:5]))}: give `{self.text}` or `prompt`, as text")
        marked = {PROMPT: pa.array([True] * len(rows))} if prompts else {}
        return pa.table({self.text: pa.array(texts, pa.string()), **marked})
