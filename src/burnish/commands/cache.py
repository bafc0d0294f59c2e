"""`burnish cache`: what is kept of data that was read and encoded, why an experiment misses it, and making room."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.commands.config import check
from burnish.data.cache.features import CacheEntry, KeyDifference, open_cache
from burnish.data.cache.sizes import parse_size

_WORDS: Mapping[str, str] = {
    "data": "other data (other bytes in its files, or other options that shape the rows)",
    "encoder.tokenizer": "another tokenizer",
    "encoder.version": "another version of the encoding code",
}


@dataclass(frozen=True)
class CachedTable:
    """A table in the cache."""

    digest: str
    what: str
    """Like `features of train`."""
    num_bytes: int
    last_used: float
    key: Mapping[str, Any]


@dataclass(frozen=True)
class CacheListing:
    """All that is in the cache, most recently used first."""

    root: Path
    max_bytes: int
    entries: tuple[CachedTable, ...]

    @property
    def num_bytes(self) -> int:
        """What all entries take."""
        return sum(entry.num_bytes for entry in self.entries)


@dataclass(frozen=True)
class Lookup:
    """Whether the features of a split are in the cache, and if not, how the nearest entry differs."""

    split: str
    is_cached: bool
    nearest: str | None = None
    reasons: tuple[str, ...] = ()


def ls() -> CacheListing:
    """List what is in the cache."""
    cache = open_cache()
    return CacheListing(cache.root, cache.max_bytes, tuple(map(_describe, cache.entries())))


def why_miss(experiment: str | Path, *, configs: Sequence[Path] = (), overrides: Sequence[str] = ()) -> list[Lookup]:
    """Look the features of each split of an experiment up; where they are not cached, say what differs, in words."""
    from burnish.run.preparation.prepare import feature_keys

    resolved, cache = check(experiment, configs=configs, overrides=overrides), open_cache()
    found = {split: cache.why_miss(key) for split, key in feature_keys(resolved.experiment).items()}
    lookups = []
    for split, miss in found.items():
        nearest = miss.nearest.digest if miss and miss.nearest else None
        reasons = map(_explain, miss.differences) if miss else ()
        lookups.append(Lookup(split, miss is None, nearest, tuple(reasons)))
    return lookups


def verify() -> tuple[CachedTable, ...]:
    """Read every byte of the cache, and remove the entries that changed since they were written."""
    return tuple(map(_describe, open_cache().verify()))


def prune(*, max_size: str | None = None) -> tuple[CachedTable, ...]:
    """Remove the least recently used entries beyond a size like `5GB`, by default the cache's own bound."""
    cache = open_cache()
    max_bytes = cache.max_bytes if max_size is None else parse_size(max_size, option="--max")
    return tuple(map(_describe, cache.prune(max_bytes)))


def _describe(entry: CacheEntry) -> CachedTable:
    key = entry.key
    kinds = {"rows": "rows of a file", "staged": f"copy of {key.get('address')}"}
    what = kinds.get(str(key.get("kind")), f"features of {key.get('split', 'a file')}")
    return CachedTable(entry.digest, what, entry.num_bytes, entry.last_used, key)


def _explain(difference: KeyDifference) -> str:
    if difference.field in _WORDS:
        return _WORDS[difference.field]
    if difference.field.startswith("encoder.truncation."):
        return f"another truncation policy ({str(difference).removeprefix('encoder.')})"
    if difference.field.startswith("code."):
        return f"another version of {difference.field.removeprefix('code.')}"
    return str(difference).removeprefix("encoder.")
