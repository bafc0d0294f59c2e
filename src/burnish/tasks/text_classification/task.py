"""Sorts texts or pairs of texts into classes, or scores them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt, SkipValidation, field_validator, model_validator

from burnish.errors import ConfigError, Problem
from burnish.metrics.classification import F1, Accuracy, CalibrationError, LogLoss, Matthews, PrAuc, RocAuc
from burnish.metrics.regression import R2, Mae, Mse, Pearson, Rmse, Spearman
from burnish.spec.component import Slot
from burnish.spec.protocols import Assets, Encoder, Metric, Task, Truncation
from burnish.spec.values import Array, BaselineRequest, HeadSpec, Objective, Outcome, Profile, Rows
from burnish.tasks.options import (
    CLASSES,
    TEXT_SPACE,
    Pooling,
    Weights,
    name_facts,
    refuse_odd_classes,
    unknown_classes,
    weights_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.tasks.labels import LabelColumns

Kind = Literal["auto", "binary", "multiclass", "multilabel", "regression"]
_CLASSES: tuple[Metric, ...] = (Accuracy(), F1(), Matthews(), RocAuc(), LogLoss(), CalibrationError())
_SETS: tuple[Metric, ...] = (F1(average="micro"), F1(average="macro"), Accuracy(), RocAuc(), PrAuc(), LogLoss())
# First a score that knows the level of the numbers, which a correlation does not see.
_NUMBERS: tuple[Metric, ...] = (R2(), Rmse(), Mae(), Mse(), Pearson(), Spearman())
CORRELATIONS: tuple[Metric, ...] = (Pearson(), Spearman(), Mse(), Mae(), R2())
"""For numbers whose order matters more than their level, such as how alike two texts are."""


class TextClassification(Task):
    """Classify texts or pairs of texts: one class, several labels, or a number."""

    extras: ClassVar[tuple[str, ...]] = ("baselines",)
    heads: ClassVar[tuple[str, ...]] = ("sequence_classification", "pooled_classification")
    defaults = CLASSES
    search_space = TEXT_SPACE

    text: Annotated[tuple[str, ...], Field(min_length=1)] = ("text",)
    """The column of the text; several are read as one, with the tokenizer's separator between them."""
    pair: str | None = None
    """The column of the second text, for pairs."""
    label: tuple[str, ...] = ("label",)
    """The column of the label; several columns of 0 and 1 make a multi-label task."""
    label_separator: str | None = None
    """What separates the labels of one cell, for multi-label data such as `drama;war`."""
    kind: Kind = "auto"
    labels: tuple[str, ...] | None = None
    """The classes, in order; by default those found in the training rows."""
    label_map: Mapping[str, str] = {}
    """Labels of the data that count as another, like {-1: 0}; applied before `labels`."""
    label_names: Mapping[str, str] = {}
    """How people should read the classes, like {0: negative, 1: positive}; shown next to the labels themselves."""
    max_length: PositiveInt = 128
    """The longest input in tokens, special tokens included."""
    truncation: Annotated[SkipValidation[Truncation], Slot("truncations", default="head")]
    pooling: Pooling | None = None
    """What a new linear layer reads: the mean of a text's tokens, or its first; by default the model's own head."""
    loss: Literal["auto", "cross_entropy", "focal"] = "auto"
    focal_gamma: PositiveFloat = 2.0
    class_weights: Weights = "none"
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Above which probability a class counts as present, in multi-label tasks."""
    num_views: PositiveInt = 1
    """How many random views of a text a prediction averages, with a random truncation."""
    slices: tuple[str, ...] = ()
    """Columns by whose values the report scores the rows apart; they need not be columns that are learned from."""

    @field_validator("label", "text", mode="before")
    @classmethod
    def _one_column(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fits_together(self) -> "TextClassification":
        if self.kind in ("regression", "binary", "multiclass") and len(self.label) > 1:
            raise ValueError(f"has {len(self.label)} label columns, which means multilabel, and `kind` is {self.kind}")
        if self.label_map and len(self.label) > 1:
            raise ValueError(
                f"has {len(self.label)} label columns of 0 and 1, and `label_map` is for a column of labels"
            )
        if twice := sorted({name for name in self.text_columns if self.text_columns.count(name) > 1}):
            raise ValueError(f"names a column twice in `text` and `pair`: {', '.join(twice)}")
        if self.num_views > 1 and not self.truncation.is_random:
            raise ValueError("has `num_views` above 1, which needs a random truncation such as random_spans")
        if self.labels is not None:
            self._fits_labels(self.labels)
        if unused := self._unused(self.kind):
            raise ValueError(unused)
        return self

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if self.loss != "focal":
            yield f"{place}.focal_gamma", f"only `{place}.loss: focal` has a gamma"
        if self.kind not in ("auto", "multilabel"):
            yield (
                f"{place}.threshold",
                f"only with several labels a text, `{place}.kind: multilabel`, is there a threshold",
            )

    @property
    def training_columns(self) -> tuple[str, ...]:
        return (*self.input_columns, *self.label)

    @property
    def input_columns(self) -> tuple[str, ...]:
        return self.text_columns

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Name the columns that are read as text."""
        return self.text if self.pair is None else (*self.text, self.pair)

    @property
    def stratify(self) -> str | None:
        return self.label[0] if len(self.label) == 1 and self.kind not in ("regression", "multilabel") else None

    def profile(self, rows: Rows) -> Profile:
        from burnish.tasks.labels import refuse_other_than_labels, refuse_other_than_text

        refuse_other_than_text(rows.table, self.text_columns)
        refuse_other_than_labels(rows.table, self.label, kind=self.kind)
        columns = self._label_columns()
        kind = self.kind if self.kind != "auto" else columns.guess_kind(rows.table)
        if kind == "regression":
            columns.refuse_words(rows.table)
            return Profile(kind, facts=self._number_facts(rows))
        classes = self.labels or columns.classes(rows.table)
        refuse_odd_classes(kind, classes, column=", ".join(self.label))
        facts = {"label_counts": columns.counts(rows.table, classes), **name_facts(self.label_names, classes)}
        return Profile(kind, tuple(classes), facts)

    def head(self, profile: Profile) -> HeadSpec:
        size = 1 if profile.kind == "regression" else max(2, len(profile.labels))
        size = len(profile.labels) if profile.kind == "multilabel" else size
        objective = self._objective(profile)
        if self.pooling is None:
            return HeadSpec("sequence_classification", size, objective, profile.names or profile.labels)
        return HeadSpec("pooled_classification", size, objective, profile.labels, options={"pooling": self.pooling})

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.data.tokens.text import TextCodec
        from burnish.data.tokens.tokens import demand_tokenizer
        from burnish.tasks.text_classification.encoder import TextEncoder

        codec = TextCodec(demand_tokenizer(assets), self.text, self.pair, self.max_length, self.truncation)
        return TextEncoder(codec, profile, self._label_columns())

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        from burnish.tasks.text_classification.decoder import decode

        return decode(outputs, profile, pool=getattr(self.truncation, "pool", "mean"), threshold=self.threshold)

    def count_mapped(self, table: "pa.Table") -> Mapping[str, int]:
        return self._label_columns().count_mapped(table) if self.label_map else {}

    def baselines(self, asked: BaselineRequest) -> Mapping[str, Outcome]:
        from burnish.tasks.text_classification.baselines import text_baselines

        return text_baselines(asked, self.input_columns)

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        if profile and profile.kind == "regression" and "target" not in profile.facts:
            return CORRELATIONS  # a run from before targets were scaled is judged as it was
        return metrics_for(profile.kind if profile else self.kind)

    def _fits_labels(self, labels: tuple[str, ...]) -> None:
        twice = sorted({name for name in labels if labels.count(name) > 1})
        if twice:
            raise ValueError(f"names a label twice in `labels`: {', '.join(twice)}")
        if self.kind == "binary" and len(labels) != 2:
            raise ValueError(f"has `kind: binary`, which needs two labels, and `labels` names {len(labels)}")
        unknown = unknown_classes(self.class_weights, labels)
        if unknown:
            raise ValueError(f"has `class_weights` for {', '.join(unknown)}, and `labels` are {', '.join(labels[:20])}")

    def _unused(self, kind: str) -> str:
        """Say which options a kind of labels would leave without effect, if any."""
        set_options = {
            "loss": self.loss != "auto",
            "class_weights": self.class_weights != "none",
            "label_smoothing": self.label_smoothing > 0,
            "labels": self.labels is not None,
            "label_map": bool(self.label_map),
            "label_names": bool(self.label_names),
        }
        idle = [f"`{name}`" for name, is_set in set_options.items() if is_set] if kind == "regression" else []
        if idle:
            return f"has {' and '.join(idle)}, without effect on regression; leave out what is for classes"
        if kind == "multilabel" and self.loss != "auto":
            return f"has `loss: {self.loss}`, without effect on multilabel, whose loss is binary cross-entropy"
        if self.loss == "focal" and self.label_smoothing > 0:
            return "has `label_smoothing`, without effect on `loss: focal`; leave one of them out"
        return ""

    def _number_facts(self, rows: Rows) -> dict[str, Any]:
        """Find the range of the numbers, and their scale by which they are standardised."""
        from burnish.tasks.labels import TARGET, Measure

        columns = self._label_columns()
        known = columns.known_numbers(rows.table)
        measure = Measure.of(known, transform="none", link="identity") if len(known) else Measure()
        return {**columns.range(rows.table), TARGET: measure.to_json()}

    def _label_columns(self) -> "LabelColumns":
        from burnish.tasks.labels import LabelColumns

        return LabelColumns(self.label, self.label_separator, self.label_map)

    def _objective(self, profile: Profile) -> Objective:
        if unused := self._unused(profile.kind):
            raise ConfigError([Problem(f"task {unused}")])
        if profile.kind == "regression":
            return Objective("mean_squared_error")
        options: dict[str, Any] = {
            "class_weights": weights_of(self.class_weights, profile),
            "label_smoothing": self.label_smoothing,
            "gamma": self.focal_gamma,
        }
        if profile.kind == "multilabel":
            return Objective("binary_cross_entropy", **options)
        return Objective("focal" if self.loss == "focal" else "cross_entropy", **options)


def metrics_for(kind: str) -> tuple[Metric, ...]:
    """Return the metrics of one kind; for `auto`, those of every kind that may turn out."""
    if kind == "multilabel":
        return _SETS
    if kind == "regression":
        return _NUMBERS
    return _CLASSES if kind != "auto" else (*_CLASSES, *_SETS, *_NUMBERS)
