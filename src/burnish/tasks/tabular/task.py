"""Learns a column of a table from the others: two classes, several, or a number."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, field_validator, model_validator

from burnish.metrics.classification import F1, Accuracy, CalibrationError, LogLoss, PrAuc, RocAuc
from burnish.metrics.regression import R2, GammaDeviance, Mae, Pinball, PoissonDeviance, Rmse
from burnish.spec.protocols import Assets, Encoder, Metric, Task
from burnish.spec.values import Array, BaselineRequest, ColumnDoubt, HeadSpec, Objective, Outcome, Profile, Rows
from burnish.tasks.options import TABLE, Weights, weights_of
from burnish.tasks.tabular.options import ColumnOptions, Cross, Derived, Scale

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.data.codecs.columns import ColumnSpec

Loss = Literal["auto", "cross_entropy", "focal", "squared_error", "poisson", "gamma", "quantile"]
_OF_CLASSES = ("cross_entropy", "focal")
_WITH_LOG = ("poisson", "gamma")
_OF_NUMBERS: Mapping[str, Literal["mean_squared_error", "poisson", "gamma", "quantile"]] = {
    "auto": "mean_squared_error",
    "squared_error": "mean_squared_error",
    "poisson": "poisson",
    "gamma": "gamma",
    "quantile": "quantile",
}
_TWO: tuple[Metric, ...] = (RocAuc(), Accuracy(), F1(), PrAuc(), LogLoss(), CalibrationError())
_SEVERAL: tuple[Metric, ...] = (Accuracy(), F1(), RocAuc(), LogLoss(), CalibrationError())
_NUMBERS: tuple[Metric, ...] = (Rmse(), Mae(), R2())
"""Of each kind of target, the first metric is the one that a run is judged by."""


class Tabular(Task):
    """Predict one column of a table from the others; column types are detected unless stated."""

    extras: ClassVar[tuple[str, ...]] = ("baselines",)
    heads: ClassVar[tuple[str, ...]] = ("tabular",)
    defaults = TABLE
    auto_precision: ClassVar[Literal["fp32"]] = "fp32"
    """With 8 bits of precision, rows that differ would get the same answer, and the networks are small anyway."""

    target: str
    """The column to learn; it may be a derived one."""
    kind: Literal["auto", "binary", "multiclass", "regression"] = "auto"
    labels: tuple[str, ...] | None = None
    """The classes, in order; by default those found in the training rows."""
    label_map: Mapping[str, str] = {}
    """Labels of the data that count as another, like {-1: 0}; applied before `labels`."""
    label_names: Mapping[str, str] = {}
    """How people should read the classes, like {0: no tip, 1: tip}; shown next to the labels themselves."""
    columns: Mapping[str, ColumnOptions] = {}
    """Column to its kind and options; a column that is not named is looked at."""
    others: Literal["infer", "drop"] = "infer"
    """What happens to columns that are not named in `columns`."""
    derived: Mapping[str, Derived] = {}
    """New columns, by an expression over others or by a function of yours."""
    crosses: Sequence[Cross] = ()
    """Columns whose combinations are features of the wide part, like `[[pickup, dropoff]]`."""
    normalise: Scale = "quantile"
    """How numbers are scaled, unless their column says so."""
    bins: Annotated[int, Field(ge=1, le=512)] = 128
    """Bins of each number by rows, and as many by distinct values, for piecewise-linear embeddings."""
    min_count: PositiveInt = 2
    """A category seen less often in training counts as one that was never seen."""
    weight: str | None = None
    """A column of row weights for the loss, 0 or more."""
    loss: Loss = "auto"
    quantile: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Which quantile `loss: quantile` learns."""
    transform: Literal["none", "log", "log1p"] = "none"
    """A numeric target is learned on this scale, and given back in its own."""
    focal_gamma: PositiveFloat = 2.0
    class_weights: Weights = "none"
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    calibration: Literal["none", "temperature", "platt"] = "none"
    """Calibrate the probabilities on the validation rows once training is over."""
    threshold: Annotated[float, Field(gt=0, lt=1)] | Literal["f1", "accuracy", "matthews"] = 0.5
    """From which probability the second of two classes is chosen, or the score that finds it on the validation rows."""
    slices: tuple[str, ...] = ()
    """Columns by whose values the report scores the rows apart; they need not be columns that are learned from."""
    importance: NonNegativeInt = 2000
    """Rows on which the report measures column importance; 0 leaves it out."""

    @field_validator("crosses")
    @classmethod
    def _fixed(cls, crosses: Sequence[Cross]) -> tuple[Cross, ...]:
        return tuple(crosses)  # a plan that was written and read again is equal to what was written

    @model_validator(mode="after")
    def _fits_together(self) -> "Tabular":
        is_of_numbers = self.loss in _OF_NUMBERS and self.loss != "auto"
        problems = {
            f"names the target `{self.target}` among `columns`; leave it out there": self.target in self.columns,
            "names `weight` among `columns` too": self.weight in self.columns,
            f"has `loss: {self.loss}`, which is for classes": self.kind == "regression" and self.loss in _OF_CLASSES,
            f"has `loss: {self.loss}`, which is for numbers": self._is_of_classes and is_of_numbers,
            "has `transform`, which is for numbers": self._is_of_classes and self.transform != "none",
            "takes `transform` or a loss that has a log already, not both": self.transform != "none"
            and self.loss in _WITH_LOG,
        }
        wrong = [sentence for sentence, is_wrong in problems.items() if is_wrong]
        if wrong:
            raise ValueError("; ".join(wrong))
        for name in self.derived:
            self.bases(name)
        return self

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if self.loss != "focal":
            yield f"{place}.focal_gamma", f"only `{place}.loss: focal` has a gamma"
        if self.loss != "quantile":
            yield f"{place}.quantile", f"only `{place}.loss: quantile` learns one"
        if self.kind in ("multiclass", "regression"):
            yield f"{place}.threshold", "only between two classes is there a threshold"

    @property
    def _is_of_classes(self) -> bool:
        return self.kind in ("binary", "multiclass") or self.labels is not None

    @property
    def training_columns(self) -> tuple[str, ...]:
        weight = (self.weight,) if self.weight is not None else ()
        return tuple(dict.fromkeys((*self.input_columns, *self.bases(self.target), *weight)))

    @property
    def input_columns(self) -> tuple[str, ...]:
        stated = [name for name, how in self.columns.items() if how.kind != "drop"]
        crossed = [name for cross in self.crosses for name in cross.columns]
        names = (*stated, *crossed, *(name for name in self.derived if name != self.target))
        return tuple(dict.fromkeys(base for name in names for base in self.bases(name)))

    @property
    def stratify(self) -> str | None:
        return self.target if self.kind != "regression" and self.target not in self.derived else None

    def profile(self, rows: Rows) -> Profile:
        from burnish.tasks.tabular.profile import profile

        return profile(self, rows)

    def doubts(self, rows: Rows, profile: Profile) -> Iterator[ColumnDoubt]:
        from burnish.tasks.labels import LabelColumns
        from burnish.tasks.tabular.frame import frame_of
        from burnish.tasks.tabular.leakage import find_doubts
        from burnish.tasks.tabular.plan import TablePlan

        target, plan = (
            LabelColumns((self.target,), label_map=self.label_map),
            TablePlan.from_json(profile.facts["table"]),
        )
        return find_doubts(frame_of(rows, self.derived), plan, target=target, profile=profile)

    def head(self, profile: Profile) -> HeadSpec:
        from burnish.tasks.tabular.plan import TablePlan

        size = 1 if profile.kind == "regression" else max(2, len(profile.labels))
        inputs = TablePlan.from_json(profile.facts["table"]).inputs
        return HeadSpec("tabular", size, self._objective(profile), profile.labels, inputs)

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.tasks.tabular.encoder import TableEncoder
        from burnish.tasks.tabular.plan import TablePlan

        plan = TablePlan.from_json(profile.facts["table"])
        return TableEncoder(plan, profile, self.derived, self.target, self.weight, self.loss, self.label_map)

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        from burnish.tasks.tabular.decoder import decode

        return decode(outputs, profile, threshold=self.threshold if isinstance(self.threshold, float) else 0.5)

    def count_mapped(self, table: "pa.Table") -> Mapping[str, int]:
        import pyarrow as pa

        from burnish.tasks.labels import LabelColumns
        from burnish.tasks.tabular.frame import ColumnFrame

        if not self.label_map:
            return {}
        target = pa.table({self.target: ColumnFrame(table, self.derived).column(self.target)})
        return LabelColumns((self.target,), label_map=self.label_map).count_mapped(target)

    def baselines(self, asked: BaselineRequest) -> Mapping[str, Outcome]:
        from burnish.tasks.tabular.baselines import boosted_trees, linear_baselines

        found = linear_baselines(asked)
        trees = None if asked.is_grown else boosted_trees(asked, self)
        return found if trees is None else {**found, "boosted_trees": trees}

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        return metrics_for(profile.kind if profile else self.kind, loss=self.loss, quantile=self.quantile)

    def refine(self, outcome: Outcome, profile: Profile) -> Profile:
        from burnish.tasks.probabilities import refined

        return refined(outcome, profile, calibration=self.calibration, threshold=self.threshold)

    def table(self, rows: Sequence[Mapping[str, Any]], profile: Profile) -> "pa.Table":
        from burnish.tasks.tabular.rows import table_of_rows

        return table_of_rows(rows, self.encoder(profile, None), columns=profile.inputs)  # type: ignore[arg-type]  # no assets needed

    def input_specs(self, profile: Profile) -> "tuple[ColumnSpec, ...]":
        from burnish.tasks.tabular.plan import TablePlan
        from burnish.tasks.tabular.rows import column_specs

        return column_specs(TablePlan.from_json(profile.facts["table"]), profile, inputs=profile.inputs)

    def bases(self, name: str, seen: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the columns of the file that a column stands on: itself, or what it is derived from."""
        if name not in self.derived:
            return (name,)
        if name in seen:
            raise ValueError(f"`derived` goes in a circle: {' → '.join((*seen, name))}")
        below = self.derived[name].columns
        return tuple(base for each in below for base in self.bases(each, (*seen, name)))

    def _objective(self, profile: Profile) -> Objective:
        if profile.kind == "regression":
            return Objective(_OF_NUMBERS[self.loss], quantile=self.quantile)
        return Objective(
            "focal" if self.loss == "focal" else "cross_entropy",
            class_weights=weights_of(self.class_weights, profile),
            label_smoothing=self.label_smoothing,
            gamma=self.focal_gamma,
        )


def metrics_for(kind: str, *, loss: str, quantile: float) -> tuple[Metric, ...]:
    """Return the metrics of one kind, the loss's own among them; for `auto`, those of every kind that may turn out."""
    if kind == "regression":
        return _of_numbers(loss, quantile)
    if kind == "auto":
        return (*_TWO, *_of_numbers(loss, quantile))
    return _TWO if kind == "binary" else _SEVERAL


def _of_numbers(loss: str, quantile: float) -> tuple[Metric, ...]:
    own: dict[str, Metric] = {
        "poisson": PoissonDeviance(),
        "gamma": GammaDeviance(),
        "quantile": Pinball(quantile=quantile),
    }
    return (own[loss], *_NUMBERS) if loss in own else _NUMBERS
