"""Controls runs from another terminal: stop one, wait for one, remove one, tag one."""

import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from burnish.durable import sync_folder
from burnish.errors import BurnishError, CheckpointError, ConfigError, Problem
from burnish.run.record.directory import RunDirectory, Status, find_run, read_json, write_json
from burnish.storage.address import read_address
from burnish.storage.remote import Folder

_POLL_SECONDS = 0.5
_TAG = re.compile(r"[\w.:+-]{1,60}")


def stop(run: Path | str) -> RunDirectory:
    """Ask a run to save and stop, as a STOP file does; refuse one that does not run."""
    directory = find_run(run)
    status = directory.status()
    if status != "running":
        raise BurnishError(
            f"{read_address(run) or directory.path} does not run, it is {status}; there is nothing to stop"
        )
    address = read_address(run)
    if address is None:
        directory.stop_file.touch()
    else:
        Folder(address).write(directory.stop_file.name, b"")  # seen by the machine that trains, at its next heartbeat
    return directory


def wait(
    run: Path | str,
    *,
    timeout_seconds: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> Status:
    """Return when a run no longer runs; raise if that takes longer than the timeout."""
    for _ in turns(str(run), "runs", timeout_seconds=timeout_seconds, sleep=sleep, now=now):
        if (status := find_run(run).status()) != "running":  # one at an address is brought here again
            return status
    raise AssertionError("turns do not end")


def turns(
    name: str,
    group: str,
    *,
    timeout_seconds: float | None,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
    pause_seconds: float = _POLL_SECONDS,
) -> Iterator[None]:
    """Give a turn now and after each pause; raise when the time is over."""
    began = now()
    while True:
        yield
        if timeout_seconds is not None and now() - began >= timeout_seconds:
            raise BurnishError(f"{name} still runs after {timeout_seconds:g} s; `burnish {group} logs -f` follows it")
        sleep(pause_seconds)


def remove(run: Path | str) -> Path:
    """Delete a run with all its files; refuse one that runs."""
    directory, address = find_run(run), read_address(run)
    if directory.status() == "running":
        raise CheckpointError(
            f"{directory.path} is running; stop it with `burnish runs stop {run}` before you remove it"
        )
    if address is not None:
        # The plan first: whatever happens while the rest is deleted, nobody takes it for a run.
        remote = Folder(address)
        remote.delete(sorted(remote.listing(), key=lambda name: name != directory.plan.name))
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
    directory = find_run(run)
    tags = change_tags(read_tags(directory), add, remove=remove)
    write_json(directory.tags, list(tags))
    address = read_address(run)
    if address is not None:
        Folder(address).write(directory.tags.name, directory.tags.read_bytes())
    return tags


def change_tags(tags: Sequence[str], add: Sequence[str], *, remove: Sequence[str]) -> tuple[str, ...]:
    """Add and remove tags; refuse words that are none."""
    odd = [name for name in (*add, *remove) if not _TAG.fullmatch(name)]
    if odd:
        raise ConfigError(
            [Problem(f"{name!r} is no tag: a tag is 1 to 60 letters, digits or any of . _ : + -") for name in odd],
            subject="the tags",
        )
    return tuple(dict.fromkeys(name for name in (*tags, *add) if name not in remove))


def read_tags(directory: RunDirectory) -> tuple[str, ...]:
    """The tags of a run; none where there is no file of them."""
    tags = read_json(directory.tags)
    return tuple(str(name) for name in tags) if isinstance(tags, list) else ()
