"""What places have in common whose nodes all see the folder of a job: where that is, how its worker starts, its log."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints, field_validator

from burnish.errors import BurnishError
from burnish.launch.group import read_nodes
from burnish.launch.plan import NODES, PLAN, RENDEZVOUS, WORKER
from burnish.launch.transfer import read_remote, try_folder
from burnish.spec.launcher import Check, JobSpec, Launcher, LogLine

LOG = "log.txt"
"""In the folder of a job: what it printed."""
ON_SEVERAL = ("train", "resume")
"""Verbs that several nodes take part in."""


class Cluster(Launcher):
    """A launcher whose nodes share a file system with this machine.

    On each node it starts `worker_command` with `worker_environment` and BURNISH_NODE_RANK, the node's number from 0.
    """

    has_a_price: ClassVar[bool] = False

    folder: Annotated[str, Field(validate_default=True)] = "jobs"
    """Where the folders of jobs go: a path that this machine and all nodes see."""
    nodes: Annotated[str, StringConstraints(min_length=1)] = "1"
    """How many machines train together: `2`, or `1:2` for at least and at most."""
    rendezvous: str | None = None
    """HOST:PORT where the nodes meet; by default the launcher chooses one."""
    python: str | None = None
    """The interpreter that has Burnish, on every node; by default at the path of the one that runs here."""

    @field_validator("nodes")
    @classmethod
    def _a_number(cls, nodes: str) -> str:
        if read_nodes(nodes) == (0, 0):
            raise ValueError("must be a number like 2, or at least and at most like 1:2")
        return nodes

    @field_validator("folder")
    @classmethod
    def _whole(cls, folder: str) -> str:
        if "://" in folder:
            raise ValueError("must be a path that this machine and all nodes see, and no address")
        return str(Path(folder).expanduser().absolute())

    @property
    def least_nodes(self) -> int:
        """How many machines a job must have."""
        return read_nodes(self.nodes)[0]

    @property
    def most_nodes(self) -> int:
        """How many machines a job may have."""
        return read_nodes(self.nodes)[1]

    def root(self, job: JobSpec) -> str:
        return f"{self.folder}/{job.name}"

    def worker_command(self, job: JobSpec) -> list[str]:
        """Write what runs on each node."""
        return [self.python or sys.executable, "-m", WORKER, f"{self.root(job)}/{PLAN}"]

    def worker_environment(self, rendezvous: str) -> dict[str, str]:
        """Write what the worker on each node is told, besides its number."""
        return {NODES: self.nodes, RENDEZVOUS: rendezvous if self.most_nodes > 1 else ""}

    def check(self, job: JobSpec) -> Iterable[Check]:
        if self.most_nodes > 1 and job.words[0] not in ON_SEVERAL:
            yield Check("nodes", False, f"launch.nodes: `{job.words[0]}` runs on one node; leave it at 1")
        yield look("folder", lambda: try_folder(self.folder))


def look(what: str, find: Callable[[], str]) -> Check:
    """Look at one thing that a job needs: a sentence, or a refusal."""
    try:
        return Check(what, True, find())
    except BurnishError as error:
        return Check(what, False, str(error))


def read_log(root: str, *, after: str) -> Iterator[LogLine]:
    """Read the whole lines of a job's log behind the one of a key; a key is where its line ends."""
    start = int(after or 0)
    content = (read_remote(f"{root}/{LOG}") or b"")[start:]
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            return
        start += len(line)
        yield LogLine(f"{start:015d}", line.decode(errors="replace").rstrip("\r\n"))
