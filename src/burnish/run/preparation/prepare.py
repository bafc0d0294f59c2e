"""From an experiment to features on disk: everything that happens before a weight is loaded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic

import pyarrow as pa

from burnish.artifact.foreign import encoding_code
from burnish.data.batching.mixture import Grouped
from burnish.data.cache.features import Stored, open_cache
from burnish.data.cache.spill import encode_parts, find_faults
from burnish.data.inspection.faults import BadRow, BrokenRows, Policy, settle, settle_all
from burnish.data.sources.address import is_url
from burnish.data.tokens.text import drop_report, has_long_texts
from burnish.errors import BurnishError, ConfigError, DataError, Problem
from burnish.run.machine import give_back_memory
from burnish.run.preparation.inputs import NOTHING_KNOWN, TrainedOn, changed_files, digests_of, of_task
from burnish.run.preparation.prepared_data import PreparedData, PreparedTask
from burnish.run.record.directory import RunDirectory, write_json
from burnish.run.selection import refuse_misfits, refuse_unlike
from burnish.spec.experiment import Experiment
from burnish.spec.parts import ALONE, divide_tasks, prefix
from burnish.spec.protocols import DataSource, Encoder, build_encoder
from burnish.spec.values import Profile, RowFault, Rows, Splits
from burnish.tasks.tabular.encoder import unseen_cells

Tell = Callable[[str], None]
Clock = Callable[[], float]

_TOLD_EVERY_SECONDS = 10.0


def prepare(
    experiment: Experiment,
    directory: RunDirectory | None = None,
    *,
    tell: Tell = lambda _sentence: None,
    trained_on: TrainedOn = NOTHING_KNOWN,
) -> PreparedData:
    """Read, profile, check and encode every split; what was found of the data is written into a directory, if given."""
    parts = divide_tasks(experiment)
    quarantine = directory.skipped_rows if directory else None
    if ALONE in parts:
        alone = Preparation(experiment, quarantine=quarantine, trained_on=trained_on, tell=tell)
        return PreparedData({ALONE: alone.encode(alone.load(record=partial(_record, directory)))})
    works = {
        name: Preparation(part, name=name, quarantine=quarantine, tell=partial(_tell_of, name, tell))
        for name, part in parts.items()
    }
    loaded = _load_all(works, trained_on)
    data = PreparedData(loaded)
    _record(directory, data.profile, data.digests)
    refuse_unlike(parts, {name: each.profile for name, each in loaded.items()})
    return PreparedData(
        {
            name: replace(each := works[name].encode(loaded[name]), encoder=Grouped(each.encoder, number))
            for number, name in enumerate(parts)
        }
    )


def feature_keys(experiment: Experiment) -> dict[str, dict[str, object]]:
    """Compute the key of each split's features; read the rows and the tokenizer, encode nothing."""
    works = {name: Preparation(part, name=name) for name, part in divide_tasks(experiment).items()}
    return {
        prefix(name, split): work.key(task, split)
        for name, work in works.items()
        for task in [work.load()]
        for split in task.rows
    }


def digest_data(experiment: Experiment) -> dict[str, str]:
    """Digest the files of every task as they are now, as far as that can be told without reading rows."""
    return {
        prefix(name, file): digest
        for name, part in divide_tasks(experiment).items()
        for file, digest in part.data.digests(Preparation(part, name=name)).items()
    }


def changed_data(experiment: Experiment, known: Mapping[str, str]) -> list[str]:
    """Say which files of an experiment on this machine are not as they were when their digests were recorded."""
    found = digest_data(experiment)
    changes: list[str] = []
    for name in divide_tasks(experiment):
        recorded = of_task(name, known)
        local = {file: digest for file, digest in recorded.items() if not is_url(file.removeprefix(prefix(name, "")))}
        changes += changed_files(local, of_task(name, found))
    return changes


@dataclass(frozen=True)
class Preparation:
    """One task on its way from its source to features; the source is asked with it as the request."""

    experiment: Experiment
    name: str = ALONE
    quarantine: Path | None = None
    """Where rows are written that are left out."""
    trained_on: TrainedOn = NOTHING_KNOWN
    tell: Tell = lambda _sentence: None

    @property
    def seed(self) -> int:
        """What splits are drawn by."""
        return self.experiment.runtime.seed

    @property
    def stratify(self) -> str | None:
        """The column whose classes every split should hold in proportion, if any."""
        return self.experiment.task.stratify

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the task uses."""
        return self.experiment.task.training_columns

    def read(self) -> Splits:
        """Read the rows of every split."""
        return self.experiment.data.load(self)

    def load(self, *, record: Callable[[Profile, Mapping[str, str]], None] = lambda *_: None) -> PreparedTask:
        """Read, profile and check the rows; `record` is called with what was found as soon as it fits the options."""
        experiment, task = self.experiment, self.experiment.task
        try:
            splits = self.read()
        except BrokenRows as error:
            raise self._with_faults_of_the_rest(error) from error
        # What the weights were trained with comes first: a label that is new in a changed file must not reshape them.
        profile = self.trained_on.settle(self.name, splits) or task.profile(splits.train)
        with self.trained_on.reading():
            refuse_misfits(experiment, profile)
            task.head(profile)
        # Slices of columns that are not there are refused now, and not when hours of training are over.
        there = (*splits.train.table.column_names, *getattr(experiment.task, "derived", ()))
        unknown = [name for name in getattr(experiment.task, "slices", ()) if name not in there]
        if unknown:
            sentence = "task.slices: there is no column `{}`; there are {}"
            raise ConfigError([Problem(sentence.format(name, ", ".join(there))) for name in unknown])
        mapped = _count_mapped(experiment, named_splits(splits))
        digests = digests_of(self.name, splits)
        record(profile, digests)
        assets = experiment.model.assets()
        with self.trained_on.reading():
            encoder = build_encoder(task, profile, assets)
        experiment.data.refuse_encoder(encoder)
        rows = settle_all(
            {split: partial(self._sound, encoder, part, split) for split, part in named_splits(splits).items()}
        )
        facts = {**_sizes(rows, splits), **({"mapped_labels": mapped} if mapped else {})}
        return PreparedTask(rows, {}, profile, assets, encoder, facts, digests=digests, fingerprint=splits.fingerprint)

    def encode(self, task: PreparedTask) -> PreparedTask:
        """Encode the rows of every split, or find what was encoded before."""
        mapped = [f"task.label_map: {label}: {count}" for label, count in task.facts.get("mapped_labels", {}).items()]  # type: ignore[attr-defined]  # sentences by label
        for note in (*task.profile.facts.get("notes", ()), *mapped):
            self.tell(note)
        stored = {split: self._features(task, split) for split in task.rows}
        features = {split: each.table for split, each in stored.items()}
        self._tell_of_idle_truncation(features)
        give_back_memory()  # reading and encoding took what training will not need
        return replace(
            task,
            features=features,
            facts={**task.facts, **_lengths(features["train"]), **_unseen(features)},
            releases={split: each.release for split, each in stored.items()},
        )

    def _tell_of_idle_truncation(self, features: Mapping[str, pa.Table]) -> None:
        """Say so where a policy was chosen for long texts, and no text is too long."""
        policy = getattr(self.experiment.task, "truncation", None)
        tables = [table for table in features.values() if "dropped" in table.column_names]
        if policy is None or getattr(policy, "is_usual", False) or any(map(has_long_texts, tables)):
            return
        longest = max((int(drop_report(table)["longest_text"]) for table in tables), default=0)
        place = f"task.tasks.{self.name}" if self.name else "task"
        self.tell(f"{place}.truncation has no effect: the longest text is of {longest} tokens, and all of them fit")

    def key(self, task: PreparedTask, split: str) -> dict[str, object]:
        """Name all that shapes the features of a split: bytes, seed, tokenizer, policy and the code that encodes."""
        return {
            "data": task.fingerprint,
            "seed": self.seed,
            "split": split,
            "rows": len(task.rows[split]),
            "encoder": dict(task.encoder.key),
            "code": encoding_code(self.experiment),
        }

    def _features(self, task: PreparedTask, split: str) -> Stored:
        rows = task.rows[split]
        stored: Stored | None = self.experiment.data.stored_features(split, task.encoder, rows)
        if stored is not None:
            return stored
        cache, key = open_cache(), self.key(task, split)
        if not cache.has(key):
            self.tell(f"encoding {len(rows):,} rows of {split}")
        progress = _Progress(split, len(rows), self.tell)
        return cache.store(key, lambda: encode_parts(task.encoder, rows, progress=progress))

    def _sound(self, encoder: Encoder, rows: Rows, split: str) -> Rows:
        faults = find_faults(encoder, rows)
        return settle_rows(self.experiment.data, rows, faults, split=split, quarantine=self.quarantine)

    def _with_faults_of_the_rest(self, error: BrokenRows) -> DataError:
        """Report broken rows with those that the task cannot use, as far as it can be asked without the former."""
        task, source = self.experiment.task, self.experiment.data
        try:
            splits = error.rest()
            encoder = build_encoder(task, task.profile(splits.train), self.experiment.model.assets())
            found = {name: (rows, find_faults(encoder, rows)) for name, rows in named_splits(splits).items()}
        except BurnishError:
            return error  # what is wrong besides may well be due to the rows that are missing
        settling = {
            name: partial(settle_rows, source, rows, faults, split=name, broken=error.broken.get(name, ()))
            for name, (rows, faults) in found.items()
        }
        try:
            settle_all(settling)
        except DataError as both:
            return both
        return error


def settle_rows(
    source: DataSource,
    rows: Rows,
    faults: Sequence[RowFault],
    *,
    split: str,
    quarantine: Path | None = None,
    broken: Sequence[BadRow] = (),
) -> Rows:
    """Refuse rows that cannot be used, or leave them out where the options of their source allow it."""
    policy: Policy = getattr(source, "bad_rows", "error")
    share = getattr(source, "max_bad_share", 0.0)
    return settle(rows, faults, policy=policy, share=share, quarantine=quarantine, split=split, broken=broken)


def named_splits(splits: Splits) -> dict[str, Rows]:
    """List the splits that there are by name."""
    held = {"train": splits.train, "validation": splits.validation, "test": splits.test}
    return {**{name: rows for name, rows in held.items() if rows is not None}, **splits.others}


def _load_all(works: Mapping[str, Preparation], trained_on: TrainedOn) -> dict[str, PreparedTask]:
    """Read the rows of every task before one is refused, so that the faults of all are reported at once."""
    loaded: dict[str, PreparedTask] = {}
    refused: list[DataError] = []
    misfits: list[Problem] = []
    changes: list[str] = []
    noting = replace(trained_on, on_change=changes.extend)
    for name, work in works.items():
        try:
            loaded[name] = replace(work, trained_on=noting).load()
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
    return loaded


def _record(directory: RunDirectory | None, profile: Profile, digests: Mapping[str, str]) -> None:
    if directory is not None:
        write_json(directory.profile, asdict(profile))
        write_json(directory.data, digests)


def _tell_of(name: str, tell: Tell, sentence: str) -> None:
    tell(f"{name}: {sentence}")


def _count_mapped(experiment: Experiment, splits: Mapping[str, Rows]) -> dict[str, str]:
    """Say of each label that is mapped to another how many rows hold it; refuse one that none holds."""
    counts = {split: experiment.task.count_mapped(rows.table) for split, rows in splits.items()}
    found = {
        label: ", ".join(f"{each[label]:,} in {split}" for split, each in counts.items() if each[label])
        for label in counts["train"]
    }
    sentence = "task.label_map.{}: no row has the label {!r}; write it as it is in the label column, or leave it out"
    unknown = [Problem(sentence.format(label, label)) for label, told in found.items() if not told]
    if unknown:
        raise ConfigError(unknown)
    return found


def _sizes(rows: Mapping[str, Rows], splits: Splits) -> dict[str, object]:
    sizes: dict[str, object] = {f"{name}_rows": len(part) for name, part in rows.items()}
    lost = sum(len(part) for part in named_splits(splits).values()) - sum(len(part) for part in rows.values())
    skipped = lost + sum(splits.facts.get("skipped", {}).values())  # type: ignore[attr-defined]  # counts by split
    told = {name: splits.facts[name] for name in ("validation", "files") if name in splits.facts}
    return {**sizes, **({"skipped_rows": skipped} if skipped else {}), **told}


def _lengths(features: pa.Table) -> dict[str, object]:
    return dict(drop_report(features)) if "dropped" in features.column_names else {}


def _unseen(features: Mapping[str, pa.Table]) -> dict[str, object]:
    """Count the cells outside of the training split whose category it did not have, or hardly."""
    tables = [table for name, table in features.items() if name != "train" and "categories" in table.column_names]
    found = sum(map(unseen_cells, tables))
    return {"unseen_categories": found} if found else {}


class _Progress:
    def __init__(self, split: str, total: int, tell: Tell, *, now: Clock = monotonic) -> None:
        self._split = split
        self._total = total
        self._tell = tell
        self._now = now
        self._told = now()

    def __call__(self, done: int) -> None:
        if done < self._total and self._now() - self._told >= _TOLD_EVERY_SECONDS:
            self._told = self._now()
            self._tell(f"encoded {done:,} of {self._total:,} rows of {self._split}")
