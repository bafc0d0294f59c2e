"""Options that several launchers share: for how long, on how many nodes, and in which folder."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from burnish.launch.cluster import ON_SEVERAL
from burnish.launch.group import read_nodes
from burnish.spec.launcher import Check, JobSpec

_SECONDS = {"minute": 60, "hour": 3600, "day": 86400}
_TIME = re.compile(r"(\d{1,6}) (minute|hour|day)s?")


def _with_a_unit(timeout: str) -> str:
    if not _TIME.fullmatch(timeout):
        raise ValueError('must be a number of minutes, hours or days, like "12 hours"')
    return timeout


def _a_number(nodes: str) -> str:
    if read_nodes(nodes) == (0, 0):
        raise ValueError("must be a number like 2, or at least and at most like 1:2")
    return nodes


def _whole(folder: str) -> str:
    return folder.rstrip("/") if "://" in folder else str(Path(folder).expanduser().absolute())


Timeout = Annotated[str, AfterValidator(_with_a_unit)]
Nodes = Annotated[str, AfterValidator(_a_number)]
Folder = Annotated[str, AfterValidator(_whole)]
"""Where the folders of jobs go: an address, or a path that this machine and all nodes see."""


def timeout_seconds(timeout: str) -> int:
    """Read how long a job may take."""
    found = _TIME.fullmatch(timeout)
    assert found is not None  # a validator has seen to it
    return int(found[1]) * _SECONDS[found[2]]


def refuse_copies(folder: str | None, nodes: str, job: JobSpec) -> Iterator[Check]:
    """Say so where several nodes would each have a copy of the folder, or a command that runs on one."""
    if read_nodes(nodes)[1] == 1:
        return
    if job.words[0] not in ON_SEVERAL:
        yield Check("nodes", False, f"launch.nodes: `{job.words[0]}` runs on one node; leave it at 1")
    if folder is not None and "://" in folder:
        sentence = f"launch.folder: several nodes train in one folder that all of them see, and {folder} is an address"
        yield Check("nodes", False, f"{sentence}; name a path")
