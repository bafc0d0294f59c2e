"""Chooses one of several texts that go with a context."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, PositiveInt, SkipValidation, field_validator, model_validator

from burnish.errors import DataError
from burnish.spec.component import Slot
from burnish.spec.protocols import Assets, Encoder, Metric, Task, Truncation
from burnish.spec.values import Array, BaselineRequest, HeadSpec, Objective, Outcome, Profile, Rows
from burnish.tasks.options import TEXT, TEXT_SPACE

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.data.codecs.columns import ColumnSpec
    from burnish.tasks.multiple_choice.rows import ChoiceColumns


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Columns = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""One column or several."""


class MultipleChoice(Task):
    """Multiple choice: pick the option that fits a context; rows may differ in how many they have."""

    heads: ClassVar[tuple[str, ...]] = ("multiple_choice",)
    defaults = TEXT
    search_space = TEXT_SPACE

    context: Columns = ("context",)
    """The column that choices go with: a text, or a list of texts such as the turns of a talk; several are joined."""
    question: str | None = None
    """A column that comes directly before each choice, such as a question or the beginning of its sentence."""
    choices: Columns = ("choices",)
    """A column of lists, or a column for each choice; blank ones at the end are no choices."""
    label: str = "label"
    """The column of the right choice: its number, its letter, or the choice itself."""
    label_form: Literal["auto", "number", "letter", "text"] = "auto"
    """How labels name the right choice; by default detected from the training rows."""
    first: Literal[0, 1] = 0
    """The number of the first choice, where choices are numbered."""
    max_length: PositiveInt = 128
    """The longest context with a choice in tokens, special tokens included."""
    truncation: Annotated[SkipValidation[Truncation], Slot("truncations", default="head")]
    slices: tuple[str, ...] = ()
    """Columns by whose values the report scores the rows apart; they need not be columns that are learned from."""

    @field_validator("context", "choices")
    @classmethod
    def _some(cls, columns: tuple[str, ...]) -> tuple[str, ...]:
        if not columns:
            raise ValueError("must name at least one column")
        return columns

    @model_validator(mode="after")
    def _one_sequence_a_choice(self) -> "MultipleChoice":
        if self.truncation.is_random or hasattr(self.truncation, "pool"):
            raise ValueError("takes a `truncation` that keeps one and the same part of a text: head, tail or head_tail")
        return self

    @property
    def training_columns(self) -> tuple[str, ...]:
        return (*self.input_columns, self.label)

    @property
    def input_columns(self) -> tuple[str, ...]:
        return self._columns().inputs

    def profile(self, rows: Rows) -> Profile:
        from burnish.tasks.multiple_choice.rows import label_form

        num_choices = int(self._columns().options(rows.table).lengths.max(initial=0))
        if num_choices < 2:
            raise DataError(f"the training rows hold no 2 choices in {', '.join(self.choices)}")
        form = label_form(rows, self._columns(), first=self.first) if self.label_form == "auto" else self.label_form
        facts = {"label_form": form, "first": self.first, "num_choices": num_choices}
        return Profile("choice", tuple(str(self.first + number) for number in range(num_choices)), facts)

    def head(self, profile: Profile) -> HeadSpec:
        return HeadSpec("multiple_choice", 1, Objective("cross_entropy"))

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.data.tokens.text import TextCodec
        from burnish.data.tokens.tokens import demand_tokenizer
        from burnish.tasks.multiple_choice.encoder import CHOICE, CONTEXT, ChoiceEncoder

        codec = TextCodec(demand_tokenizer(assets), (CONTEXT,), CHOICE, self.max_length, self.truncation)
        return ChoiceEncoder(codec, profile, self._columns())

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        from burnish.tasks.multiple_choice.decoder import decode

        return decode(outputs, profile, table, columns=self._columns())

    def baselines(self, asked: BaselineRequest) -> Mapping[str, Outcome]:
        from burnish.tasks.multiple_choice.decoder import majority

        return {"majority": majority(asked)}

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        from burnish.metrics.classification import Accuracy, LogLoss

        return (Accuracy(), LogLoss())

    def table(self, rows: Sequence[Mapping[str, Any]], profile: Profile) -> "pa.Table":
        import pyarrow as pa

        wanted = self.input_columns
        lacking = {number: [name for name in wanted if name not in row] for number, row in enumerate(rows, start=1)}
        wrong = [f"row {number} has no {' and no '.join(names)}" for number, names in lacking.items() if names]
        if wrong:
            raise DataError("\n".join(wrong[:10]))
        columns = {name: [row[name] for row in rows] for name in wanted}
        for name, values in columns.items():
            if any(isinstance(value, list | tuple) for value in values):  # a text is then a list of one
                columns[name] = [[value] if isinstance(value, str) else value for value in values]
        try:
            return pa.table({name: pa.array(values) for name, values in columns.items()})
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(f"the rows do not all hold texts, or all lists of texts, in {', '.join(wanted)}") from error

    def input_specs(self, profile: Profile) -> "tuple[ColumnSpec, ...]":
        from burnish.data.codecs.columns import ColumnSpec

        lists = {*self.context, *(self.choices if len(self.choices) == 1 else ())}
        return tuple(ColumnSpec(name, kind="texts" if name in lists else "text") for name in self.input_columns)

    def _columns(self) -> "ChoiceColumns":
        from burnish.tasks.multiple_choice.rows import ChoiceColumns

        return ChoiceColumns(self.context, self.question, self.choices, self.label)
