"""From an experiment to features on disk: everything that happens before a weight is loaded."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from burnish.data.cache import FeatureCache, cache_root
from burnish.data.faults import settle
from burnish.data.text import drop_report
from burnish.run.directory import RunDirectory, write_json
from burnish.spec.experiment import Experiment
from burnish.spec.protocols import Assets, Encoder
from burnish.spec.values import Draw, Profile, Rows, Splits

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.spec.values import Batch


Encode = Callable[[str, Rows], "pa.Table"]


@dataclass(frozen=True)
class Request:
    """What a data source is told of the run."""

    seed: int
    stratify: str | None
    columns: tuple[str, ...]
    quarantine: Path | None


@dataclass(frozen=True)
class Prepared:
    """Data that is ready to train on."""

    rows: Mapping[str, Rows]
    features: "Mapping[str, pa.Table]"
    profile: Profile
    assets: Assets
    encoder: Encoder
    facts: Mapping[str, object]

    def batch_of(self, split: str) -> "Batch":
        """Give all rows of a split as one batch, as they are when predicted."""
        features = self.features[split]
        draw = Draw(seed=0, epoch=0, is_training=False)
        return self.encoder.collate(features, np.arange(features.num_rows), draw)


def prepare(
    experiment: Experiment, directory: RunDirectory, *, tell: Callable[[str], None], is_recorded: bool = True
) -> Prepared:
    """Read, profile, check and encode every split; unless it is recorded, leave no trace in the directory."""
    quarantine = directory.skipped_rows if is_recorded else None
    splits = experiment.data.load(request_of(experiment, quarantine))
    profile = experiment.task.profile(splits.train)
    if is_recorded:
        write_json(directory.profile, asdict(profile))
    assets = experiment.model.assets()
    encoder = experiment.task.encoder(profile, assets)
    rows = {
        name: _sound(part, name, experiment, encoder=encoder, quarantine=quarantine)
        for name, part in _parts(splits).items()
    }
    encode = _features(experiment, splits, encoder, tell=tell)
    features = {name: encode(name, part) for name, part in rows.items()}
    facts = {**_sizes(rows, splits), **_lengths(features["train"])}
    return Prepared(rows, features, profile, assets, encoder, facts)


def _sizes(rows: Mapping[str, Rows], splits: Splits) -> dict[str, object]:
    sizes: dict[str, object] = {f"{name}_rows": len(part) for name, part in rows.items()}
    lost = sum(len(part) for part in _parts(splits).values()) - sum(len(part) for part in rows.values())
    skipped = lost + sum(splits.facts.get("skipped", {}).values())  # type: ignore[attr-defined]  # counts by split
    told = {name: splits.facts[name] for name in ("validation", "files") if name in splits.facts}
    return {**sizes, **({"skipped_rows": skipped} if skipped else {}), **told}


def _lengths(features: "pa.Table") -> dict[str, object]:
    return dict(drop_report(features)) if "dropped" in features.column_names else {}


def request_of(experiment: Experiment, quarantine: Path | None) -> Request:
    """Tell a data source what it needs to know of an experiment."""
    task = experiment.task
    return Request(experiment.runtime.seed, task.stratify, task.columns, quarantine)


def _parts(splits: Splits) -> dict[str, Rows]:
    parts = {"train": splits.train, "validation": splits.validation}
    return parts if splits.test is None else {**parts, "test": splits.test}


def _sound(rows: Rows, split: str, experiment: Experiment, *, encoder: Encoder, quarantine: Path | None) -> Rows:
    return settle(
        rows,
        encoder.faults(rows),
        policy=getattr(experiment.data, "bad_rows", "error"),
        share=getattr(experiment.data, "max_bad_share", 0.0),
        quarantine=quarantine,
        split=split,
    )


def _features(experiment: Experiment, splits: Splits, encoder: Encoder, *, tell: Callable[[str], None]) -> Encode:
    cache = FeatureCache(cache_root())

    def encode(split: str, rows: Rows) -> "pa.Table":
        key = {
            "data": splits.fingerprint,
            "seed": experiment.runtime.seed,
            "split": split,
            "rows": len(rows),
            "encoder": dict(encoder.key),
        }
        if not cache.has(key):
            tell(f"encoding {len(rows):,} rows of {split}")
        return cache.fetch(key, lambda: encoder.encode(rows.table))

    return encode
