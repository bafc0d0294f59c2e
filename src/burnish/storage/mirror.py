"""Copies a folder of this machine to an address as it grows: files first, manifests after them, the ending last."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from burnish.errors import StorageError
from burnish.storage.manifest import NAME as MANIFEST
from burnish.storage.remote import Folder

SLOW_PART = 20
"""A file that grows is uploaded whole again, at most for one second in so many."""
_SMALL_BYTES = 1 << 25
_FIXED = ("checkpoints", "artifact", "quarantine")
"""Folders of a run that appear whole, under their manifests."""
_LAST = "exit.json"
_UNSENT = ("STOP",)

Stamp = tuple[int, int]
"""The size of a file and when it was changed, in nanoseconds: what tells that it must be uploaded again."""


@dataclass
class Mirror:
    """A folder here, its copy there, and what of it was uploaded."""

    local: Path
    remote: Folder
    uploaded: dict[str, Stamp] = field(default_factory=dict)
    is_fixed: bool = False
    """Whether all of it is as a checkpoint: put in place whole, and under a manifest."""
    remember: Callable[[Mapping[str, Stamp]], None] = lambda _uploaded: None
    now: Callable[[], float] = time.monotonic
    _again_at: dict[str, float] = field(default_factory=dict)

    def pending(self) -> int:
        """Count the files that the copy lacks or has in an older form, and those it has too many."""
        there = self._scan()
        return sum(self.uploaded.get(name) != stamp for name, stamp in there.items()) + len(
            self.uploaded - there.keys()
        )

    def publish(self, *, is_last: bool = False) -> None:
        """Upload what changed, then delete what is gone; an error leaves the rest for the next time."""
        # The names first, then the files that grow, then checkpoints: the events of one are there before it is.
        there = self._scan()
        changed = {name for name, stamp in there.items() if self.uploaded.get(name) != stamp}
        # The manifest above a file is withdrawn before the file is replaced; it goes up again in the same pass.
        changed |= {manifest for name in changed for manifest in self._manifests_above(name) if manifest in there}
        is_urgent = is_last or any(self._rank(name) for name in changed)
        for name in sorted(changed, key=lambda name: (self._rank(name), name)):
            if is_urgent or self.now() >= self._again_at.get(name, 0.0):
                self._upload(name)
        gone = sorted(self.uploaded.keys() - there.keys(), key=lambda name: (not _is_manifest(name), name))
        for name in gone:
            self.remote.delete([name])
            self._note(name, None)

    def _upload(self, name: str) -> None:
        # Before a file under a manifest is replaced, the manifest goes: nobody must take old and new for a whole.
        for manifest in self._manifests_above(name):
            if manifest in self.uploaded:
                self.remote.delete([manifest])
                self._note(manifest, None)
        began, path = self.now(), self.local / name
        try:
            found = path.stat()
            stamp = found.st_size, found.st_mtime_ns
            content = path.read_bytes() if found.st_size <= _SMALL_BYTES else None
        except FileNotFoundError:
            return  # it went meanwhile, as a checkpoint does that is not kept
        if content is not None:
            self.remote.write(name, content)
        else:
            self._put_large(name)
        if self._rank(name) == 0 and name in self.uploaded:
            self._again_at[name] = self.now() + SLOW_PART * (self.now() - began)
        self._note(name, stamp)

    def _put_large(self, name: str) -> None:
        path = self.local / name
        try:
            if self._rank(name):
                self.remote.put(name, path)
                return
            with TemporaryDirectory(prefix=".burnish-", dir=self.local) as folder:  # a copy that grows no more
                self.remote.put(name, Path(shutil.copyfile(path, Path(folder, "file"))))
        except (FileNotFoundError, StorageError):
            if path.exists():  # else it went while it was read, and the next pass deletes what came of it
                raise

    def _manifests_above(self, name: str) -> list[str]:
        if not self._rank(name) or _is_manifest(name):
            return []
        return [(parent / MANIFEST).as_posix() for parent in Path(name).parents]

    def _note(self, name: str, stamp: Stamp | None) -> None:
        if stamp is None:
            self.uploaded.pop(name, None)
        else:
            self.uploaded[name] = stamp
        self.remember(self.uploaded)

    def _scan(self) -> dict[str, Stamp]:
        return dict(scan(self.local))

    def _rank(self, name: str) -> int:
        parts = name.split("/")
        if parts[-1] == _LAST:
            return 3
        if _is_manifest(name):
            return 2
        return int(self.is_fixed or not set(_FIXED).isdisjoint(parts))


def scan(folder: Path) -> Iterator[tuple[str, Stamp]]:
    """List the files below a folder that are worth a copy: no hidden ones, no links."""
    for root, names, files in os.walk(folder):
        names[:] = [name for name in names if not name.startswith(".")]
        for file in files:
            path = Path(root, file)
            if file.startswith(".") or file in _UNSENT or path.is_symlink():
                continue
            with suppress(FileNotFoundError):
                found = path.stat()
                yield path.relative_to(folder).as_posix(), (found.st_size, found.st_mtime_ns)


def _is_manifest(name: str) -> bool:
    return name.rpartition("/")[2] == MANIFEST
