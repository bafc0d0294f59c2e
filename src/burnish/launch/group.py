"""Runs a worker as several processes, here and on other machines, under torch's elastic agent; its caller sees one."""

import json
import os
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from burnish.dist.world import available_cores
from burnish.errors import ConfigError, Problem
from burnish.launch.local import run_worker

_AGENT = "burnish.launch.agent_torch"
_NODES = re.compile(r"([1-9]\d{0,3})(?::([1-9]\d{0,3}))?")
_RENDEZVOUS = re.compile(r"([\w.-]+|\[[0-9a-fA-F:]+\]):(\d{1,5})")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
RESTARTS_OF_NODES = 3
"""How often a group on several machines is started again, if nobody says otherwise."""


@dataclass(frozen=True)
class Group:
    """The processes that train a run together, as one of their machines sees them."""

    processes: int = 1
    """On this machine."""
    least_nodes: int = 1
    most_nodes: int = 1
    rendezvous: str = ""
    """HOST:PORT where the machines meet; empty for a run on this machine alone."""
    max_restarts: int = 0
    is_auto: bool = False
    """Whether this machine shall have a process for each of its GPUs."""

    @classmethod
    def of(cls, processes: "int | Group | None") -> "Group":
        """Take a plain number for processes of this machine, and None for one on each GPU."""
        if isinstance(processes, Group):
            return processes
        return cls(processes or 1, is_auto=processes is None)

    @property
    def is_one_process(self) -> bool:
        """Whether no agent is needed."""
        return self.processes == 1 and not self.rendezvous and not self.max_restarts

    @property
    def is_on_loopback(self) -> bool:
        """Whether all of its processes are on this machine, and have no business on its network."""
        return not self.rendezvous or self.rendezvous.rpartition(":")[0] in _LOOPBACK

    def write(self) -> str:
        """Write the group as one word for its agent."""
        return json.dumps(asdict(self))


def read_group(
    processes: int | None, *, nodes: str | None = None, rendezvous: str | None = None, max_restarts: int | None = None
) -> Group:
    """Read how a run is spread over machines; refuse with every problem."""
    least, most = read_nodes(nodes or "1")
    said = f"--nodes must be a number like 2, or at least and at most like 1:2, got {nodes!r}"
    problems = [] if least else [Problem(said)]
    if rendezvous and not is_place(rendezvous):
        problems.append(
            Problem(f"--rendezvous must be HOST:PORT of one of the nodes, like n1:29400, got {rendezvous!r}")
        )
    if most > 1 and not rendezvous:
        problems.append(Problem(f"--nodes {nodes} needs --rendezvous HOST:PORT, the same on every node"))
    if rendezvous and nodes is None:
        problems.append(Problem("--rendezvous needs --nodes, how many machines meet there: 2, or 1:2"))
    if problems:
        raise ConfigError(problems, subject="the command line")
    restarts = max_restarts if max_restarts is not None else RESTARTS_OF_NODES if rendezvous else 0
    return Group(processes or 1, least, most, rendezvous or "", restarts, is_auto=processes is None)


def is_place(rendezvous: str) -> bool:
    """Tell whether a text is HOST:PORT."""
    found = _RENDEZVOUS.fullmatch(rendezvous)
    return found is not None and 0 < int(found[2]) < 1 << 16


def read_nodes(text: str) -> tuple[int, int]:
    """Read how many machines: `2`, or `1:2` for at least and at most; zeros for what cannot be understood."""
    found = _NODES.fullmatch(text)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    return (least, most) if least <= most else (0, 0)


def run_workers(
    argv: Sequence[str], *, group: Group, on_line: Callable[[str], None], env: Mapping[str, str] | None = None
) -> int:
    """Run `python -m <argv…>` in several processes, give each line they print to `on_line`, return one exit code."""
    asked = {**os.environ, **(env or {})}
    return run_worker(
        [_AGENT, group.write(), *argv], on_line=on_line, env={**(env or {}), **environment(asked, group=group)}
    )


def environment(asked: Mapping[str, str], *, group: Group) -> dict[str, str]:
    """Give the variables that the processes need besides those that were asked for."""
    share = available_cores({**asked, "LOCAL_WORLD_SIZE": str(group.processes)})
    wanted = {"OMP_NUM_THREADS": str(share), **(_loopback() if group.is_on_loopback else {})}
    return {
        **{name: value for name, value in wanted.items() if name not in asked},
        # Without it, a process of a second attempt can read the address of a dead one, and waits for it for ever.
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }


def _loopback() -> dict[str, str]:
    # Processes of one machine have no business on its network; gloo asks nobody who they are.
    names = [name for _, name in socket.if_nameindex() if name in ("lo", "lo0")]
    return {"GLOO_SOCKET_IFNAME": names[0]} if names else {}
