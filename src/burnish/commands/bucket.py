"""Runs at addresses: trained in a working copy on this machine, which is uploaded as it grows."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from burnish.errors import BurnishError, ConfigError, Problem, StorageError
from burnish.run.record.ending import error_of, refusal
from burnish.run.record.result import RunResult
from burnish.spec.events import Event, Noted, Saved
from burnish.storage.address import read_address
from burnish.storage.mirror import Mirror
from burnish.storage.publisher import Publisher
from burnish.storage.remote import Folder
from burnish.storage.spool import Spool, spool_for

_WAIT_VARIABLE = "BURNISH_UPLOAD_WAIT"
_JOB_FOLDERS = {
    "AIP_MODEL_DIR": "artifact",
    "AIP_CHECKPOINT_DIR": "checkpoints",
    "AIP_TENSORBOARD_LOG_DIR": "tensorboard",
}
"""Where a job on Vertex AI is asked to put things, and what of a run they are."""

Watch = Callable[[Event], None]


def train_at(address: str, work: Callable[[Path, Watch], RunResult], *, watch: Watch) -> RunResult:
    """Let `work` train in the working copy of an address; return when all of it is uploaded.

    Events and errors name the address, not the copy. If the bucket stays away for too long at the end, StorageError
    says how to upload the rest later.
    """
    spool, wait_seconds = spool_for(address), _read_wait(os.environ)

    def tell(sentence: str) -> None:
        watch(Noted(0, sentence))

    try:
        with spool.held(tell=tell) as (lease, uploaded):
            mirror = Mirror(spool.path, spool.remote, uploaded, remember=lambda now: spool.remember(lease.owner, now))
            with Publisher([mirror], tell, lease, wait_seconds):
                result = work(spool.path, lambda event: watch(_rename(event, spool)))
    except StorageError as error:
        if error.is_final or not spool.path.exists():
            raise
        raise StorageError(
            f"not all of {address} is uploaded ({error}). Nothing is lost: it is in {spool.path}, and "
            f"`burnish resume {address}` on this machine uploads the rest"
        ) from error
    except BurnishError as error:
        told = refusal(error)
        renamed = error_of({**told, "message": told["message"].replace(str(spool.path), address)})
        assert renamed is not None  # it was an error before
        raise renamed from error
    return replace(result, address=address)


@contextmanager
def publishing_for_job(run: Path, environment: Mapping[str, str], *, tell: Callable[[str], None]) -> Iterator[None]:
    """Inside a job that names places for models, checkpoints or TensorBoard, copy those of a run there as it goes."""
    places = {part: read_address(environment.get(name)) for name, part in _JOB_FOLDERS.items()}
    mirrors = [
        Mirror(run / part, Folder(address), is_fixed=part != "tensorboard")
        for part, address in places.items()
        if address
    ]
    if not mirrors:
        yield
        return
    with Publisher(mirrors, tell, wait_seconds=_read_wait(environment)):
        yield


def _rename(event: Event, spool: Spool) -> Event:
    """Call the working copy by the address that the user gave."""
    here, there = str(spool.path), spool.remote.address
    if isinstance(event, Noted):
        return replace(event, message=event.message.replace(here, there))
    if isinstance(event, Saved):
        return replace(event, path=event.path.replace(here, there))
    return event


def _read_wait(environment: Mapping[str, str]) -> float:
    written = environment.get(_WAIT_VARIABLE, "600")
    try:
        return float(written)
    except ValueError as error:
        problem = Problem(f"{_WAIT_VARIABLE} must be a number of seconds, like 600, got {written!r}")
        raise ConfigError([problem], subject="the request") from error
