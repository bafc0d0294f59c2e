"""Sorts or scores rows by a text and the columns beside it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, field_validator, model_validator

from burnish.errors import DataError
from burnish.spec.protocols import Assets, Encoder
from burnish.spec.values import ColumnDoubt, HeadSpec, Profile, Rows
from burnish.tasks.options import Pooling
from burnish.tasks.tabular.options import ColumnOptions, Scale
from burnish.tasks.text_classification import TextClassification

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.data.codecs.columns import ColumnSpec
    from burnish.tasks.tabular.frame import ColumnFrame
    from burnish.tasks.tabular.plan import TablePlan

_PLAN = "columns"
"""Where the profile keeps what was learned of the columns."""


class TextAndColumns(TextClassification):
    """Classification or regression from a text combined with numbers, categories and dates."""

    heads: ClassVar[tuple[str, ...]] = ("text_and_columns",)

    columns: Annotated[Mapping[str, ColumnOptions], Field(min_length=1)]
    """The columns in addition to the text, each with its kind and options, or as a list of names to look at."""
    normalise: Scale = "quantile"
    """How numbers are scaled, unless their column says so."""
    bins: Annotated[int, Field(ge=1, le=512)] = 48
    """Bins of each number by rows, and as many by distinct values, for piecewise-linear embeddings."""
    min_count: PositiveInt = 2
    """A category seen less often in training counts as one that was never seen."""
    pooling: Pooling = "mean"
    """Whether the text's vector is the mean of its tokens, or its first token."""
    numbers: Literal["none", "piecewise_linear", "periodic"] = "piecewise_linear"
    """How each number becomes several."""
    hidden: tuple[PositiveInt, ...] = (128,)
    """Widths of the layers that read text and columns together."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """That of these layers; the encoder has its own."""
    importance: NonNegativeInt = 200
    """Rows on which the report measures the importance of the text and each column; 0 leaves it out."""

    @field_validator("columns", mode="before")
    @classmethod
    def _from_names(cls, value: object) -> object:
        return dict.fromkeys(value, ColumnOptions()) if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _columns_are_others(self) -> "TextAndColumns":
        own = [name for name in (*self.text_columns, *self.label) if name in self.columns]
        if own:
            raise ValueError(f"names {', '.join(own)} among `columns`, and reads it as a text or a label already")
        return self

    @property
    def input_columns(self) -> tuple[str, ...]:
        used = (name for name, options in self.columns.items() if options.kind != "drop")
        return (*self.text_columns, *used)

    def profile(self, rows: Rows) -> Profile:
        from burnish.tasks.tabular.fit import Fitter
        from burnish.tasks.tabular.frame import frame_of
        from burnish.tasks.tabular.profile import notes_of

        found = super().profile(rows)
        fitter = Fitter(frame_of(rows), self.columns, self.normalise, self.bins, self.min_count)
        plan = fitter.fit(self._beside, ())
        on_prose = [*self._notes_on_prose(fitter.frame, plan)]
        if not plan.columns:
            reasons = [f"`{name}`: {why}" for name, why in plan.dropped.items()]
            raise DataError(f"no column is left in addition to the text: {'; '.join([*reasons, *on_prose])}")
        notes = [*notes_of(plan), *on_prose]
        # Ids for a linear part, which this network does not have, would only be carried along.
        order = [name for name in rows.table.column_names if name not in self.label]
        learned = {_PLAN: replace(plan, wide=()).to_json(), "notes": notes, "order": order}
        return replace(found, facts={**found.facts, **learned})

    def doubts(self, rows: Rows, profile: Profile) -> Iterator[ColumnDoubt]:
        from burnish.tasks.labels import LabelColumns
        from burnish.tasks.tabular.frame import frame_of
        from burnish.tasks.tabular.leakage import find_doubts

        target = LabelColumns(self.label, label_map=self.label_map)
        return find_doubts(frame_of(rows), _plan_of(profile), target=target, profile=profile)

    def head(self, profile: Profile) -> HeadSpec:
        options = {name: getattr(self, name) for name in ("pooling", "numbers", "dropout")}
        inputs, head = _plan_of(profile).inputs, super().head(profile)
        return replace(head, kind="text_and_columns", inputs=inputs, options={**options, "hidden": list(self.hidden)})

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.tasks.text_and_columns.encoder import BesideEncoder

        return BesideEncoder(super().encoder(profile, assets), _plan_of(profile))

    def table(self, rows: Sequence[Mapping[str, Any]], profile: Profile) -> "pa.Table":
        from burnish.tasks.sequences import find_empty_texts
        from burnish.tasks.tabular.encoder import TableEncoder, refuse_faults
        from burnish.tasks.tabular.rows import table_of_rows

        columns = TableEncoder(_plan_of(profile), profile, {}, self.label[0])
        table = table_of_rows(rows, columns, columns=self.input_columns)
        refuse_faults(find_empty_texts(table, *self.text))
        return table

    def input_specs(self, profile: Profile) -> "tuple[ColumnSpec, ...]":
        from burnish.tasks.tabular.rows import column_specs

        return column_specs(_plan_of(profile), profile, inputs=self.input_columns, texts=self.text_columns)

    @property
    def _beside(self) -> tuple[str, ...]:
        return self.input_columns[len(self.text_columns) :]

    def _notes_on_prose(self, frame: "ColumnFrame", plan: "TablePlan") -> Iterator[str]:
        """Say which columns, listed without a kind, hold text: as a category, a new sentence says nothing."""
        from burnish.tasks.tabular.guess import words_of_prose

        for name in (each for each in self._beside if self.columns[each].stated_kind == "auto"):
            num_words = words_of_prose(frame, name)
            if num_words is not None:
                use = "not used" if name in plan.dropped else "taken as a category"
                texts = ", ".join((*self.text, name))
                yield (
                    f"{name} holds text of about {num_words:.0f} words and is {use}; to read it as text, take it out "
                    f"of task.columns and set task.text: [{texts}]"
                )


def _plan_of(profile: Profile) -> "TablePlan":
    from burnish.tasks.tabular.plan import TablePlan

    return TablePlan.from_json(profile.facts[_PLAN])
