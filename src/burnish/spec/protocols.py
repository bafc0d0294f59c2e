"""What a component of each kind must be able to do, and the usual answer to what it may be asked besides."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from burnish.spec.component import Component, add_defaults
from burnish.spec.events import Watcher
from burnish.spec.values import (
    Array,
    BaselineRequest,
    Batch,
    ColumnDoubt,
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

    from burnish.spec.experiment import Batching, TrainPolicy

_RATE_OF_TABLES, _RATE_OF_TEXTS = 2e-3, 2e-5
"""Of a network that names no rate: as for our networks on tables, or for a large transformer."""


class DataSource(Component):
    """Where the rows come from, already split; what is not abstract has an answer that suits most sources."""

    @abstractmethod
    def load(self, request: DataRequest) -> Splits:
        """Read, check and split; raise DataError with every fault that was found."""

    def unreadable(self) -> Iterable[tuple[str, str]]:
        """List the options that name nothing which could be read, wherever it is: an option and a sentence each."""
        directory = str(getattr(self, "dir", None) or "")
        if "://" in directory or "${" in directory:
            yield "dir", f"{directory} must be a folder on this machine"

    def absent(self, columns: Sequence[str], *, place: str, task: str) -> Iterable[tuple[str, str]]:
        """List files that are not there and columns that they lack: the path of an option and a sentence each.

        `columns` are those of the task; `place` and `task` are how the options of data and task begin.
        """
        directory = str(getattr(self, "dir", None) or "")
        is_local = directory and "://" not in directory and not directory.startswith("package:")
        if is_local and not os.path.isdir(os.path.expanduser(directory)):
            yield f"{place}.dir", f"{place}.dir: there is no folder {directory}"

    def digests(self, request: DataRequest) -> Mapping[str, str]:
        """Digest the files on this machine that `load` would read now, under the names that it gives them.

        Nothing is given of what would have to be fetched, or where only `load` can tell.
        """
        return {}

    def refuse_encoder(self, encoder: Encoder) -> None:
        """Refuse an encoder that would make other features than those that are stored, if there are any."""

    def stored_features(self, split: str, encoder: Encoder, rows: Rows) -> Any:
        """Open features that are stored with the rows; None where the rows are yet to be encoded."""
        return None


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


class Task(Component):
    """One kind of problem; what is not abstract has an answer that suits most tasks."""

    heads: ClassVar[tuple[str, ...]]
    auto_precision: ClassVar[Literal["fp32", "bf16", "fp16"] | None] = None
    """What `runtime.precision: auto` had better be, whatever the device could do."""

    @property
    @abstractmethod
    def training_columns(self) -> tuple[str, ...]:
        """The columns that training reads."""

    @property
    @abstractmethod
    def input_columns(self) -> tuple[str, ...]:
        """The columns that prediction needs."""

    @property
    def stratify(self) -> str | None:
        """The column whose classes every split should hold in proportion, if any."""
        return None

    @property
    def views(self) -> int:
        """How many random views of a row a prediction averages: the option `num_views`, where a task has it."""
        return int(getattr(self, "num_views", 1))

    @property
    def reads_rows(self) -> bool:
        """Whether `table` is the task's own."""
        return type(self).table is not Task.table

    @abstractmethod
    def profile(self, rows: Rows) -> Profile:
        """Look at the training rows: labels, kind, statistics."""

    def doubts(self, rows: Rows, profile: Profile) -> Iterator[ColumnDoubt]:
        """Find columns of the training rows that reveal the target, number the rows or hold one value."""
        yield from ()

    @abstractmethod
    def head(self, profile: Profile) -> HeadSpec:
        """Say what the network must end in."""

    @abstractmethod
    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Turn rows into features and features into batches."""

    @abstractmethod
    def decode(self, outputs: Mapping[str, Array], profile: Profile, table: pa.Table | None = None) -> Outcome:
        """Turn a network's raw outputs (`logits`, `row`, `label` if known, `at_…`) into decisions, one entry a row.

        `table` holds the rows that were predicted, for a task that must look at them again.
        """

    @abstractmethod
    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        """List the metrics that make sense here; with no profile, those that any profile could need."""

    def mixture(self, lengths: Sequence[Array], batching: Batching, *, seed: int, policy: TrainPolicy) -> Any:
        """Choose how the batches of several sets take turns; None where there is one set."""
        return None

    def baselines(self, asked: BaselineRequest) -> Mapping[str, Outcome]:
        """Learn from the training rows what a model must beat, and predict the rows that it was scored on."""
        return {}

    def count_mapped(self, table: pa.Table) -> Mapping[str, int]:
        """Count how often each label that the options map to another occurs in rows."""
        return {}

    def refine(self, outcome: Outcome, profile: Profile) -> Profile:
        """Fit to the validation rows, once the weights are final, what every later answer uses, such as a threshold."""
        return profile

    def table(self, rows: Sequence[Mapping[str, Any]], profile: Profile) -> pa.Table | None:
        """Put rows given one by one into the columns that prediction reads; None if they need no special reading.

        Refuses what cannot be read by row and column, all at once.
        """
        return None

    def input_specs(self, profile: Profile) -> Sequence[Any]:
        """Describe the columns that prediction reads as `ColumnSpec`s, in order; by default all are required texts."""
        return ()


@runtime_checkable
class Joint(Protocol):
    """Several tasks, each with data of its own, that one network learns together; written where a task may be."""

    heads: ClassVar[tuple[str, ...]]

    @property
    def tasks(self) -> Mapping[str, Task]:
        """Each task by its name."""
        ...

    @property
    def scores(self) -> Mapping[str, tuple[Metric, ...]]:
        """The metrics of a task, where they are not its own."""
        ...

    def head(self, profile: Profile) -> HeadSpec:
        """Say what the network must end in, from the profiles of all tasks in one."""
        ...

    def power(self, epoch: int, *, num_epochs: int) -> float:
        """Say to which power the size of a set counts in its share of an epoch's batches."""
        ...


@runtime_checkable
class Sets(Protocol):
    """Several sources of rows, one a task; written where a source may be."""

    @property
    def sets(self) -> Mapping[str, DataSource]:
        """Each source by the name of its task."""
        ...


class Encoder(ABC):
    """Encodes batches of rows at once, and builds batches from what it encoded."""

    @property
    @abstractmethod
    def key(self) -> Mapping[str, object]:
        """All that shapes the features, for the cache: tokenizer digest, policy, version."""

    @abstractmethod
    def faults(self, rows: Rows) -> Sequence[RowFault]:
        """List the rows that cannot be used."""

    @abstractmethod
    def encode(self, table: pa.Table) -> pa.Table:
        """Make features: any columns, and always `length` (int32) and `row` (int64, position in the table)."""

    @abstractmethod
    def collate(self, features: pa.Table, indices: np.ndarray[Any, Any], draw: RandomKey) -> Batch:
        """Build one padded batch from the features at these positions; every array has one entry a feature.

        With `scored` (bool [n, length]) the network answers at those places only, and `label` has the same shape.
        What begins with `at_` comes back next to the answers.
        """

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterable[FeatureLimit]:
        """Limit what each column can hold, of rows 0 to below `num_rows`; a later limit may rely on those before it.

        Features of a prepared folder are checked against them, so that they need not be believed.
        """
        return ()

    def put_into_words(self, outcome: Outcome) -> Outcome:
        """Write ids in the answers to rows as words, for which the encoder has the vocabulary."""
        return outcome

    def notes(self, rows: Rows) -> Sequence[str]:
        """Say in sentences which defaults are used for what rows to predict lack, and why."""
        return ()

    def counts(self, features: pa.Table) -> Array | None:
        """Count by id how often each thing to guess comes; None where nothing is guessed."""
        return None


class Assets(Protocol):
    """What a model brings in addition to weights: its tokenizer and its limits."""

    @property
    def max_positions(self) -> int | None: ...
    @property
    def digest(self) -> str:
        """A hash of the files behind it."""
        ...

    def save(self, directory: Path) -> None:
        """Write the files that rebuild it."""
        ...


class Architecture(Component):
    """A family of networks; what is not abstract has an answer that suits most of them."""

    heads: ClassVar[tuple[str, ...]]
    joint_heads: ClassVar[tuple[str, ...]] = ()
    """Heads that may share the same layers, for several tasks at once."""
    auto_batch: ClassVar[int] = 256
    """How many examples `train.batch: auto` takes at most."""
    is_grown: ClassVar[bool] = False
    """Whether the network grows by rounds over the whole table, instead of learning from batches."""

    @abstractmethod
    def max_positions(self) -> int | None:
        """Return the longest input if that is known without loading anything heavy."""

    @abstractmethod
    def assets(self) -> Assets:
        """Load the tokenizer; no weights yet."""

    @abstractmethod
    def network(self, head: HeadSpec, assets: Assets) -> Any:
        """Build a `torch.nn.Module` that maps a batch of tensors to logits."""

    @abstractmethod
    def save(self, network: Any, directory: Path) -> None:
        """Write a network's weights and shape into an artifact."""

    @abstractmethod
    def load(self, directory: Path, head: HeadSpec) -> Any:
        """Rebuild a network from an artifact, whatever it was first made from."""

    def absent(self) -> Iterable[tuple[str, str]]:
        """List the folders that the options name and that are not there: an option of the model and a sentence each."""
        return ()

    def to_fetch(self) -> Iterable[str]:
        """List what training would fetch from the hub, a sentence each; nothing is asked over the network."""
        return ()

    def policy(self, asked: TrainPolicy, *, num_rows: int) -> TrainPolicy:
        """Decide how long to train on so many rows, for an experiment that asked so."""
        return asked

    def usual_rate(self, network: Any) -> float:
        """Choose what `optimizer.learning_rate: auto` is; a network may say so itself, as `usual_rate`."""
        return float(getattr(network, "usual_rate", _RATE_OF_TABLES if "tabular" in self.heads else _RATE_OF_TEXTS))

    def expect(self, network: Any, counts: Callable[[], Array | None]) -> None:
        """Let a new output begin at how often each thing to guess comes, in a network that has `expect`."""
        expect = getattr(network, "expect", None)
        if expect is not None and (counted := counts()) is not None:
            expect(counted)


@runtime_checkable
class Metric(Protocol):
    """A way to score outcomes."""

    better: ClassVar[Literal["higher", "lower"]]

    def names(self) -> tuple[str, ...]:
        """Name the scores it gives; the first is its headline."""
        ...

    def applies(self, kind: str) -> bool:
        """Check whether outcomes of this kind can be scored."""
        ...

    def scores(self, outcome: Outcome, weights: Array | None = None) -> Mapping[str, Array]:
        """Score the whole set, once a row of `weights` [b, n]; without weights, once, every row counting 1."""
        ...


@runtime_checkable
class Truncation(Protocol):
    """Choose which tokens of a long text to keep."""

    is_random: ClassVar[bool]

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        """Choose the positions to keep, in order: one array, or one a window. Called only when length > limit."""
        ...


@runtime_checkable
class Schedule(Protocol):
    """The learning rate's course, as a pure function of progress; with `heed`, of the scores too."""

    def factor(self, step: int, total_steps: int) -> float:
        """Compute what the base learning rate is multiplied by at this step (from 0)."""
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


def build_encoder(task: Task, profile: Profile, assets: Assets) -> Encoder:
    """Ask a task for its encoder; one of the user's own may lack what is optional."""
    encoder = task.encoder(profile, assets)
    add_defaults(type(encoder), Encoder)
    return encoder
