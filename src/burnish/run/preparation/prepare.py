"""From an experiment to features on disk: everything that happens before a weight is loaded."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from burnish.artifact.foreign import encoding_code
from burnish.data.cache.features import Stored, open_cache
from burnish.data.cache.spill import encode_parts, faults_of
from burnish.data.inspection.faults import BadRow, BrokenRows, settle, settle_all
from burnish.data.tokens.text import drop_report
from burnish.errors import BurnishError, ConfigError, DataError, Problem
from burnish.run.machine import give_back_memory
from burnish.run.preparation.inputs import NOTHING_KNOWN, TrainedOn, digests_of
from burnish.run.preparation.joint import join
from burnish.run.preparation.material import PreparedData
from burnish.run.preparation.read_prepared import read_features, refuse_misfit
from burnish.run.prepared import PreparedFolder
from burnish.run.record.directory import RunDirectory, write_json
from burnish.run.selection import refuse_misfits, refuse_unlike
from burnish.spec.experiment import Experiment
from burnish.spec.parts import ALONE, joined_profile, named, parts_of
from burnish.spec.protocols import Assets, Encoder, build_encoder
from burnish.spec.values import Array, Batch, Profile, RandomKey, RowFault, Rows, Splits
from burnish.tasks.tabular.encoder import unseen_cells

if TYPE_CHECKING:
    import pyarrow as pa


Encode = Callable[[str, Rows], Stored]
Clock = Callable[[], float]

_TOLD_EVERY_SECONDS = 10.0
_BATCHES_BEFORE_RELEASE = 64
"""A batch looks at some dozens of pages; given back this often, a mapped file takes some megabytes of memory."""


@dataclass(frozen=True)
class Request:
    """What a data source is told of the run."""

    seed: int
    stratify: str | None
    columns: tuple[str, ...]
    quarantine: Path | None


@dataclass(frozen=True)
class PreparedTask:
    """The data of one task."""

    rows: Mapping[str, Rows]
    features: "Mapping[str, pa.Table]"
    profile: Profile
    assets: Assets
    encoder: Encoder
    facts: Mapping[str, object]
    releases: Mapping[str, Callable[[], None]] = field(default_factory=dict)
    """Ways to give back the memory of features that were looked at."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """The digest of each file that was read."""

    @property
    def parts(self) -> "Mapping[str, PreparedTask]":
        """Give itself, for there is but one task."""
        return {ALONE: self}

    def collate(self, split: str) -> "Callable[[Array, RandomKey], Batch]":
        """Give what builds batches of a split; now and then it gives back memory, which would grow with the file."""
        features, release = self.features[split], self.releases.get(split, lambda: None)
        count = itertools.count(1)

        def build(indices: "Array", draw: RandomKey) -> "Batch":
            if next(count) % _BATCHES_BEFORE_RELEASE == 0:
                release()
            return self.encoder.collate(features, indices, draw)

        return build

    def batch_of(self, split: str, rows: "Array | None" = None) -> "Batch":
        """Give rows of a split, by default all, as one batch, as they are when predicted."""
        features = self.features[split]
        draw = RandomKey(seed=0, epoch=0, is_training=False)
        return self.encoder.collate(features, np.arange(features.num_rows) if rows is None else rows, draw)


def prepare(
    experiment: Experiment,
    directory: RunDirectory,
    *,
    tell: Callable[[str], None],
    is_recorded: bool = True,
    trained_on: TrainedOn = NOTHING_KNOWN,
) -> PreparedData:
    """Read, profile, check and encode every split; unless it is recorded, leave no trace in the directory."""
    quarantine = directory.skipped_rows if is_recorded else None
    record = directory if is_recorded else None
    parts = parts_of(experiment)
    if ALONE in parts:
        return _encoded(experiment, _ready(experiment, quarantine, record=record, trained_on=trained_on), tell=tell)
    ready = _all_ready(parts, quarantine, trained_on)
    profiles = {name: each.profile for name, each in ready.items()}
    if record is not None:
        digests = {file: digest for each in ready.values() for file, digest in each.digests.items()}
        _record(record, joined_profile(profiles), digests)
    refuse_unlike(parts, profiles)
    told = {name: partial(_tell_of, name, tell) for name in parts}
    return join({name: _encoded(part, ready[name], tell=told[name]) for name, part in parts.items()})


def _record(directory: RunDirectory, profile: Profile, digests: Mapping[str, str]) -> None:
    write_json(directory.profile, asdict(profile))
    write_json(directory.data, digests)


def _tell_of(name: str, tell: Callable[[str], None], sentence: str) -> None:
    tell(f"{name}: {sentence}")


def _encoded(experiment: Experiment, ready: "_LoadedTask", *, tell: Callable[[str], None]) -> PreparedTask:
    for note in ready.profile.facts.get("notes", ()):
        tell(note)
    encode = _features(experiment, ready, tell=tell)
    stored = {name: encode(name, part) for name, part in ready.rows.items()}
    features = {name: each.table for name, each in stored.items()}
    facts = {**_sizes(ready.rows, ready.splits), **_lengths(features["train"]), **_unseen(features)}
    releases = {name: each.release for name, each in stored.items()}
    give_back_memory()  # reading and encoding took what training will not need
    shaped = (ready.profile, ready.assets, ready.encoder)
    return PreparedTask(ready.rows, features, *shaped, facts, releases, ready.digests)


def feature_keys(experiment: Experiment) -> dict[str, dict[str, object]]:
    """Give the key of each split's features; read the rows and the tokenizer, encode nothing."""
    found = {name: (part, _ready(part, None)) for name, part in parts_of(experiment).items()}
    return {
        named(name, split): _key(part, ready, split=split)
        for name, (part, ready) in found.items()
        for split in ready.rows
    }


@dataclass(frozen=True)
class _LoadedTask:
    """Rows that are sound, and what would encode them."""

    splits: Splits
    rows: Mapping[str, Rows]
    profile: Profile
    assets: Assets
    encoder: Encoder
    digests: Mapping[str, str]


def _all_ready(
    parts: Mapping[str, Experiment], quarantine: Path | None, trained_on: TrainedOn
) -> dict[str, _LoadedTask]:
    """Read the rows of every task before one is refused, so that the faults of all are told at once."""
    ready: dict[str, _LoadedTask] = {}
    refused: list[DataError] = []
    misfits: list[Problem] = []
    changes: list[str] = []
    noting = replace(trained_on, on_change=changes.extend)
    for name, part in parts.items():
        try:
            ready[name] = _ready(part, quarantine, name=name, trained_on=noting)
        except DataError as error:
            refused.append(DataError(f"task {name}: {error}"))
        except ConfigError as error:
            misfits += [Problem(f"task {name}: {each.message}", each.details) for each in error.problems]
    if changes:
        trained_on.on_change(changes)  # first: what else is wrong may be due to the changed files
    if misfits:
        raise ConfigError(misfits)
    if refused:
        raise DataError("\n\n".join(map(str, refused)))
    return ready


def _ready(
    experiment: Experiment,
    quarantine: Path | None,
    *,
    name: str = ALONE,
    record: RunDirectory | None = None,
    trained_on: TrainedOn = NOTHING_KNOWN,
) -> _LoadedTask:
    try:
        splits = experiment.data.load(request_of(experiment, quarantine))
    except BrokenRows as error:
        raise _with_faults_of_the_rest(experiment, error) from error
    # What the weights were trained with comes first: a label that is new in a changed file must not reshape them.
    profile = trained_on.settle(name, splits) or experiment.task.profile(splits.train)
    with trained_on.reading():
        refuse_misfits(experiment, profile)
        experiment.task.head(profile)
    digests = digests_of(name, splits)
    if record is not None:
        _record(record, profile, digests)
    assets = experiment.model.assets()
    with trained_on.reading():
        encoder = build_encoder(experiment.task, profile, assets)
    if isinstance(experiment.data, PreparedFolder):
        refuse_misfit(experiment.data.dir, encoder)
    sound = partial(_sound, experiment=experiment, encoder=encoder, quarantine=quarantine)
    rows = settle_all({split: partial(sound, part, split) for split, part in _parts(splits).items()})
    return _LoadedTask(splits, rows, profile, assets, encoder, digests)


def _with_faults_of_the_rest(experiment: Experiment, error: BrokenRows) -> DataError:
    """Tell broken rows together with those that the task cannot use, as far as it can be asked without the former."""
    try:
        splits = error.rest()
        encoder = experiment.task.encoder(experiment.task.profile(splits.train), experiment.model.assets())
        found = {name: (rows, faults_of(encoder, rows)) for name, rows in _parts(splits).items()}
    except BurnishError:
        return error  # what is wrong besides may well be due to the rows that are missing
    told = {
        name: partial(_settled, rows, faults, split=name, source=experiment.data, broken=error.broken.get(name, ()))
        for name, (rows, faults) in found.items()
    }
    try:
        settle_all(told)
    except DataError as both:
        return both
    return error


def _sizes(rows: Mapping[str, Rows], splits: Splits) -> dict[str, object]:
    sizes: dict[str, object] = {f"{name}_rows": len(part) for name, part in rows.items()}
    lost = sum(len(part) for part in _parts(splits).values()) - sum(len(part) for part in rows.values())
    skipped = lost + sum(splits.facts.get("skipped", {}).values())  # type: ignore[attr-defined]  # counts by split
    told = {name: splits.facts[name] for name in ("validation", "files") if name in splits.facts}
    return {**sizes, **({"skipped_rows": skipped} if skipped else {}), **told}


def _lengths(features: "pa.Table") -> dict[str, object]:
    return dict(drop_report(features)) if "dropped" in features.column_names else {}


def _unseen(features: "Mapping[str, pa.Table]") -> dict[str, object]:
    """Count the cells outside of the training split whose category it did not have, or hardly."""
    tables = [table for name, table in features.items() if name != "train" and "categories" in table.column_names]
    found = sum(map(unseen_cells, tables))
    return {"unseen_categories": found} if found else {}


def request_of(experiment: Experiment, quarantine: Path | None) -> Request:
    """Tell a data source what it needs to know of an experiment."""
    task = experiment.task
    return Request(experiment.runtime.seed, task.stratify, task.training_columns, quarantine)


def _parts(splits: Splits) -> dict[str, Rows]:
    parts = {"train": splits.train, "validation": splits.validation}
    return {**parts, **({} if splits.test is None else {"test": splits.test}), **splits.others}


def _sound(rows: Rows, split: str, *, experiment: Experiment, encoder: Encoder, quarantine: Path | None) -> Rows:
    return _settled(rows, faults_of(encoder, rows), split=split, source=experiment.data, quarantine=quarantine)


def _settled(
    rows: Rows,
    faults: Sequence[RowFault],
    *,
    split: str,
    source: object,
    quarantine: Path | None = None,
    broken: Sequence[BadRow] = (),
) -> Rows:
    return settle(
        rows,
        faults,
        policy=getattr(source, "bad_rows", "error"),
        share=getattr(source, "max_bad_share", 0.0),
        quarantine=quarantine,
        split=split,
        broken=broken,
    )


def _features(experiment: Experiment, ready: _LoadedTask, *, tell: Callable[[str], None]) -> Encode:
    source = experiment.data
    if isinstance(source, PreparedFolder):
        return lambda split, rows: read_features(source.dir, split, encoder=ready.encoder, rows=rows)
    cache = open_cache()

    def encode(split: str, rows: Rows) -> Stored:
        key = _key(experiment, ready, split=split)
        if not cache.has(key):
            tell(f"encoding {len(rows):,} rows of {split}")
        progress = _Progress(split, len(rows), tell)
        return cache.store(key, lambda: encode_parts(ready.encoder, rows, progress=progress))

    return encode


def _key(experiment: Experiment, ready: _LoadedTask, *, split: str) -> dict[str, object]:
    """Give all that shapes the features of a split: bytes, seed, tokenizer, policy and the code that encodes."""
    return {
        "data": ready.splits.fingerprint,
        "seed": experiment.runtime.seed,
        "split": split,
        "rows": len(ready.rows[split]),
        "encoder": dict(ready.encoder.key),
        "code": encoding_code(experiment),
    }


class _Progress:
    """Say how far the encoding is, now and then."""

    def __init__(self, split: str, total: int, tell: Callable[[str], None], *, now: Clock = monotonic) -> None:
        self._split = split
        self._total = total
        self._tell = tell
        self._now = now
        self._told = now()

    def __call__(self, done: int) -> None:
        if done < self._total and self._now() - self._told >= _TOLD_EVERY_SECONDS:
            self._told = self._now()
            self._tell(f"encoded {done:,} of {self._total:,} rows of {self._split}")
