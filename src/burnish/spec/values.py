"""Immutable values that travel from one stage of a run to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Array = np.ndarray[Any, Any]
    Batch = Mapping[str, Array]
    """Arrays that go into a network together, one row an example (or a window of one)."""
else:
    Array = Batch = Any  # so that annotations need no block for type checkers, and no import of numpy here


@dataclass(frozen=True)
class MemoryMapped:
    """Says that a table lies in a file, mapped, and not in memory."""

    digest: str
    """Tells its rows from any others."""
    release: Callable[[], None]
    """Give back the memory of all that was looked at so far."""


@dataclass(frozen=True)
class Rows:
    """A table and the place each of its rows was read from."""

    table: pa.Table
    places: RowOrigins
    held: MemoryMapped | None = None
    """Where the table is, if it is too large for memory: walk through it in parts, and copy no column of text."""

    def __len__(self) -> int:
        return int(self.table.num_rows)


@dataclass(frozen=True)
class RowOrigins:
    """Tell file and line of a row; `numbers[i]` is the row's ordinal (from 0) in its file."""

    files: tuple[str, ...]
    """Readable names, in the order they were read."""
    file_of: Array
    """For each row, an index into `files`."""
    numbers: Array
    first_lines: tuple[int, ...]
    """For each file, the line on which its ordinal 0 stands (2 after a header); 0 if lines mean nothing there."""

    def take(self, which: Array | slice) -> RowOrigins:
        """Keep the places of some of the rows."""
        return replace(self, file_of=self.file_of[which], numbers=self.numbers[which])

    def describe(self, row: int) -> str:
        """Say where a row stands, like `train.csv:17`."""
        which = int(self.file_of[row])
        number = int(self.numbers[row])
        first = self.first_lines[which]
        return f"{self.files[which]}:{first + number}" if first else f"{self.files[which]} row {number + 1}"


@dataclass(frozen=True)
class Splits:
    """The parts of the data. Test is never used for selection."""

    train: Rows
    validation: Rows
    test: Rows | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    """What the reader did: rows a split, rows skipped, how validation was carved."""
    fingerprint: str = ""
    """A digest of the bytes read and of every option that shapes the rows."""
    others: Mapping[str, Rows] = field(default_factory=dict)
    """Further sets to score by name, like `validation_mismatched`; never used for selection."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """The digest of each file, or table, that was read, by its name."""


class FeatureLimit(NamedTuple):
    """What a column of features may hold: each of `values` is at least `low` and at most `high`."""

    column: str
    values: Array
    low: Array | float
    high: Array | float


@dataclass(frozen=True)
class RowFault:
    """A row that cannot be used, and why, like `label 'maybe' is not one of neg, pos`."""

    row: int
    what: str


@dataclass(frozen=True)
class ColumnDoubt:
    """Something that is suspicious about a column of the training rows."""

    what: str
    is_leak: bool = False
    """Whether it may reveal the target, so that scores say nothing of rows to come."""
    is_told: bool = False
    """Whether the notes of the profile say it already."""


@dataclass(frozen=True)
class Profile:
    """What the training rows looked like; plain JSON, kept in the run and in the artifact."""

    kind: str
    """The task's flavour: binary, multiclass, multilabel, regression …"""
    labels: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Anything else that the task needs again when serving; JSON values only."""
    inputs: tuple[str, ...] = ()
    """The columns that prediction reads, where the training rows decided that; else the task names them."""

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as people should read them, by `task.label_names`; nothing where that is how they are."""
        given = self.facts.get("label_names")
        return tuple(given.get(label, label) for label in self.labels) if given else ()


@dataclass(frozen=True)
class Objective:
    """A loss by name, with its numbers; the engine owns the arithmetic."""

    name: Literal[
        "cross_entropy",
        "binary_cross_entropy",
        "mean_squared_error",
        "focal",
        "poisson",
        "gamma",
        "quantile",
        "span",
        "in_batch",
        "mean",
    ]
    """`poisson` and `gamma` take what the network gives as the logarithm of the mean.

    `span` takes scores of a start and an end at every scored place, and the two true places; `in_batch` two embeddings
    side by side, of which those of the same example belong together, or more of them, as many as the label says, of
    which the first two do; `mean` what is a loss already, and 1 or 0 for
    whether it counts.
    """
    class_weights: tuple[float, ...] | None = None
    label_smoothing: float = 0.0
    gamma: float = 2.0
    """How much `focal` turns away from what is already right."""
    quantile: float = 0.5
    """Which quantile is predicted, from 0 to 1."""


@dataclass(frozen=True)
class Term:
    """A further loss of a network that gives several outputs; each is averaged over what it counts itself."""

    output: str
    """The name of the output, beside `logits`."""
    label: str
    """The entry of a batch that holds the truth; a batch without it adds nothing."""
    objective: Objective
    weight: float = 1.0


@dataclass(frozen=True)
class TableInputs:
    """What a network over a table is fed; batches hold `numbers`, `categories` and `wide` where there are any."""

    numbers: tuple[str, ...] = ()
    """The columns of `numbers`, float32 [n, len(numbers)]: scaled, and never missing or infinite."""
    edges: tuple[tuple[float, ...], ...] = ()
    """For each number, rising bin edges on the scaled axis, quantiles of the training rows, at least two."""
    categories: tuple[str, ...] = ()
    """The columns of `categories`, int64 [n, len(categories)]."""
    cardinalities: tuple[int, ...] = ()
    """For each category, how many ids it has; 0 is a missing value and 1 one that was not seen in training."""
    wide_size: int = 0
    """How many ids there are in `wide`, int64 [n, k]: one-hots, buckets and crosses share one numbering."""


@dataclass(frozen=True)
class HeadSpec:
    """What a network must end in."""

    kind: str
    """The sort of output that an architecture lists in `heads`, like `sequence_classification`."""
    size: int
    objective: Objective
    labels: tuple[str, ...] = ()
    inputs: TableInputs | None = None
    """What the network is fed, when that is a table."""
    terms: tuple[Term, ...] = ()
    """Losses besides that of `logits`."""
    answer: Literal["logits", "likelihood"] = "logits"
    """What is kept of an answer: all of it; or, of a vocabulary, how likely the truth was and whether it came first,
    then for each term that sorts whole examples whether it did so rightly; and where there is no truth the ids and
    log-probabilities of the best guesses."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What else the builder of this kind must know; JSON values only."""
    weight: float = 1.0
    """What its losses are multiplied by."""
    parts: Mapping[str, HeadSpec] = field(default_factory=dict)
    """The heads of several groups of batches above one network; `group` in a batch is the number of its head."""

    def of_group(self, group: int) -> HeadSpec:
        """Find the head that a group of batches is for: itself where there is but one."""
        return list(self.parts.values())[group] if self.parts else self


EXAMPLE = "example"
"""The entry of a training batch that numbers its examples, for the noise of each."""


@dataclass(frozen=True)
class RandomKey:
    """The key of everything random about an example: a pure function of these and its index."""

    seed: int
    epoch: int
    is_training: bool
    view: int = 0
    """Which of several random views, when a prediction averages over views."""


@dataclass(frozen=True)
class Times:
    """How long a model took to learn and to predict, where that was measured."""

    fit_seconds: float | None = None
    predict_seconds: float | None = None


@dataclass(frozen=True)
class Outcome:
    """Outputs beside the truth, one entry a row; `rows` makes the order irrelevant."""

    kind: str
    """As in Profile: binary, multiclass, multilabel, regression, tags, spans, choice, likelihood …"""
    rows: Array
    outputs: Array
    """Probabilities [n, k]; for regression, values [n]; otherwise some numbers a row that tell its answer apart."""
    decisions: Array
    """Class indices [n], 0/1 [n, k] when multilabel, values [n] for regression; else objects [n]."""
    truth: Array | None
    """As `decisions`; None when labels are unknown."""
    labels: tuple[str, ...] = ()
    answers: pa.Table | None = None
    """What to show of each row where classes and numbers do not say it; `predicted` is among its columns."""
    weights: Array | None = None
    """How much each row counts in a score, where the data says so; else every row counts 1."""
    times: Times = field(default=Times(), compare=False)
    names: tuple[str, ...] = ()
    """The labels as people should read them; nothing where that is how they are."""
    unlikelihood: Array | None = None
    """Of each row [n, 2] minus the log-likelihood of its truth, and of how many decisions that is the sum; None where
    `outputs` tell it, or nothing does."""

    def part(self, which: Array | slice) -> Outcome:
        """Take some of the rows."""
        return replace(
            self,
            rows=self.rows[which],
            outputs=self.outputs[which],
            decisions=self.decisions[which],
            truth=None if self.truth is None else self.truth[which],
            answers=None if self.answers is None else _take(self.answers, which),
            weights=None if self.weights is None else self.weights[which],
            unlikelihood=None if self.unlikelihood is None else self.unlikelihood[which],
        )


CELLS = ("true_positives", "false_positives", "false_negatives", "true_negatives")
"""The cells of a confusion matrix: scores whose names begin so are counts of rows."""


@dataclass(frozen=True)
class Score:
    """A figure with its 95% interval."""

    value: float
    low: float | None = None
    high: float | None = None
    why: str | None = None
    """Why the value is not defined, where it is nan."""


@dataclass(frozen=True)
class StepResult:
    """What one optimizer step did."""

    loss: float
    gradient_norm: float
    examples: int
    tokens: int
    is_empty: bool = False
    """Whether nothing in the batch counted, so that no weight was changed."""


def _take(table: pa.Table, which: Array | slice) -> pa.Table:
    if isinstance(which, slice):
        start, end, _ = which.indices(table.num_rows)
        return table.slice(start, end - start)
    return table.filter(which) if which.dtype == bool else table.take(which)


@dataclass(frozen=True)
class BaselineRequest:
    """What baselines of one task learn from, and what they are asked for."""

    rows: Mapping[str, Rows]
    """By split."""
    features: Mapping[str, "pa.Table"]
    batch_of: Callable[..., "Batch"]
    """Builds one batch of a split: of these rows, by default of all."""
    profile: Profile
    split: str
    outcome: Outcome
    """What the model predicted for the split."""
    seed: int
    is_grown: bool
    """Whether the model itself is boosted trees."""
    note: Callable[[str], None]
    """Hears what was left out, and why."""
