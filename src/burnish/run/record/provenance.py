"""Where a run comes from: the command that asked for it, and the commit of the folder it was started in."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

COMMAND = "BURNISH_COMMAND"
"""The environment variable by which the command line tells a worker what was typed."""
_MOST_SECONDS = 5.0


def provenance(folder: Path = Path(), environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give the command and the git commit, as far as they are known; a commit with changes on top ends in `-dirty`."""
    command = (os.environ if environment is None else environment).get(COMMAND)
    found = {"command": command, "git_commit": _commit(folder)}
    return {name: value for name, value in found.items() if value}


def _commit(folder: Path) -> str | None:
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        # --no-optional-locks: looking at a repository must not write into it.
        done = subprocess.run(
            [command[0], "--no-optional-locks", *command[1:]],
            capture_output=True,
            text=True,
            timeout=_MOST_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None  # no git here, or no repository
    return done.stdout.strip() or None
