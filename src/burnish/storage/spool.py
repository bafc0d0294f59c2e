"""The working copy of a run at an address: where it is on this machine, and how it is brought back from a bucket."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from burnish.durable import read_json, write_durably
from burnish.errors import CheckpointError, StorageError
from burnish.storage.lease import PREFIX, Lease, newest_owner, take
from burnish.storage.manifest import NAME as MANIFEST
from burnish.storage.mirror import Stamp, scan
from burnish.storage.publisher import STOP
from burnish.storage.remote import Folder, RemoteFile, keep_trying

PLAN, ENDING, LOCK = "plan.yaml", "exit.json", "lock.json"
_LARGE = ("checkpoints/", "artifact/", "tensorboard/")
_INDEX = "index.json"


@dataclass
class Spool:
    """A folder for one address: the run, and what of it is known to be in the bucket."""

    root: Path
    remote: Folder

    @property
    def path(self) -> Path:
        """The run directory on this machine."""
        return self.root / (self.remote.name or "run")

    @contextmanager
    def held(self, *, tell: Callable[[str], None]) -> "Iterator[tuple[Lease, dict[str, Stamp]]]":
        """Hold the address for this machine, and make the copy here the newest there is; give what is uploaded of it.

        The copy here is the truth if it was the last to be uploaded. Else another machine has gone on: the bucket is
        brought here, and an older copy is put aside.
        """
        with self._locked():
            index, before = self._read(), keep_trying(lambda: newest_owner(self.remote))
            is_ours = before is not None and index.get("owner") == before and (self.path / PLAN).is_file()
            lease = take(self.remote, index["owner"] if is_ours else uuid4().hex, tell=tell)
            keep_trying(lambda: self.remote.delete([STOP]))  # it was for a run that has ended
            listing = keep_trying(self.remote.listing)
            if not is_ours:
                self._bring_back(listing, lease.owner, is_known=bool(index), tell=tell)
            stamps = self._read()["uploaded"].items()
            yield lease, {name: (stamp[0], stamp[1]) for name, stamp in stamps if name in listing}

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / ".lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise CheckpointError(
                    f"{self.remote.address} is being trained by another process of this machine; wait for it, or stop "
                    f"it with `burnish runs stop {self.remote.address}`"
                ) from error
            yield

    def _bring_back(
        self, listing: Mapping[str, RemoteFile], owner: str, *, is_known: bool, tell: Callable[[str], None]
    ) -> None:
        others = [name for name in listing if not name.startswith(PREFIX)]
        if others and PLAN not in listing:
            raise CheckpointError(
                f"{self.remote.address} holds {others[0]} but no run; name an empty or new folder with --dir, "
                "or clear it first"
            )
        if is_known and (self.path / PLAN).is_file():
            aside = next(place for number in count(1) if not (place := Path(f"{self.path}.old-{number}")).exists())
            os.replace(self.path, aside)
            tell(f"{self.remote.address} was changed elsewhere; the older copy of this machine is in {aside}")
        # In this order: a crash below leaves a folder without an index, which is brought back anew.
        (self.root / _INDEX).unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)
        names = _wanted(listing, is_finished=self._is_finished(listing))
        if names:
            tell(f"bringing {len(names):,} files back from {self.remote.address}")
        fetch(self.remote, self.path, {name: listing[name] for name in names})
        self.remember(owner, {name: stamp for name, stamp in scan(self.path) if name in names})

    def _is_finished(self, listing: Mapping[str, RemoteFile]) -> bool:
        if ENDING not in listing:
            return False
        try:
            ending = json.loads(self.remote.read(ENDING))
        except ValueError:
            return False
        return isinstance(ending, dict) and ending.get("reason") in ("finished", "early_stopping")

    def remember(self, owner: str, uploaded: Mapping[str, Stamp]) -> None:
        """Write down what is uploaded; after a crash, files that are not listed are uploaded once more."""
        self.root.mkdir(parents=True, exist_ok=True)
        content = {"address": self.remote.address, "owner": owner, "uploaded": dict(uploaded)}
        write_durably(self.root / _INDEX, json.dumps(content).encode())

    def _read(self) -> dict[str, Any]:
        try:
            content = read_json(self.root / _INDEX)
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) and isinstance(content.get("uploaded"), dict) else {}


def spool_for(address: str) -> Spool:
    """Find the working copy of an address, below $BURNISH_STATE or ~/.local/state/burnish."""
    digest = hashlib.sha256(address.encode()).hexdigest()[:16]
    return Spool(_state() / "spool" / digest, Folder(address))


def _state() -> Path:
    named = os.environ.get("BURNISH_STATE")
    return Path(named).expanduser() if named else Path.home() / ".local" / "state" / "burnish"


def view_root() -> Path:
    """Where the small files of runs in buckets are kept that somebody looked at."""
    return _state() / "views"


def view(address: str, root: Path, *, is_whole: bool = False) -> Path:
    """Bring the small files of a run here to be looked at, or all of it; those that are here and the same stay."""
    remote = Folder(address)
    folder = root / hashlib.sha256(address.encode()).hexdigest()[:16]
    listing = remote.listing()
    names = [
        name
        for name in listing
        if not name.startswith(PREFIX) and (is_whole or _is_manifest(name) or not _is_large(name))
    ]
    known = folder / "versions.json"
    try:
        seen = read_json(known)
    except (OSError, ValueError):
        seen = {}
    path = folder / (remote.name or "run")
    same = {name for name in names if seen.get(name) == listing[name].version and (path / name).is_file()}
    for name, _ in list(scan(path)) if path.is_dir() else []:
        if name not in names and not (is_whole is False and _is_large(name) and name in listing):
            (path / name).unlink(missing_ok=True)
    fetch(remote, path, {name: listing[name] for name in names if name not in same}, is_live=True)
    if names:
        write_durably(known, json.dumps({**seen, **{name: listing[name].version for name in names}}).encode())
    return path


def fetch(
    remote: Folder,
    local: Path,
    files: Mapping[str, RemoteFile],
    *,
    is_live: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Fetch objects into a folder, manifests after the files they vouch for; those of a live run may be gone by now."""
    for done, name in enumerate(sorted(files, key=lambda name: (_is_manifest(name), name)), start=1):
        try:
            remote.get(name, local / name, expected=files[name])
        except StorageError:
            if not is_live or remote.has(name):
                raise
        progress(done, len(files))


def _wanted(listing: Mapping[str, RemoteFile], *, is_finished: bool) -> list[str]:
    """Choose what a run goes on from: no checkpoint whose manifest is not there, none at all of one that has ended."""
    whole = {name.rpartition("/")[0] for name in listing if _is_manifest(name)}
    return [
        name
        for name in listing
        if not name.startswith(".")
        and name not in (LOCK, STOP)
        and not (name.startswith("checkpoints/") and (is_finished or not _is_below(name, whole)))
    ]


def _is_below(name: str, folders: Collection[str]) -> bool:
    return any(parent.as_posix() in folders for parent in Path(name).parents)


def _is_large(name: str) -> bool:
    return name.startswith(_LARGE)


def _is_manifest(name: str) -> bool:
    return name.rpartition("/")[2] == MANIFEST
