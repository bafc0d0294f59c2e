"""Controls runs from another terminal: stop one, wait for one, remove one, tag one."""

import re
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from burnish.durable import sync_folder
from burnish.errors import BurnishError, CheckpointError, ConfigError, Problem
from burnish.run.record.directory import RunDirectory, Status, find_run, read_json, write_json

_POLL_SECONDS = 0.5
_TAG = re.compile(r"[\w.:+-]{1,60}")


def stop(run: Path | str) -> RunDirectory:
    """Ask a run to save and stop, as a STOP file does; refuse one that does not run."""
    directory = find_run(run)
    status = directory.status()
    if status != "running":
        raise BurnishError(f"{directory.path} does not run, it is {status}; there is nothing to stop")
    directory.stop_file.touch()
    return directory


def wait(
    run: Path | str,
    *,
    timeout_seconds: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> Status:
    """Return when a run no longer runs; raise if that takes longer than the timeout."""
    directory, began = find_run(run), now()
    while (status := directory.status()) == "running":
        if timeout_seconds is not None and now() - began >= timeout_seconds:
            raise BurnishError(
                f"{directory.path} still runs after {timeout_seconds:g} s; `burnish runs logs -f` follows it"
            )
        sleep(_POLL_SECONDS)
    return status


def remove(run: Path | str) -> Path:
    """Delete a run with all its files; refuse one that runs."""
    directory = find_run(run)
    if directory.status() == "running":
        raise CheckpointError(
            f"{directory.path} is running; stop it with `burnish runs stop {run}` before you remove it"
        )
    path = directory.path.resolve()
    # Renamed first: whatever happens while its files are deleted, nobody takes the rest for a run.
    grave = path.with_name(f".{path.name}.removed")
    shutil.rmtree(grave, ignore_errors=True)
    path.rename(grave)
    sync_folder(path.parent)
    shutil.rmtree(grave)
    return path


def tag(run: Path | str, add: Sequence[str] = (), *, remove: Sequence[str] = ()) -> tuple[str, ...]:
    """Add and remove tags of a run; returns those that it has then."""
    odd = [name for name in (*add, *remove) if not _TAG.fullmatch(name)]
    if odd:
        raise ConfigError(
            [Problem(f"{name!r} is no tag: a tag is 1 to 60 letters, digits or any of . _ : + -") for name in odd],
            subject="the tags",
        )
    directory = find_run(run)
    tags = tuple(dict.fromkeys(name for name in (*read_tags(directory), *add) if name not in remove))
    write_json(directory.tags, list(tags))
    return tags


def read_tags(directory: RunDirectory) -> tuple[str, ...]:
    """The tags of a run; none where there is no file of them."""
    tags = read_json(directory.tags)
    return tuple(str(name) for name in tags) if isinstance(tags, list) else ()
