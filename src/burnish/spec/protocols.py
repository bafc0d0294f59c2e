"""What a component of each kind must be able to do; five methods at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from burnish.spec.events import Event
from burnish.spec.values import (
    Array,
    Batch,
    FeatureLimit,
    HeadSpec,
    Outcome,
    Profile,
    RandomKey,
    RowFault,
    Rows,
    Splits,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from burnish.spec.experiment import TrainPolicy


@runtime_checkable
class DataSource(Protocol):
    """Where the rows come from, already split."""

    def load(self, request: DataRequest) -> Splits:
        """Read, check and split; raise DataError with every fault that was found."""
        ...


class DataRequest(Protocol):
    """What a source needs to know of the run."""

    @property
    def seed(self) -> int: ...
    @property
    def stratify(self) -> str | None:
        """The column whose classes every split should hold in proportion, if any."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the task uses; a source refuses a table without them, with a suggestion."""
        ...

    @property
    def quarantine(self) -> Path | None:
        """Where skipped rows are written, if anywhere."""
        ...


@runtime_checkable
class Task(Protocol):
    """One kind of problem."""

    heads: ClassVar[tuple[str, ...]]

    @property
    def training_columns(self) -> tuple[str, ...]:
        """Name the columns that training reads."""
        ...

    @property
    def input_columns(self) -> tuple[str, ...]:
        """Name the columns that prediction needs."""
        ...

    @property
    def stratify(self) -> str | None:
        """Name the column whose classes every split should hold in proportion, if any."""
        ...

    @property
    def num_views(self) -> int:
        """Say how many random views of a row a prediction averages."""
        ...

    def profile(self, rows: Rows) -> Profile:
        """Look at the training rows: labels, kind, statistics."""
        ...

    def head(self, profile: Profile) -> HeadSpec:
        """Say what the network must end in."""
        ...

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Turn rows into features and features into batches."""
        ...

    def decode(self, outputs: Mapping[str, Array], profile: Profile, table: pa.Table | None = None) -> Outcome:
        """Turn a network's raw outputs (`logits`, `row`, `label` if known, `at_…`) into decisions, one entry a row.

        `table` holds the rows that were predicted, for a task that must look at them again.
        """
        ...

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        """Give the metrics that make sense here; with no profile, those that any profile could give."""
        ...


@runtime_checkable
class Joint(Protocol):
    """Several tasks, each with data of its own, that one network learns together; written where a task may be."""

    heads: ClassVar[tuple[str, ...]]

    @property
    def tasks(self) -> Mapping[str, Task]:
        """Give each task by its name."""
        ...

    @property
    def scores(self) -> Mapping[str, tuple[Metric, ...]]:
        """Give the metrics of a task, where they are not its own."""
        ...

    def head(self, profile: Profile) -> HeadSpec:
        """Say what the network must end in, from the profiles of all tasks in one."""
        ...

    def power(self, epoch: int, *, num_epochs: int) -> float:
        """Say to which power the size of a set counts in its share of an epoch's batches."""
        ...


@runtime_checkable
class ChoosesPrecision(Protocol):
    """A task that knows what `runtime.precision: auto` had better be, whatever the device could do."""

    auto_precision: ClassVar[Literal["fp32", "bf16", "fp16"]]


@runtime_checkable
class Sets(Protocol):
    """Several sources of rows, one a task; written where a source may be."""

    @property
    def sets(self) -> Mapping[str, DataSource]:
        """Give each source by the name of its task."""
        ...


@runtime_checkable
class Refines(Protocol):
    """A task that learns a little more from the validation rows once the weights are final."""

    def refine(self, outcome: Outcome, profile: Profile) -> Profile:
        """Give the profile that carries what was fitted, such as a decision threshold; every later answer uses it."""
        ...


@runtime_checkable
class Inspected(Protocol):
    """A task whose columns can be looked at one by one when a run is over."""

    @property
    def slices(self) -> tuple[str, ...]:
        """Name the columns by whose values the rows are scored apart."""
        ...

    @property
    def importance(self) -> int:
        """Say on how many rows the worth of each column is measured; 0 for not at all."""
        ...


@runtime_checkable
class ReadsRows(Protocol):
    """A task that has its own way to put rows given one by one into a table."""

    def table(self, rows: Sequence[Mapping[str, Any]], profile: Profile) -> pa.Table:
        """Give the columns that prediction reads; refuse what cannot be read by row and column, all at once."""
        ...


class Encoder(Protocol):
    """Encode batches of rows at once, and build batches from what it encoded."""

    @property
    def key(self) -> Mapping[str, object]:
        """All that shapes the features, for the cache: tokenizer digest, policy, version."""
        ...

    def faults(self, rows: Rows) -> Sequence[RowFault]:
        """List the rows that cannot be used."""
        ...

    def encode(self, table: pa.Table) -> pa.Table:
        """Give features: any columns, and always `length` (int32) and `row` (int64, position in the table)."""
        ...

    def collate(self, features: pa.Table, indices: np.ndarray[Any, Any], draw: RandomKey) -> Batch:
        """Build one padded batch from the features at these positions; every array has one entry a feature.

        With `scored` (bool [n, length]) the network answers at those places only, and `label` has the same shape.
        What begins with `at_` comes back beside the answers.
        """
        ...


@runtime_checkable
class LimitsFeatures(Protocol):
    """An encoder that knows what its features can hold, so that those of a prepared folder need not be believed."""

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterable[FeatureLimit]:
        """Give the limits of each column, of rows 0 to below `num_rows`; a later one may rely on those before it."""
        ...


@runtime_checkable
class PutsIntoWords(Protocol):
    """An encoder that can write ids in the answers to rows as words, for which it has the vocabulary."""

    def put_into_words(self, outcome: Outcome) -> Outcome:
        """Give the outcome with `answers` that people can read."""
        ...


@runtime_checkable
class NotesDefaults(Protocol):
    """An encoder of rows in which a column or a cell may be missing, because there are defaults."""

    def notes(self, rows: Rows) -> Sequence[str]:
        """Say in sentences which defaults are used in rows to predict, and why."""
        ...


@runtime_checkable
class CountsLabels(Protocol):
    """An encoder that can tell how often each thing to guess comes."""

    def counts(self, features: pa.Table) -> Array:
        """Count, by id."""
        ...


@runtime_checkable
class Expects(Protocol):
    """A network whose output, where it is new, can begin at how often each thing comes."""

    def expect(self, counts: Array) -> None:
        """Be told the counts by id, before the first step."""
        ...


class Assets(Protocol):
    """What a model brings besides weights: its tokenizer and its limits."""

    @property
    def max_positions(self) -> int | None: ...
    @property
    def digest(self) -> str:
        """A hash of the files behind it."""
        ...

    def save(self, directory: Path) -> None:
        """Write the files that rebuild it."""
        ...


@runtime_checkable
class Architecture(Protocol):
    """A family of networks."""

    heads: ClassVar[tuple[str, ...]]

    def max_positions(self) -> int | None:
        """Tell the longest input if that is known without loading anything heavy."""
        ...

    def assets(self) -> Assets:
        """Load the tokenizer; no weights yet."""
        ...

    def network(self, head: HeadSpec, assets: Assets) -> Any:
        """Build a `torch.nn.Module` that maps a batch of tensors to logits."""
        ...

    def save(self, network: Any, directory: Path) -> None:
        """Write a network's weights and shape into an artifact."""
        ...

    def load(self, directory: Path, head: HeadSpec) -> Any:
        """Rebuild a network from an artifact, whatever it was first made from."""
        ...


@runtime_checkable
class NamesFolders(Protocol):
    """An architecture that can say which of the folders that it names are not there, without loading anything."""

    def absent(self) -> Iterable[tuple[str, str]]:
        """Give an option of the model and a sentence for each."""
        ...


@runtime_checkable
class Growing(Protocol):
    """An architecture whose network is grown by rounds over the whole table, and not learned from batches."""

    @property
    def learning_rate(self) -> float: ...
    def policy(self, asked: TrainPolicy) -> TrainPolicy:
        """Give how long to train, for an experiment that asked so."""
        ...


@runtime_checkable
class ChoosesBatch(Protocol):
    """An architecture that knows how many examples `train.batch: auto` takes at most."""

    auto_batch: ClassVar[int]


@runtime_checkable
class ChoosesRate(Protocol):
    """A network that knows what `optimizer.learning_rate: auto` is for its size."""

    @property
    def usual_rate(self) -> float: ...


@runtime_checkable
class Metric(Protocol):
    """A way to score outcomes."""

    better: ClassVar[Literal["higher", "lower"]]

    def names(self) -> tuple[str, ...]:
        """Name the scores it gives; the first is its headline."""
        ...

    def applies(self, kind: str) -> bool:
        """Tell whether outcomes of this kind can be scored."""
        ...

    def scores(self, outcome: Outcome, weights: Array | None = None) -> Mapping[str, Array]:
        """Score the whole set, once a row of `weights` [b, n]; without weights, once, every row counting 1."""
        ...


@runtime_checkable
class Truncation(Protocol):
    """Choose which tokens of a long text to keep."""

    is_random: ClassVar[bool]

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        """Give the positions to keep, in order: one array, or one a window. Called only when length > limit."""
        ...


@runtime_checkable
class Schedule(Protocol):
    """The learning rate's course, as a pure function of progress."""

    def factor(self, step: int, total_steps: int) -> float:
        """Give what the base learning rate is multiplied by at this step (from 0)."""
        ...


@runtime_checkable
class Optimizer(Protocol):
    """How gradients change weights."""

    @property
    def learning_rate(self) -> float | Literal["auto"]: ...
    @property
    def weight_decay(self) -> float: ...

    def build(self, network: Any, groups: Sequence[Mapping[str, Any]]) -> Any:
        """Make the torch optimizer over parameter groups (`params`, `lr`, `weight_decay`)."""
        ...


@runtime_checkable
class Tracker(Protocol):
    """Someone who watches a run."""

    def open(self, directory: Path, *, name: str) -> Watcher:
        """Begin to watch a run."""
        ...


class Watcher(Protocol):
    """A tracker at work."""

    def emit(self, event: Event) -> None: ...
    def close(self) -> None: ...
