"""A Ray cluster of several raylets on this machine, whose nodes can be killed with all that runs on them.

It lives in a process of its own, which does what the lines of its standard input say: a token is read when Ray is
imported, and belongs to the cluster.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness.places import Job, descendants, free_port

_ANSWER = "answer: "
_MEMORY = 80 << 20
_MOST_STARTS = 6


@dataclass
class LoopbackRay:
    """A head without cores, and nodes with one each; what is asked is done by the cluster's own process."""

    process: "subprocess.Popen[str]"
    url: str

    def add_node(self) -> str:
        return str(self._ask("add"))

    def busy_nodes(self, kind: str) -> list[str]:
        """Name the nodes on which actors of a class are alive."""
        return [str(each) for each in self._ask("busy", kind)]

    def kill(self, node: str) -> None:
        """Take a node away as a power cut does: nothing on it lives on, or says goodbye."""
        self._ask("kill", node)

    def _ask(self, *words: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith(_ANSWER):
                return json.loads(line.removeprefix(_ANSWER))
        raise AssertionError("the cluster has ended; its words are above")


@contextmanager
def loopback_ray(folder: Path, *, nodes: int) -> Iterator[LoopbackRay]:
    """Start a cluster with a token of its own; the variables of this process fit it until the end."""
    program = Path(sys.executable).parent
    variables = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(20),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_raylet_start_wait_time_s": "60",
        "HOME": str(folder),  # or a token is written to the user's own
        "PATH": f"{program}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(Path(__file__).parents[2])]),
    }
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        found = _insist(_start_head)
        try:
            for _ in range(nodes):
                found.add_node()
            yield found
        finally:
            found.process.communicate(timeout=120)  # without more to do, it ends
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def _start_head() -> LoopbackRay:
    port = free_port()
    command = [sys.executable, "-m", "tests.harness.ray_cluster", str(port)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    found = LoopbackRay(process, f"http://127.0.0.1:{port}")
    found.busy_nodes("None")  # it answers, or has ended
    return found


@contextmanager
def ray_place(folder: Path) -> Iterator[Job]:
    """Start a cluster on which a run is trained."""
    with loopback_ray(folder, nodes=1) as cluster:
        yield Job("ray", (f"address={cluster.url}", f"folder={folder}/jobs"))


def _serve(port: int) -> None:
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": True, "dashboard_port": port, "object_store_memory": _MEMORY}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for line in sys.stdin:
            answer = _do(cluster, f"http://127.0.0.1:{port}", *json.loads(line))
            sys.stdout.write(f"{_ANSWER}{json.dumps(answer)}\n")
            sys.stdout.flush()
    finally:
        cluster.shutdown()


def _insist(start: Callable[[], Any]) -> Any:
    """Start a node again that did not come up: on a busy machine, a raylet gives up its own agents after 15 seconds."""
    for _ in range(_MOST_STARTS - 1):
        with suppress(Exception):  # Ray raises no other
            return start()
    return start()


def _do(cluster: Any, url: str, verb: str, word: str = "") -> object:
    from ray.util.state import list_actors

    if verb == "add":
        return _insist(lambda: cluster.add_node(num_cpus=1, object_store_memory=_MEMORY)).node_id
    if verb == "busy":
        wanted = [("state", "=", "ALIVE"), ("class_name", "=", word)]
        alive = {each.node_id for each in list_actors(address=url, filters=wanted, timeout=60)}
        return sorted({each.node_id for each in cluster.worker_nodes} & alive)
    (node,) = (each for each in cluster.worker_nodes if each.node_id == word)
    (raylet,) = node.all_processes["raylet"]
    for pid in descendants(raylet.process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return cluster.remove_node(node, allow_graceful=False)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
