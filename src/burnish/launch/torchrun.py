"""torchrun as a place to run: this machine is a node, and others join it by a command."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import model_validator

from burnish.errors import LaunchError
from burnish.launch.cluster import LOG, Cluster, look, read_log
from burnish.launch.group import is_place
from burnish.launch.plan import NODE_RANK
from burnish.launch.transfer import read_remote, write_remote
from burnish.launch.worker import read_result
from burnish.spec.launcher import Check, JobSpec, JobStatus, LogLine, Submitted, reveal

_PROCESS = "process"
"""In the folder of a job: the number of its first process."""


class Torchrun(Cluster):
    """A job in the background of this machine, as node 0 of one or several."""

    @model_validator(mode="after")
    def _meet(self) -> "Torchrun":
        if self.most_nodes > 1 and not self.rendezvous:
            raise ValueError(f"needs a `rendezvous` for {self.nodes} nodes: HOST:PORT of this machine, like n1:29400")
        if self.rendezvous and not is_place(self.rendezvous):
            raise ValueError(f"must meet at HOST:PORT, like n1:29400; `rendezvous` is {self.rendezvous}")
        return self

    def render(self, job: JobSpec) -> dict[str, Any]:
        told = self.worker_environment(self.rendezvous or "")
        return {"command": self.worker_command(job), "env": {**told, NODE_RANK: "0", **self.env}}

    def check(self, job: JobSpec) -> Iterable[Check]:
        yield from super().check(job)
        if self.python:
            yield look("python", self._find_python)

    def submit(self, job: JobSpec) -> Submitted:
        request, root = reveal(self.render(job)), self.root(job)
        with Path(root, LOG).open("ab") as log:
            try:
                process = subprocess.Popen(
                    request["command"],
                    env={**os.environ, **request["env"]},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # it stays when this terminal closes
                )
            except OSError as error:
                raise LaunchError(f"{request['command'][0]} could not be started: {error.strerror}") from error
        write_remote(f"{root}/{_PROCESS}", str(process.pid).encode())
        return Submitted(root, self._way_to_join(job))

    def _find_python(self) -> str:
        found = shutil.which(self.python or "")
        if found is None:
            raise LaunchError(f"launch.python: there is no {self.python} here; name an interpreter that has Burnish")
        return f"{found} is there"

    def _way_to_join(self, job: JobSpec) -> str:
        if self.most_nodes == 1:
            return f"its log is {self.root(job)}/{LOG}"
        told = {**self.worker_environment(self.rendezvous or ""), NODE_RANK: "1"}
        words = [*(f"{name}={value}" for name, value in told.items()), *self.worker_command(job)]
        return f"on each other node: env {shlex.join(words)}"

    def status(self, id: str) -> JobStatus:
        code = read_result(id)
        if code is not None:
            return JobStatus({0: "finished", os.EX_TEMPFAIL: "stopped"}.get(code, "failed"))  # type: ignore[arg-type]  # all are states
        if _find_process(id) is not None:
            return JobStatus("running")
        return JobStatus("failed", "its process is gone; `burnish jobs resume` continues it")

    def logs(self, id: str, *, after: str = "") -> Iterator[LogLine]:
        return read_log(id, after=after)

    def cancel(self, id: str) -> None:
        process = _find_process(id)
        if process is None:
            raise LaunchError(f"the process of {id} is gone; there is nothing to end")
        os.kill(process, signal.SIGTERM)


def _find_process(root: str) -> int | None:
    """Find the first process of a job, if it runs on this machine and its number is nobody else's by now."""
    number = (read_remote(f"{root}/{_PROCESS}") or b"").decode()
    with suppress(OSError, ValueError):
        os.waitpid(int(number), os.WNOHANG)  # one that we started ourselves stays until it is asked for
    place = Path("/proc", number)
    try:
        words, state = (place / "cmdline").read_bytes(), (place / "stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return None
    is_ours = os.fsencode(root) in words or not words  # which are not there for a moment after the start
    return int(number) if number and is_ours and state != "Z" else None
