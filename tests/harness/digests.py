"""Digests of what a run came to."""

import hashlib

from burnish.commands.crash.sameness import cut, list_files
from burnish.run.record.directory import RunDirectory


def digests(run: RunDirectory) -> dict[str, str]:
    """Give the SHA-256 of everything that two like runs share, by file."""
    found = {}
    for name, path in list_files(run).items():
        digest = hashlib.sha256()
        for part, value in cut(path):
            digest.update(f"{part}\n".encode() + value)
        found[name] = digest.hexdigest()
    return found
