"""Small files and folders of a job at its address: read, written and fetched, with new tries while a bucket is away."""

import shutil
from contextlib import suppress
from pathlib import Path

from burnish.storage.lease import PREFIX
from burnish.storage.remote import Folder, keep_trying
from burnish.storage.spool import fetch


def read_remote(address: str) -> bytes | None:
    """Read a small file; None if it is not there."""
    place = Folder(address)
    return None if keep_trying(place.file) is None else keep_trying(place.read)


def write_remote(address: str, content: bytes) -> None:
    """Write a small file."""
    parent, _, name = address.rpartition("/")
    keep_trying(lambda: Folder(parent).write(name, content))


def list_remote(address: str) -> list[str]:
    """List the files below an address, relative to it, in order."""
    return [*keep_trying(Folder(address).listing)]


def upload(path: Path, address: str) -> None:
    """Send a file, and see that it came whole."""
    parent, _, name = address.rpartition("/")
    keep_trying(lambda: Folder(parent).put(name, path))


def download(address: str, folder: Path) -> int:
    """Fetch all files below an address into a folder; returns how many. No name leads out of the folder."""
    place = Folder(address)
    files = keep_trying(place.listing)
    fetch(place, folder, files)
    return len(files)


def remove_remote(address: str) -> None:
    """Delete the file at an address, or all below it; of a path, the folders as well."""
    path = Path(address.removeprefix("file://"))
    is_here = "://" not in str(address).removeprefix("file://")
    if is_here and path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    elif is_here:
        path.unlink(missing_ok=True)
    else:
        place = Folder(address)
        keep_trying(lambda: place.delete([""] if place.file() else place.listing()))


def try_folder(address: str) -> str:
    """Write and remove a file where the folders of jobs go; folders that this makes on a disk are removed as well."""
    made = [] if "://" in address else [Path(address, PREFIX), *Path(address, PREFIX).parents]
    made = [folder for folder in made if not folder.exists()]
    keep_trying(Folder(address).probe)
    for folder in made:
        with suppress(OSError):  # somebody else has put something there
            folder.rmdir()
    return f"{address} is there and can be written"
