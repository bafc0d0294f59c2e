"""job.json: what the worker of a job is to do, in a form that older and newer versions can tell apart."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from burnish.errors import LaunchError

PLAN = "job.json"
RESULT = "result.json"
"""What the worker writes at its end: its exit code."""
STOP = "STOP"
"""When this appears in the folder of a job, its run saves and stops."""
PAUSE = "PAUSE"
"""The same, written by who will take the machine away and starts the worker again."""
FILES, OUTPUTS = "files", "outputs"
TRIALS = "trials"
"""In the folder of a job that is an array: what its elements tell one another, and print."""
WORKER = "burnish.launch.worker"
NODES, RENDEZVOUS, NODE_RANK = "BURNISH_NODES", "BURNISH_RENDEZVOUS", "BURNISH_NODE_RANK"
"""Variables of the worker on each node: how many nodes (`2`, `1:2`), HOST:PORT where they meet, number of this one."""
MEETS_HERE = "BURNISH_MEETS_HERE"
"""1 for the node at which they meet and 0 for the others, if that cannot be told from the names of their machines."""
ARRAY = "BURNISH_ARRAY"
"""FOLDER:SIZE for a study whose trials are trained by the elements of an array."""
SHARED = "BURNISH_SHARED"
"""A folder that all nodes see, where the address of a job cannot be one."""
COMES_BACK = "BURNISH_COMES_BACK"
"""Set where each node that is taken away is replaced: the others then begin again with the next one."""
FORMAT = 1
"""Raised when an older worker would misread a plan; a newer worker reads every older format."""


@dataclass(frozen=True)
class JobPlan:
    """A command and how often it may be started again."""

    words: tuple[str, ...]
    max_restarts: int = 3
    format: int = FORMAT

    def write(self) -> bytes:
        """Write the plan as JSON."""
        return (json.dumps(asdict(self), indent=2) + "\n").encode()


def read_job_plan(content: bytes, *, source: str) -> JobPlan:
    """Read a plan that any version wrote; refuse what this one cannot know."""
    try:
        fields: Any = json.loads(content)
    except ValueError as error:
        raise LaunchError(f"{source} is not JSON: {error}; submit the job again") from error
    if not isinstance(fields, Mapping) or not isinstance(fields.get("format"), int):
        raise LaunchError(f"{source} is no plan of a job: it says no format; submit the job again")
    if fields["format"] > FORMAT:
        raise LaunchError(
            f"{source} was written by a newer Burnish (format {fields['format']}; this one knows {FORMAT}); "
            "build the image again with the version that submits, or submit with the version of the image"
        )
    words, restarts = fields.get("words"), fields.get("max_restarts", 3)
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise LaunchError(f"{source} names no command; submit the job again")
    return JobPlan(tuple(words), restarts if isinstance(restarts, int) else 3, fields["format"])
