"""Ray as a place to run: its options, and a job as one of its submitted jobs."""

import json
import math
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Annotated, Any

from pydantic import NonNegativeFloat, PositiveFloat, StringConstraints

from burnish.errors import LaunchError
from burnish.extras import require
from burnish.launch.cluster import look
from burnish.launch.limits import Folder, Nodes, refuse_copies
from burnish.launch.plan import PLAN
from burnish.launch.ray.group import GroupPlan
from burnish.launch.transfer import try_folder
from burnish.spec.launcher import (
    Check,
    JobSpec,
    JobState,
    JobStatus,
    Launcher,
    LogLine,
    Submitted,
    find_unset,
    reveal,
)

_GROUP = "burnish.launch.ray.group"
_SECONDS_TO_SAVE = "600"
_LOCAL = "local"
_PREEMPTED = 75
_SIZE = r"^[0-9]+(\.[0-9]+)? ?(M|G|T|Mi|Gi|Ti)$"
_UNITS = {"M": 10**6, "G": 10**9, "T": 10**12, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_STATES: Mapping[str, JobState] = {
    "PENDING": "queued",
    "RUNNING": "running",
    "SUCCEEDED": "finished",
    "FAILED": "failed",
    "STOPPED": "stopped",
}


class Ray(Launcher):
    """A job of a Ray cluster, whose driver places a worker on each node; a node that is lost is replaced."""

    address: str | None = None
    """Of the dashboard: `http://head:8265`; `local` starts a cluster on this machine; default: one that runs here."""
    folder: Folder | None = None
    """Where the folders of jobs go: an address like `gs://bucket/team`, or a path that all nodes share."""
    nodes: Nodes = "1"
    """How many, or at least and at most: `1:2` continues with what is left of two."""
    cpus: PositiveFloat = 1
    """For each node, like the following; for each trial of a study."""
    gpus: NonNegativeFloat = 0
    memory: Annotated[str, StringConstraints(pattern=_SIZE)] | None = None
    resources: Mapping[str, NonNegativeFloat] = {}
    """Of the cluster's own names."""
    runtime_env: Mapping[str, Any] = {}
    """As Ray takes it: `pip`, `image_uri` … where the nodes do not have Burnish."""

    def root(self, job: JobSpec) -> str:
        return f"{self.folder or '<folder>'}/{job.name}"

    @property
    def num_gpus(self) -> int:
        return math.ceil(self.gpus)

    def count_trials(self, parallel: int) -> int:
        return 1

    @property
    def bundle(self) -> dict[str, float]:
        """What a worker takes of its node."""
        size = self.memory and re.fullmatch(r"([0-9.]+) ?(\w+)", self.memory)
        found = {"CPU": self.cpus, "GPU": self.gpus, "memory": float(size[1]) * _UNITS[size[2]] if size else 0}
        return {name: amount for name, amount in {**found, **self.resources}.items() if amount}

    def render(self, job: JobSpec) -> dict[str, Any]:
        plan = GroupPlan(self.nodes, self.bundle, self.max_restarts, is_study=job.words[0] == "tune")
        entry = ["python", "-m", _GROUP, f"{self.root(job)}/{PLAN}", plan.write()]
        # Told to stop, Ray otherwise kills after three seconds what is still saving.
        env = {"RAY_JOB_STOP_WAIT_TIME_S": _SECONDS_TO_SAVE, **self.runtime_env.get("env_vars", {}), **self.env}
        return {
            "method": "POST",
            "url": f"{self.address or 'auto'}/api/jobs/",
            "body": {
                "submission_id": job.name,
                "entrypoint": shlex.join(entry),
                "runtime_env": {**self.runtime_env, "env_vars": env},
                "metadata": {"name": job.name},
            },
        }

    def check(self, job: JobSpec) -> Iterable[Check]:
        unset = find_unset([self.render(job), self.root(job)])
        for name in unset:
            yield Check(name, False, f"launch.{name} is not set; give launch.{name}=…")
        yield from refuse_copies(self.folder, self.nodes, job)
        yield look("cluster", self._greet)
        if "folder" not in unset:
            yield look("folder", lambda: try_folder(self.folder or ""))

    def submit(self, job: JobSpec) -> Submitted:
        client, body = self._client(), reveal(self.render(job)["body"])
        with _explained("the job was not accepted"):
            taken = {each.submission_id for each in client.list_jobs()}
            tries = (job.name if attempt == 1 else f"{job.name}-{attempt}" for attempt in count(1))
            body["submission_id"] = next(name for name in tries if name not in taken)
            id = client.submit_job(**body)
        return Submitted(id, f"{client.get_address()}/#/jobs/{id}")

    def status(self, id: str) -> JobStatus:
        with _explained(f"job {id} could not be asked for"):
            found = self._client().get_job_info(id)
        state = "stopped" if found.driver_exit_code == _PREEMPTED else _STATES[found.status.value]
        return JobStatus(state, (found.message or "").partition("\n")[0] if state == "failed" else "")

    def logs(self, id: str, *, after: str = "") -> Iterator[LogLine]:
        with _explained(f"the log of job {id} could not be read"):
            lines = self._client().get_job_logs(id).splitlines()
        start = int(after or 0)
        for number, line in enumerate(lines[start:], start + 1):
            yield LogLine(f"{number:012d}", line)

    def cancel(self, id: str) -> None:
        with _explained(f"job {id} could not be stopped"):
            self._client().stop_job(id)

    def _greet(self) -> str:
        client = self._client()
        with _explained("the cluster does not answer"):
            return f"{client.get_address()} answers, with Ray {client.get_version()}"

    def _client(self) -> Any:
        make: Callable[[str | None], Any] = require(
            "ray.job_submission", extra="ray", why="to run on Ray"
        ).JobSubmissionClient
        if self.address == _LOCAL:
            return _find_or_start(make)
        with _explained(
            "no cluster was found", hint="; start one with `ray start --head`, or give launch.address=local"
        ):
            return make(self.address)


def _find_or_start(make: Callable[[str | None], Any]) -> Any:
    """Take the cluster of this machine, or start one, which goes on until `ray stop`."""
    try:
        with _explained("none is here"):
            return make(None)
    except LaunchError:
        program = shutil.which("ray")
        if program is None:
            raise LaunchError("the program `ray` is not on the PATH; it comes with burnish[ray]") from None
        quiet = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
        started = subprocess.run([program, "start", "--head"], env=quiet, check=False, capture_output=True, text=True)
        if started.returncode:
            last = (started.stderr.strip() or started.stdout.strip()).rpartition("\n")[2]
            raise LaunchError(f"`ray start --head` failed: {last}") from None
        with _explained("the cluster that was started does not answer"):
            return make(None)


@contextmanager
def _explained(what: str, *, hint: str = "") -> Iterator[None]:
    try:
        yield
    except (RuntimeError, ConnectionError, OSError) as error:  # what the client and requests raise
        is_refusal = isinstance(error, RuntimeError)  # an answer of the server's; else it was lost
        raise LaunchError(f"{what}: {_first_words(error)}{hint}", is_refusal=is_refusal) from error


def _first_words(error: Exception) -> str:
    text = str(error).strip()
    try:
        return str(json.loads(text[text.index("{") : text.rindex("}") + 1])["msg"])
    except (ValueError, KeyError, TypeError):
        return text.partition("\n")[0] or type(error).__name__
