"""What a model takes and what it answers, as plain values: for a server, a form, a model card or a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, TypeAdapter

from burnish.artifact.tables import prediction_columns
from burnish.data.codecs.columns import ColumnSpec, describe_columns
from burnish.data.columns.parse_columns import parse_flags, parse_words
from burnish.registry import default_registry
from burnish.spec.experiment import Experiment
from burnish.spec.parts import ALONE
from burnish.spec.values import Array, Outcome, Profile
from burnish.tasks.labels import is_list

InputKind = Literal["text", "texts", "words", "number", "integer", "boolean", "category", "date"]
"""`texts` is a list of texts or a single one; `words` a list of words or a text to find them in."""
AnswerKind = Literal["class", "labels", "number", "tags", "span", "choice", "tokens", "text", "embedding", "other"]
"""One class, several labels, a number, a tag a word, a part of a text, one of the choices given, tokens that fill
blanks or continue a text, a text, a vector."""

_ANSWERS: Mapping[str, AnswerKind] = {
    "binary": "class",
    "multiclass": "class",
    "multilabel": "labels",
    "regression": "number",
    "tags": "tags",
    "spans": "span",
    "choice": "choice",
    "likelihood": "tokens",
    "likelihood_of_pairs": "tokens",
    "generated": "text",
    "retrieval": "embedding",
}
_KINDS: Mapping[str, InputKind] = {"flag": "boolean", "time": "date"}
_QUARTILES = {"quarter": "0.25", "median": "0.5", "three_quarters": "0.75"}
_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_VALUES = 100
_SAMPLED_ROWS = 50_000
"""Shares and lengths of more rows than this would not differ in what they show."""


class SignatureValue(BaseModel):
    """A part of a signature; fields that a later version adds are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Distribution(SignatureValue):
    """How numbers lay in the training rows; a date is in seconds since 1970."""

    lowest: float
    highest: float
    mean: float | None = None
    quantiles: Mapping[str, float] = {}
    """By the share of rows below, like `0.25`."""


class InputField(SignatureValue):
    """A column that a prediction reads."""

    name: str
    kind: InputKind
    is_required: bool
    """Whether a row without it is refused; one that every training row had may be missing where that is allowed."""
    default: str | float | bool | None = None
    """What a missing value becomes, if that is a value and not a category for what is missing."""
    values: tuple[str, ...] = ()
    """Values of a category, at most 100; others are accepted, and read as unseen."""
    num_values: int | None = None
    """How many values there are in all, for a category whose values are known."""
    seen: Distribution | None = None
    """How the numbers or dates of the training rows lay."""
    lengths: Distribution | None = None
    """How many characters the texts of the training rows had, or how many items the lists."""
    missing_share: float | None = None
    """The share of training rows without a value; null where nobody measured it."""
    value_shares: Mapping[str, float] = {}
    """Of a category or a boolean, the share of training rows of each value, at most 100, the most frequent first."""
    example: Any = None
    """A value that one of the golden rows holds."""


class ClassLabel(SignatureValue):
    """A class, or a tag."""

    value: str
    """As it stands in the data and in answers."""
    name: str
    """As people should read it; the same as `value` if the experiment gave no other."""
    share: float | None = None
    """The share of training rows of this class."""


class AnswerSpec(SignatureValue):
    """What an answer is."""

    kind: AnswerKind
    column: str | None = None
    """The column of the training rows that was learned, if there was one."""
    fields: tuple[str, ...] = ("predicted",)
    """What an answer consists of."""
    classes: tuple[ClassLabel, ...] = ()
    seen: Distribution | None = None
    """How the numbers that were learned lay."""


class Signature(SignatureValue):
    """What one task of an artifact takes and answers, with the statistics that drift is measured against."""

    format: int = 1
    task: str
    """The name of the task's type."""
    kind: str
    """Its flavour, like binary or regression."""
    inputs: tuple[InputField, ...]
    """In the order of the training file, where that is known."""
    answer: AnswerSpec
    list_order: tuple[str, ...] | None = None
    """What stands where in a row without names; null where the order of the columns was not recorded."""
    text_input: str | None = None
    """The input that a plain string is taken for, where one text is a whole row."""
    max_length: int | None = None
    """The longest input in tokens; more is cut, or read in windows."""
    truncation: str | None = None
    """What is done about a longer text."""
    token_lengths: Distribution | None = None
    """How long the training examples were in tokens, after truncation."""
    training_rows: int | None = None


@dataclass(frozen=True)
class TrainingStatistics:
    """What is measured of the training rows for the signature."""

    table: pa.Table
    lengths: Array


def describe(
    experiment: Experiment,
    profile: Profile,
    *,
    golden: Mapping[str, Any],
    outcome: Outcome | None = None,
    training: TrainingStatistics | None = None,
) -> Signature:
    """Describe a model by its task and profile; lengths and shares need the training rows."""
    task, name_of = experiment.task, default_registry().name_of
    specs = describe_columns(task, profile)
    read = [spec for spec in specs if spec.is_read]
    inputs = tuple(_input(spec, golden["rows"], training) for spec in read)
    required = [field.name for field in inputs if field.is_required]
    is_text = len(required) == 1 and all(field.kind in ("text", "words") for field in inputs if field.is_required)
    max_length, truncation = getattr(task, "max_length", None), getattr(task, "truncation", None)
    num_rows = None if training is None else training.table.num_rows
    return Signature(
        task=name_of("tasks", type(task)),
        kind=profile.kind,
        inputs=inputs,
        answer=_answer(experiment, profile, outcome, num_rows),
        list_order=tuple(spec.name for spec in specs) if all(spec.is_placed for spec in specs) else None,
        text_input=required[0] if is_text else None,
        max_length=max_length,
        truncation=None if truncation is None else name_of("truncations", type(truncation)),
        # of texts alone do lengths in tokens mean something
        token_lengths=None if training is None or max_length is None else distribution(training.lengths),
        training_rows=num_rows,
    )


def write_signatures(path: Path, signatures: Mapping[str, Signature]) -> None:
    """Write the signature of each task by its name, or that of the only one as it is."""
    by_name = {name: each.model_dump(mode="json") for name, each in signatures.items()}
    content = by_name.get(ALONE) or {"tasks": by_name}
    path.write_bytes(TypeAdapter(dict[str, Any]).dump_json(content, indent=1))


def read_signature(path: Path, name: str) -> Signature | None:
    """Read the signature of a task; None for an artifact that was made before there were any."""
    if not path.is_file():
        return None
    content = TypeAdapter(dict[str, Any]).validate_json(path.read_bytes())
    return Signature.model_validate(content["tasks"][name] if name else content)


def require_inputs(signature: Signature, columns: Sequence[ColumnSpec]) -> Signature:
    """Mark the inputs that are refused if they are missing, which versions before did not know of all."""
    required = {spec.name for spec in columns if spec.must_be_given or spec.always_given}
    inputs = [field.model_copy(update={"is_required": field.name in required}) for field in signature.inputs]
    return signature.model_copy(update={"inputs": tuple(inputs)})


def distribution(values: Array) -> Distribution | None:
    """Summarise numbers; None where there are none."""
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    found = np.quantile(known, _SHARES).tolist()
    quantiles = {f"{share:g}": value for share, value in zip(_SHARES, found, strict=True)}
    return Distribution(lowest=known.min(), highest=known.max(), mean=known.mean(), quantiles=quantiles)


def _input(spec: ColumnSpec, golden: Sequence[Mapping[str, Any]], training: TrainingStatistics | None) -> InputField:
    given = [row[spec.name] for row in golden if row.get(spec.name) is not None]
    kind: InputKind = "category" if spec.is_category else _KINDS.get(spec.kind, spec.kind)  # type: ignore[arg-type]  # of the same names
    fill = spec.facts.get("fill")
    default = _as_date(fill) if kind == "date" and fill is not None else fill
    return InputField(
        name=spec.name,
        kind=kind,
        is_required=spec.must_be_given or spec.always_given,
        default=default if spec.default is None else spec.default,
        values=spec.values[:_MOST_VALUES],
        num_values=len(spec.values) or None,
        seen=_stated(spec.facts),
        example=given[0] if given else None,
        **(_measured(training.table, spec, kind) if training and spec.name in training.table.column_names else {}),
    )


def _as_date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")


def _stated(facts: Mapping[str, Any]) -> Distribution | None:
    """Take the statistics that a profile holds of a column, or of a target."""
    if not {"lowest", "highest"} <= facts.keys():
        return None
    quantiles = {share: facts[name] for name, share in _QUARTILES.items() if name in facts}
    return Distribution(lowest=facts["lowest"], highest=facts["highest"], mean=facts.get("mean"), quantiles=quantiles)


def _measured(table: pa.Table, spec: ColumnSpec, kind: InputKind) -> dict[str, Any]:
    column = table[spec.name]
    places = np.linspace(0, len(column) - 1, min(len(column), _SAMPLED_ROWS)).astype(np.int64)
    column = column.take(pa.array(places)).combine_chunks()
    if is_list(column.type):
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    elif kind in ("text", "texts", "words"):
        text = pc.utf8_trim_whitespace(pc.fill_null(column.cast(pa.string()), ""))
        lengths = pc.utf8_length(text).to_numpy(zero_copy_only=False)
    else:
        read, shares = parse_words(column), {}
        if kind == "boolean":
            values = parse_flags(column).values
            shares = {"false": float((values == 0).mean()), "true": float((values == 1).mean())}
        elif kind == "category":
            shares = _shares(read.values.take(pa.array(read.codes[read.codes >= 0])), len(column))
        return {"missing_share": float((read.codes < 0).mean()), "value_shares": shares}
    return {"missing_share": float((lengths == 0).mean()), "lengths": distribution(lengths[lengths > 0])}


def _shares(values: pa.Array, num_rows: int) -> dict[str, float]:
    counts = {each["values"]: each["counts"] for each in pc.value_counts(values).to_pylist()}
    frequent = sorted(counts, key=lambda value: (-counts[value], value))[:_MOST_VALUES]
    return {value: counts[value] / num_rows for value in frequent}


def _answer(experiment: Experiment, profile: Profile, outcome: Outcome | None, num_rows: int | None) -> AnswerSpec:
    task = experiment.task
    asked = {spec.name for spec in describe_columns(task, profile) if spec.is_read}
    learned = [name for name in task.training_columns if name not in asked]
    counts = profile.facts.get("label_counts") or {}
    total = num_rows if profile.kind == "multilabel" else sum(counts.values())
    shares = {name: count / total for name, count in counts.items()} if total else {}
    return AnswerSpec(
        kind=_ANSWERS.get(profile.kind, "other"),
        column=learned[0] if learned else None,
        fields=("predicted",) if outcome is None else tuple(prediction_columns(outcome)),
        classes=tuple(
            ClassLabel(value=label, name=name, share=shares.get(label))
            for label, name in zip(profile.labels, profile.names or profile.labels, strict=True)
        ),
        seen=_stated(profile.facts) if profile.kind == "regression" else None,
    )
