"""Keeps encoded features on disk, keyed by the content of everything that shaped them, and maps them into memory."""

from __future__ import annotations

import fcntl
import hashlib
import json
import mmap
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa

from burnish.data.cache.sizes import parse_size
from burnish.durable import replace_durably, sha256_of, write_durably
from burnish.errors import DataError

Key = Mapping[str, object]
Make = Callable[[], pa.Table | Iterable[pa.Table]]

_FEATURES = "features.arrow"
COMMIT = "key.json"
FILES = "files"
"""Below an entry: copies of files from addresses, by name."""
_BLOCK = 1 << 20
_BLOCKS_LOOKED_AT = 16
_DEFAULT_MAX_BYTES = 20 * 10**9
_ABANDONED_AFTER_SECONDS = 24 * 3600


def cache_root(environment: Mapping[str, str] | None = None) -> Path:
    """Tell where the cache lives: $BURNISH_CACHE, or ~/.cache/burnish."""
    # asked for at each call: `datasets` puts another mapping in the place of os.environ
    named = (os.environ if environment is None else environment).get("BURNISH_CACHE")
    if named:
        return Path(os.path.expanduser(named))
    try:
        return Path.home() / ".cache" / "burnish"
    except RuntimeError as error:
        raise DataError(
            "there is nowhere to cache features, because this user has no home directory; set BURNISH_CACHE to a folder"
        ) from error


def open_cache(environment: Mapping[str, str] | None = None) -> FeatureCache:
    """Open the cache that the environment names, with room for $BURNISH_CACHE_MAX bytes, 20GB by default."""
    environment = os.environ if environment is None else environment
    written = environment.get("BURNISH_CACHE_MAX")
    max_bytes = parse_size(written, option="BURNISH_CACHE_MAX") if written else _DEFAULT_MAX_BYTES
    return FeatureCache(cache_root(environment), max_bytes)


@dataclass(frozen=True)
class CacheEntry:
    """One table of features that is there in full."""

    digest: str
    key: Mapping[str, Any]
    num_bytes: int
    last_used: float
    """Seconds since 1970."""
    checksums: Sequence[int] = field(default=(), repr=False)
    """Of each block of the file."""
    files: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """For copies from an address: the size and SHA-256 of each, by name."""


@dataclass(frozen=True)
class KeyDifference:
    """A field in which two keys differ; a field that one of them lacks is None there."""

    field: str
    wanted: object
    cached: object

    def __str__(self) -> str:
        return f"{self.field} is {_brief(self.wanted)} here and {_brief(self.cached)} there"


@dataclass(frozen=True)
class Miss:
    """Why a table is not in the cache, and the entry that comes nearest."""

    nearest: CacheEntry | None
    differences: tuple[KeyDifference, ...]


@dataclass(frozen=True)
class FeatureCache:
    """Find or make tables under `root/features/<sha256 of the key>/`; an entry exists when its key.json does."""

    root: Path
    max_bytes: int = _DEFAULT_MAX_BYTES
    """Room for all entries; the least recently used go first."""
    now: Callable[[], float] = time.time

    def store(self, key: Key, make: Make) -> Stored:
        """Open the memory-mapped table of this key; on a miss, write what `make` gives, whole or part by part."""
        folder = self._folder(key)
        found = self._open(folder)
        if found is None:
            made = make()
            with _explain_unwritable(self.root):
                folder.mkdir(parents=True, exist_ok=True)
                with FolderLock(folder):  # or it could be pruned between the writing and the opening
                    _write(folder, key, (made,) if isinstance(made, pa.Table) else made)
                    found = self._open(folder)
            self.prune(self.max_bytes, spare=folder.name)
        if found is None:
            raise DataError(
                f"{folder} vanished as soon as it was written, so another process is emptying this cache; "
                f"set BURNISH_CACHE to a folder that only this run uses"
            )
        return found

    def has(self, key: Key) -> bool:
        """Tell whether this key would be found."""
        return _read_entry(self._folder(key)) is not None

    def entries(self) -> tuple[CacheEntry, ...]:
        """List what is there in full, most recently used first."""
        found = (_read_entry(folder) for folder in self._folders())
        return tuple(sorted((entry for entry in found if entry), key=lambda entry: -entry.last_used))

    def why_miss(self, key: Key) -> Miss | None:
        """Name the fields in which the nearest entry differs; None when the key would be found."""
        if self.has(key):
            return None
        wanted = json.loads(_canonical(key))
        compared = [(entry, tuple(differences(wanted, entry.key))) for entry in self.entries()]
        # An entry of this very key that is damaged is not among the entries, so every one here differs somewhere.
        # Those of the same split come first, for others always differ in their rows too.
        split = wanted.get("split")
        nearest = min(compared, key=lambda pair: (pair[0].key.get("split") != split, len(pair[1])), default=(None, ()))
        return Miss(*nearest)

    def prune(self, max_bytes: int, *, spare: str | None = None) -> tuple[CacheEntry, ...]:
        """Remove the least recently used entries beyond `max_bytes`, and what crashed writers left; tell which went.

        What anyone on this machine has mapped, or is writing, stays.
        """
        for folder in self._folders():
            with suppress(OSError):
                if _read_entry(folder) is None and self.now() - folder.stat().st_mtime > _ABANDONED_AFTER_SECONDS:
                    _remove(folder)
        removed: list[CacheEntry] = []
        total = 0
        for entry in sorted(self.entries(), key=lambda entry: entry.digest != spare):
            total += entry.num_bytes
            is_spared = total <= max_bytes or entry.digest == spare
            if not is_spared and _remove(self._at(entry)):
                removed.append(entry)
                total -= entry.num_bytes
        return tuple(removed)

    def verify(self) -> tuple[CacheEntry, ...]:
        """Read every byte of every entry; remove those that changed since they were written, and tell which."""
        damaged = [entry for entry in self.entries() if not _is_intact(self._at(entry), entry)]
        for entry in damaged:
            _remove(self._at(entry))
        return tuple(damaged)

    def is_staged(self, folder: Path) -> bool:
        """Tell whether the copies in a folder are all there, and note that they are used."""
        is_there = _read_entry(folder) is not None
        if is_there:
            with suppress(OSError):
                os.utime(folder / COMMIT, (self.now(), self.now()))
        return is_there

    def _at(self, entry: CacheEntry) -> Path:
        return self.root / ("staged" if entry.files else "features") / entry.digest

    def _folder(self, key: Key) -> Path:
        return self.root / "features" / hashlib.sha256(_canonical(key).encode()).hexdigest()

    def _folders(self) -> Iterator[Path]:
        for kind in ("features", "staged"):
            with suppress(FileNotFoundError):
                yield from sorted(path for path in (self.root / kind).iterdir() if path.is_dir())

    def _open(self, folder: Path) -> Stored | None:
        try:
            lock = FolderLock(folder)  # first: from here on nobody removes what is read
            entry = _read_entry(folder)
            if entry is None or not _is_sound(folder, _sample_blocks(entry.checksums, at=int(self.now()))):
                return None
            stored = open_stored(folder / _FEATURES, digest=folder.name, lock=lock)
        except (OSError, ValueError, pa.ArrowInvalid):
            return None
        with suppress(OSError):  # a cache that may only be read still serves
            os.utime(folder / COMMIT, (self.now(), self.now()))
        return stored


def _write(folder: Path, key: Key, parts: Iterable[pa.Table]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    num_bytes, checksums = replace_durably(folder / _FEATURES, lambda temporary: _write_parts(temporary, parts))
    pa.default_memory_pool().release_unused()  # Arrow would keep what the parts took, as much as a small table
    # Last, for it is the commit point: a reader believes a table only when its size and checksums are here.
    commit = {"num_bytes": num_bytes, "checksums": checksums, "key": key}
    write_durably(folder / COMMIT, _canonical(commit).encode())


def _write_parts(path: Path, parts: Iterable[pa.Table]) -> tuple[int, list[int]]:
    """Write the parts as one table; give how many bytes it has, and the checksum of each block."""
    writer = None
    with path.open("wb") as file:
        for part in parts:
            writer = writer or pa.ipc.new_file(file, part.schema)
            writer.write_table(part)
        assert writer is not None, "features have at least one part, be it empty"
        writer.close()
        num_bytes = file.tell()
    with path.open("rb") as file:
        return num_bytes, [crc32(block) for block in iter(lambda: file.read(_BLOCK), b"")]


def _sample_blocks(checksums: Sequence[int], *, at: int) -> Iterable[tuple[int, int]]:
    """Choose blocks to look at whenever a table is opened: all of a small one, of a large one others each time."""
    step = max(1, len(checksums) // _BLOCKS_LOOKED_AT)
    return [(number, checksums[number]) for number in range(at % step, len(checksums), step)]


def _is_sound(folder: Path, blocks: Iterable[tuple[int, int]]) -> bool:
    try:
        with (folder / _FEATURES).open("rb") as file:
            return all(file.seek(number * _BLOCK) >= 0 and crc32(file.read(_BLOCK)) == sum_ for number, sum_ in blocks)
    except OSError:
        return False


def _is_intact(folder: Path, entry: CacheEntry) -> bool:
    if not entry.files:
        return _is_sound(folder, enumerate(entry.checksums))
    try:
        return all(sha256_of(folder / FILES / name) == each["sha256"] for name, each in entry.files.items())
    except (OSError, KeyError, TypeError):
        return False


def _read_entry(folder: Path) -> CacheEntry | None:
    """Read an entry that is committed and has its full size; anything else counts as absent."""
    try:
        commit = json.loads((folder / COMMIT).read_bytes())
        num_bytes, key, checksums = int(commit["num_bytes"]), dict(commit["key"]), [*map(int, commit["checksums"])]
        files = dict(commit.get("files", {}))
        sizes = {FILES + "/" + name: each["bytes"] for name, each in files.items()} or {_FEATURES: num_bytes}
        if any((folder / name).stat().st_size != size for name, size in sizes.items()):
            return None
        return CacheEntry(folder.name, key, num_bytes, (folder / COMMIT).stat().st_mtime, checksums, files)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def _remove(folder: Path) -> bool:
    """Remove an entry that nobody holds; tell whether it went."""
    try:
        with FolderLock(folder, alone=True):
            (folder / COMMIT).unlink(missing_ok=True)  # first: a half-removed entry must read as absent
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return False
    return True


def _canonical(key: Key) -> str:
    return json.dumps(key, sort_keys=True, ensure_ascii=False, default=dict)  # any Mapping counts as a dict


def differences(wanted: object, cached: object, *, field: str = "") -> Iterator[KeyDifference]:
    """Find the fields in which two keys, read as JSON, are not the same."""
    if isinstance(wanted, dict) and isinstance(cached, dict):
        for name in sorted(wanted.keys() | cached.keys()):
            yield from differences(wanted.get(name), cached.get(name), field=f"{field}.{name}".lstrip("."))
    elif wanted != cached:
        yield KeyDifference(field, wanted, cached)


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:24]}…"


@contextmanager
def _explain_unwritable(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"the feature cache in {root} cannot be written ({error.strerror or error}); "
            f"free some space, or set BURNISH_CACHE to a folder with room"
        ) from error


@dataclass(frozen=True)
class Stored:
    """A table in a file; memory holds only what is being looked at."""

    digest: str
    """Tells this content from any other."""
    table: pa.Table
    release: Callable[[], None]
    """Give back the memory of all that was looked at so far; looking again brings it back."""


class FolderLock:
    """Hold a folder against removal, together with others or alone, until it is closed or forgotten."""

    def __init__(self, folder: Path, *, alone: bool = False) -> None:
        self._handle: int | None = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Let go; closing twice is harmless."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(AttributeError):  # there is no handle if the folder was not there
            self.close()


class _Map(mmap.mmap):
    lock: FolderLock | None = None
    """Lives as long as the bytes are in reach, for Arrow's buffers keep this object."""


def open_stored(path: Path, *, digest: str, lock: FolderLock | None = None) -> Stored:
    """Map an Arrow file; OSError or ArrowInvalid if it is none."""
    with path.open("rb") as file:
        mapped = _Map(file.fileno(), 0, access=mmap.ACCESS_READ)
    mapped.lock = lock
    table = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped))).read_all()
    mapped.madvise(mmap.MADV_DONTNEED)  # opening looked into every part
    return Stored(digest, table, lambda: mapped.madvise(mmap.MADV_DONTNEED))
