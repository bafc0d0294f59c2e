"""Keeps copies of files and folders from addresses in the cache, fetched once for each version of them."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from burnish.data.cache.features import COMMIT, FILES, FolderLock, open_cache
from burnish.durable import sha256_of, write_durably
from burnish.errors import StorageError
from burnish.storage.remote import Folder, RemoteFile, check_name, keep_trying
from burnish.storage.spool import fetch

Progress = Callable[[int, int], None]


@contextmanager
def hold_staged(address: str) -> Iterator[Path]:
    """Hold the copy of one file for as long as it is needed; it is fetched if there is none of this version."""
    found = keep_trying(Folder(address).file)
    if found is None:
        raise StorageError(f"there is nothing at {address}", is_final=True)
    parent, _, name = address.rpartition("/")
    folder = _stage(Folder(parent), {check_name(name, parent): found}, address=address)
    with FolderLock(folder):
        yield folder / FILES / name


def stage_folder_at(address: str, *, inside: str = "") -> Path:
    """Give a copy of a folder, or of the folder `inside` of it, that stays until this process ends."""
    remote = Folder(f"{address}/{inside}" if inside else address)
    listing = keep_trying(remote.listing)
    if not listing:
        raise StorageError(f"there is nothing at {remote.address}", is_final=True)
    folder = _stage(remote, listing, address=remote.address)
    _hold_until_exit(folder)
    return folder / FILES


@cache
def _hold_until_exit(folder: Path) -> FolderLock:
    """Keep a folder from being pruned: a model is read again whenever a worker starts or a server is asked."""
    return FolderLock(folder)


def _stage(remote: Folder, files: Mapping[str, RemoteFile], *, address: str) -> Path:
    versions = {name: f"{each.version} {each.num_bytes}" for name, each in files.items()}
    key = {"kind": "staged", "address": address, "versions": versions}
    store = open_cache()
    folder = store.root / "staged" / hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    if store.is_staged(folder):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with FolderLock(folder):
        shutil.rmtree(folder / FILES, ignore_errors=True)
        fetch(remote, folder / FILES, files)
        told = {
            name: {"bytes": each.num_bytes, "sha256": sha256_of(folder / FILES / name)} for name, each in files.items()
        }
        total = sum(each.num_bytes for each in files.values())
        commit = {"num_bytes": total, "checksums": [], "key": key, "files": told}
        write_durably(folder / COMMIT, json.dumps(commit, sort_keys=True).encode())
    store.prune(store.max_bytes, spare=folder.name)
    return folder
