"""`burnish cache`: what is kept of data that was read and encoded, why an experiment misses it, and making room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.commands.config import check

if TYPE_CHECKING:
    from burnish.data.cache.features import CacheEntry, KeyDifference

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
        """Add up what the entries take."""
        return sum(entry.num_bytes for entry in self.entries)


@dataclass(frozen=True)
class Lookup:
    """Whether the features of a split are in the cache, and if not, how the nearest entry differs."""

    split: str
    is_cached: bool
    nearest: str | None
    reasons: tuple[str, ...]


def ls() -> CacheListing:
    """List what is in the cache."""
    from burnish.data.cache.features import open_cache

    cache = open_cache()
    return CacheListing(cache.root, cache.max_bytes, tuple(map(_entry, cache.entries())))


def why_miss(experiment: str | Path, *, configs: Sequence[Path] = (), overrides: Sequence[str] = ()) -> list[Lookup]:
    """Tell for each split of an experiment whether its features are cached; if not, what differs, in words."""
    from burnish.data.cache.features import open_cache
    from burnish.run.preparation.prepare import feature_keys

    resolved = check(str(experiment), configs=[str(path) for path in configs], overrides=overrides)
    cache = open_cache()
    return [_lookup(cache.why_miss(key), split) for split, key in feature_keys(resolved.experiment).items()]


def verify() -> tuple[CachedTable, ...]:
    """Read every byte of the cache, and remove the entries that changed since they were written."""
    from burnish.data.cache.features import open_cache

    return tuple(map(_entry, open_cache().verify()))


def prune(*, max_size: str | None = None) -> tuple[CachedTable, ...]:
    """Remove the least recently used entries beyond a size like `5GB`, by default the cache's own bound."""
    from burnish.data.cache.features import open_cache
    from burnish.data.cache.sizes import parse_size

    cache = open_cache()
    max_bytes = cache.max_bytes if max_size is None else parse_size(max_size, option="--max")
    return tuple(map(_entry, cache.prune(max_bytes)))


def _entry(entry: CacheEntry) -> CachedTable:
    key = entry.key
    what = "rows of a file" if key.get("kind") == "rows" else f"features of {key.get('split', 'a file')}"
    return CachedTable(entry.digest, what, entry.num_bytes, entry.last_used, key)


def _lookup(miss: Any, split: str) -> Lookup:  # a Miss or None, of a module that is heavy to import
    if miss is None:
        return Lookup(split, is_cached=True, nearest=None, reasons=())
    nearest = None if miss.nearest is None else miss.nearest.digest
    return Lookup(split, is_cached=False, nearest=nearest, reasons=tuple(map(_in_words, miss.differences)))


def _in_words(difference: KeyDifference) -> str:
    if difference.field in _WORDS:
        return _WORDS[difference.field]
    if difference.field.startswith("encoder.truncation."):
        return f"another truncation policy ({str(difference).removeprefix('encoder.')})"
    if difference.field.startswith("code."):
        return f"another version of {difference.field.removeprefix('code.')}"
    return str(difference).removeprefix("encoder.")
