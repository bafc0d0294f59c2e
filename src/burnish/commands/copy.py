"""`burnish cp`: files and folders between this machine and addresses, manifests last; a second call does the rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from burnish.errors import StorageError
from burnish.storage.address import read_address
from burnish.storage.manifest import NAME as MANIFEST
from burnish.storage.remote import Folder, is_same, keep_trying

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Copied:
    """What a copy did."""

    source: str
    target: str
    num_files: int
    num_copied: int
    """The others were there already, with the same bytes."""


def cp(source: str, target: str, *, progress: Progress = lambda done, total: None) -> Copied:
    """Copy a file or a folder; what the target has already, by size and checksum, is not copied again."""
    there, here = read_address(source), read_address(target)
    if there is None and here is None:
        raise StorageError(
            "cp copies from or to an address, like gs://bucket/folder; for local files, use the system's cp"
        )
    if there is None:
        return _upload(source, str(here), progress)
    if here is None:
        return _download(there, Path(target).expanduser(), source, progress)
    with TemporaryDirectory(prefix="burnish-") as folder:
        place = Path(folder, there.rpartition("/")[2])
        _download(there, place, source, lambda done, total: None)
        return _upload(str(place), here, progress)


def _upload(source: str, address: str, progress: Progress) -> Copied:
    path = Path(source).expanduser()
    if not path.exists():
        raise StorageError(f"{source} is not there; name a file or a folder")
    files, remote = {path.name: path} if path.is_file() else _walk(path), Folder(address)
    parent, _, name = address.rpartition("/")
    if path.is_file() and path.suffix and name.endswith(path.suffix) and not parent.endswith("/"):
        files, remote = {name: path}, Folder(parent)  # the name of the file there, and no folder
    known = keep_trying(remote.listing)
    remote.probe()
    copied = 0
    for done, name in enumerate(_in_order(files), start=1):
        if name not in known or not is_same(files[name], known[name]):
            keep_trying(lambda name=name: remote.put(name, files[name]))  # type: ignore[misc]  # bound at once
            copied += 1
        progress(done, len(files))
    return Copied(source, address, len(files), copied)


def _download(address: str, path: Path, source: str, progress: Progress) -> Copied:
    remote = Folder(address)
    single = keep_trying(remote.file)
    if single is None:
        listing = keep_trying(remote.listing)
        places = {name: path / name for name in listing}
    else:
        parent, _, name = address.rpartition("/")
        remote, listing = Folder(parent), {name: single}
        places = {name: path / name if path.is_dir() else path}
    if not listing:
        raise StorageError(f"there is nothing at {address}", is_final=True)
    copied = 0
    for done, name in enumerate(_in_order(listing), start=1):
        if not is_same(places[name], listing[name]):
            remote.get(name, places[name], expected=listing[name])
            copied += 1
        progress(done, len(listing))
    return Copied(source, str(path), len(listing), copied)


def _walk(path: Path) -> dict[str, Path]:
    """List every file below a folder, also hidden ones, but no links: they may lead anywhere."""
    return {
        each.relative_to(path).as_posix(): each
        for each in sorted(path.rglob("*"))
        if each.is_file() and not each.is_symlink()
    }


def _in_order(names: Mapping[str, object]) -> list[str]:
    return sorted(names, key=lambda name: (name.rpartition("/")[2] == MANIFEST, name))
