"""Runs a worker as several processes on this machine, under torch's elastic agent; to its caller it is one process."""

import os
import socket
from collections.abc import Callable, Mapping, Sequence

from burnish.dist.world import available_cores
from burnish.launch.local import run_worker

_AGENT = "burnish.launch.agent_torch"


def run_workers(
    argv: Sequence[str], *, processes: int, on_line: Callable[[str], None], env: Mapping[str, str] | None = None
) -> int:
    """Run `python -m <argv…>` in several processes, give each line they print to `on_line`, return one exit code."""
    asked = {**os.environ, **(env or {})}
    return run_worker(
        [_AGENT, str(processes), *argv], on_line=on_line, env={**(env or {}), **environment(asked, processes=processes)}
    )


def environment(asked: Mapping[str, str], *, processes: int) -> dict[str, str]:
    """Give the variables that several processes on one machine need besides those that were asked for."""
    share = available_cores({**asked, "LOCAL_WORLD_SIZE": str(processes)})
    wanted = {"OMP_NUM_THREADS": str(share), **_loopback()}
    return {
        **{name: value for name, value in wanted.items() if name not in asked},
        # Without it, a process of a second attempt can read the address of a dead one, and waits for it for ever.
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }


def _loopback() -> dict[str, str]:
    # Processes of one machine have no business on its network; gloo asks nobody who they are.
    names = [name for _, name in socket.if_nameindex() if name in ("lo", "lo0")]
    return {"GLOO_SOCKET_IFNAME": names[0]} if names else {}
