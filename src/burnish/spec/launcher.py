"""What a launcher must be able to do: write a job as a request, send it, and follow it where it runs."""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pydantic import PositiveInt, SecretStr

from burnish.spec.component import Component

JobState = Literal["queued", "running", "finished", "failed", "stopped", "gone"]
"""A job that is `gone` is no longer known where it ran; its folder says how it ended."""
ENDED: tuple[JobState, ...] = ("finished", "failed", "stopped", "gone")
_UNSET = re.compile(r"<[a-z_]+>")


@dataclass(frozen=True)
class JobSpec:
    """One command that shall run elsewhere, and what must travel with it."""

    name: str
    """Unique, and fit for an address: `train-reviews-20261118-173500`."""
    words: tuple[str, ...]
    """What its machine runs, after `burnish`."""
    files: tuple[str, ...] = ()
    """Files and folders below the folder that one stands in; they are at the same place there."""
    inputs: tuple[str, ...] = ()
    """Those of them that the command itself names, such as its data: they travel even where git ignores them."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Files that are made for the job, such as the resolved experiment: name → content."""
    packages: tuple[str, ...] = ()
    """Names of the distributions that are installed first, if the launcher takes them."""
    study: Mapping[str, Any] | None = None
    """A `tune:` section, for launchers whose service searches by itself."""
    parallel: int = 1
    """How many trials a study trains at once."""
    extras: tuple[str, ...] = ()
    """Extras of Burnish that its machine needs."""


@dataclass(frozen=True)
class Submitted:
    """A job that was accepted: its id there, and a page for people."""

    id: str
    link: str


@dataclass(frozen=True)
class JobStatus:
    """How a job stands, and what its service says about it."""

    state: JobState
    message: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether it will not change any more."""
        return self.state in ENDED


@dataclass(frozen=True)
class LogLine:
    """A line that a job printed; `key` is unique, and larger for a later line."""

    key: str
    text: str


@dataclass(frozen=True)
class Check:
    """Something that a job needs, and whether it is there."""

    what: str
    is_met: bool
    sentence: str


class Launcher(Component):
    """Where jobs run: its fields are the launch options.

    A launcher only starts processes, with a job's folder and the variables of torch.distributed.
    """

    has_a_price: ClassVar[bool] = True
    """Whether a job costs money, so that it is only started when that was said."""

    env: Mapping[str, SecretStr | None] = {}
    """Variables for the job; null takes the value that it has here. Values are shown nowhere."""
    files: tuple[str, ...] = ()
    """Further files and folders that the job needs, such as modules of your own."""
    max_restarts: int = 3
    """How often a command that died, and was not refused, is started again."""
    processes: Literal["auto"] | PositiveInt = "auto"
    """How many train together on each machine; `auto` is one for each of its GPUs."""

    @abstractmethod
    def render(self, job: JobSpec) -> dict[str, Any]:
        """Write the request that starts a job as JSON values; what is not set is `<name>`. Nothing is sent."""

    def cost(self, job: JobSpec) -> Iterable[str]:
        """Say what a job takes, and what its service reports of price and quota, before one that costs money."""
        return ()

    def left_out(self, job: JobSpec) -> list[str]:
        """Say what a rendered request leaves out because it is secret, and how it is added."""
        return []

    @property
    def notes(self) -> list[str]:
        """What a user should know of how the options were read."""
        return []

    @property
    def num_gpus(self) -> int:
        """How many GPUs the options ask for on each machine, or for each trial that trains in a separate place."""
        return 0

    def count_trials(self, parallel: int) -> int:
        """Count the trials that train at once on what is asked for."""
        return parallel

    @abstractmethod
    def root(self, job: JobSpec) -> str:
        """Name the folder of a job, which this machine and the job's can both reach."""

    def check(self, job: JobSpec) -> Iterable[Check]:
        """Look whether all that a job needs is there; nothing is sent before."""
        return ()

    @abstractmethod
    def submit(self, job: JobSpec) -> Submitted:
        """Send the request of a job whose folder is filled."""

    @abstractmethod
    def status(self, id: str) -> JobStatus:
        """Ask for the state of a job."""

    @abstractmethod
    def logs(self, id: str, *, after: str = "") -> Iterator[LogLine]:
        """Read what a job has printed since the line of a key; a few lines from before it may come again, or late."""

    @abstractmethod
    def cancel(self, id: str) -> None:
        """End a job; it gets a signal first, and saves."""


def find_unset(request: object) -> list[str]:
    """Name the options that a request needs and that are not set, each once."""
    if isinstance(request, Mapping):
        found = [name for each in request.values() for name in find_unset(each)]
    elif isinstance(request, list | tuple):
        found = [name for each in request for name in find_unset(each)]
    else:
        found = [each.strip("<>") for each in _UNSET.findall(request)] if isinstance(request, str) else []
    return list(dict.fromkeys(found))


def reveal(request: Any) -> Any:
    """Copy a request with its secrets written out, for the service alone."""
    if isinstance(request, Mapping):
        return {key: reveal(each) for key, each in request.items()}
    if isinstance(request, list | tuple):
        return [reveal(each) for each in request]
    return request.get_secret_value() if isinstance(request, SecretStr) else request
