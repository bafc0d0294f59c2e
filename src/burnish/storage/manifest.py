"""A folder exists when its manifest does: files first, manifest with sizes and SHA-256 last."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from burnish.durable import read_json, sha256_of, sync_file, sync_folder, write_durably

NAME = "MANIFEST.json"


def commit(folder: Path, facts: Mapping[str, Any]) -> None:
    """Sync every file below a folder, then write its manifest: the moment it begins to exist."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != NAME)
    for path in files:
        sync_file(path)
    for directory in {path.parent for path in files}:
        sync_folder(directory)
    listing = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": sha256_of(path)} for path in files
    }
    content = {**facts, "files": listing}
    text = json.dumps({**content, "digest": _digest(content)}, indent=1, sort_keys=True)
    write_durably(folder / NAME, text.encode())


def read(folder: Path) -> dict[str, Any] | None:
    """Read a folder's manifest; None when there is none, or it cannot be understood, or it was changed."""
    try:
        content = read_json(folder / NAME)
    except (OSError, ValueError):
        return None
    if not _is_manifest(content):
        return None
    digest = content.pop("digest", None)
    return content if digest in (None, _digest(content)) else None


def _is_manifest(content: Any) -> bool:
    files = content.get("files") if isinstance(content, dict) else None
    return isinstance(files, dict) and all(
        isinstance(facts, dict) and type(facts.get("bytes")) is int and isinstance(facts.get("sha256"), str)
        for facts in files.values()
    )


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def fault(folder: Path, *, needs: Collection[str] = (), complete: Collection[str] = ()) -> str | None:
    """Say what is wrong with a folder by its manifest, or None when every file is as it was written.

    A file that the reader needs must be listed, or nothing would vouch for it. So must all files that are `complete`,
    or below such a folder, because libraries look there for files of many names.
    """
    content = read(folder)
    if content is None:
        return f"{NAME} is missing, unreadable or changed"
    present = (path.relative_to(folder).as_posix() for name in complete for path in _files_at(folder / name))
    unlisted = [name for name in (*needs, *present) if name not in content["files"]]
    if unlisted or not content["files"]:
        return f"{NAME} does not list {', '.join(unlisted) or 'any file'}"
    for name, facts in content["files"].items():
        wrong = _file_fault(folder, name, facts)
        if wrong:
            return wrong
    return None


def _files_at(path: Path) -> Iterator[Path]:
    """Give a file, or those below a folder, and every link; no library reads those that begin with a dot."""
    below = sorted(path.rglob("*")) if path.is_dir() else [path]
    for each in below:
        if each.is_symlink() or (each.is_file() and not each.name.startswith(".")):
            yield each


def _file_fault(folder: Path, name: str, facts: Mapping[str, Any]) -> str | None:
    path, shown = folder / name, json.dumps(name)[1:-1][:80]
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            return f"{shown} points outside the folder"
        if not path.is_file():
            return f"{shown} is missing"
        size = path.stat().st_size
        if size != facts["bytes"]:
            return f"{shown} has {size:,} bytes and should have {facts['bytes']:,}"
        is_same = sha256_of(path) == facts["sha256"]
    except (OSError, ValueError) as error:  # a name may hold what no file system takes
        return f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}"
    return None if is_same else f"{shown} was changed after it was written: its SHA-256 differs"
