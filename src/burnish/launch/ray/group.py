"""The driver of a job on Ray: places a worker on each node, passes on what they print, and replaces lost nodes."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from burnish.errors import BurnishError, LaunchError
from burnish.extras import require
from burnish.launch.group import read_nodes
from burnish.launch.plan import FILES, MEETS_HERE, NODE_RANK, NODES, RENDEZVOUS, STOP, WORKER
from burnish.launch.ray.node import NodeWorker
from burnish.launch.transfer import read_remote

STUDY = "BURNISH_RAY_STUDY"
"""Where the trials of a study are to run: JSON with what each takes of a node, and where the files of the job are."""
_STUDY_BUNDLE = {"CPU": 1.0}
"""What the process takes that leads a study; its trials have what was asked for."""
_LOOK_SECONDS = 1.0
_PATIENCE_SECONDS = 10.0
_SECONDS_TO_SAVE = 600.0
_WAIT_SECONDS = 5.0
_HEARTBEAT_SECONDS = 300.0


@dataclass(frozen=True)
class GroupPlan:
    """What the driver is told besides the address of the job."""

    nodes: str
    bundle: Mapping[str, float]
    max_restarts: int
    is_study: bool = False

    def write(self) -> str:
        """Write it as one word."""
        return json.dumps(asdict(self))


class NodeGroup:
    """The workers of a job."""

    def __init__(self, address: str, plan: GroupPlan) -> None:
        self.ray = require("ray", extra="ray", why="to run on Ray")
        self.address, self.plan = address, plan
        self.is_stopping = False
        self.bundle = _STUDY_BUNDLE if plan.is_study else dict(plan.bundle)

    def run(self, *, sleep: Callable[[float], None] = time.sleep) -> int:
        """Run workers until the first of them has ended; start all again when a node is lost."""
        for start in range(1, self.plan.max_restarts + 2):
            try:
                return self._attempt()
            except self.ray.exceptions.RayTaskError as error:  # of ours: another node would not help
                say(f"error: a worker could not be run: {str(error).strip().rpartition(chr(10))[2]}")
                break
            except LaunchError as error:
                say(f"error: {error}")
                break
            except self.ray.exceptions.RayError as error:
                reason = str(error).strip().partition("\n")[0]
                say(f"a node or its worker was lost ({reason}); start {start + 1} of {self.plan.max_restarts + 1}")
                if self.is_stopping:
                    break
            sleep(_WAIT_SECONDS)
        return LaunchError.exit_code

    def stop(self, *_: object) -> None:
        """Ask all workers to save and end; the loop that follows them tells them."""
        self.is_stopping = True

    def _attempt(self) -> int:
        util = require("ray.util", extra="ray", why="to run on Ray")
        placed = self._place(util)
        workers: list[Any] = []
        try:
            if self.is_stopping:
                return os.EX_TEMPFAIL  # while nodes were waited for: nothing runs that would save
            make = self.ray.remote(NodeWorker)
            for rank in range(placed.bundle_count):
                strategy = util.scheduling_strategies.PlacementGroupSchedulingStrategy(
                    placed, placement_group_bundle_index=rank
                )
                workers.append(make.options(**actor_options(self.bundle), scheduling_strategy=strategy).remote())
            return self._follow(workers)
        finally:
            for each in workers:
                self.ray.kill(each)
            util.remove_placement_group(placed)

    def _place(self, util: Any) -> Any:
        """Reserve a place on each of as many nodes as there are; wait for those that must be."""
        size, said = self._size(), 0.0
        placed = util.placement_group([self.bundle] * size, strategy="STRICT_SPREAD")
        while not placed.wait(_PATIENCE_SECONDS) and not self._is_asked_to_stop():
            if time.monotonic() - said > _HEARTBEAT_SECONDS:
                say(f"waiting for {size} nodes with {', '.join(f'{v:g} {k}' for k, v in self.bundle.items())}")
                said = time.monotonic()
            if self._size() != size:
                util.remove_placement_group(placed)
                size = self._size()
                placed = util.placement_group([self.bundle] * size, strategy="STRICT_SPREAD")
        return placed

    def _is_asked_to_stop(self) -> bool:
        """Look for the user's request too: where nothing runs yet, no worker sees it."""
        with suppress(BurnishError):  # away; the next look may come through
            root = self.address.rpartition("/")[0]
            self.is_stopping = self.is_stopping or read_remote(f"{root}/{STOP}") is not None
        return self.is_stopping

    def _size(self) -> int:
        least, most = read_nodes(self.plan.nodes)
        alive = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        fit = sum(all(each.get(name, 0) >= amount for name, amount in self.bundle.items()) for each in alive)
        return min(most, max(least, fit))

    def _follow(self, workers: Sequence[Any]) -> int:
        """Pass on what workers print; the exit code of the first is that of the job.

        When one is lost, the others save and end first: two groups must not train in one folder.
        """
        told = zip(workers, self._environments(workers), strict=True)
        streams = {each.run.remote([WORKER, self.address], env): rank for rank, (each, env) in enumerate(told)}
        lost: Exception | None = None
        told_at = 0.0
        while streams and not (told_at and time.monotonic() > told_at + _SECONDS_TO_SAVE):
            if (self.is_stopping or lost) and not told_at:
                told_at = time.monotonic()
                for each in workers:
                    each.stop.remote()
            ready, _ = self.ray.wait([*streams], num_returns=1, timeout=_LOOK_SECONDS)
            for stream in ready:
                try:
                    said = self.ray.get(next(stream))
                except self.ray.exceptions.RayTaskError:
                    raise
                except self.ray.exceptions.RayError as error:
                    lost = lost or error
                    del streams[stream]
                    continue
                if isinstance(said, str):
                    say(f"[{streams[stream]}] {said}" if len(workers) > 1 else said)
                elif streams.pop(stream) == 0 and lost is None:
                    return int(said)
        raise lost or LaunchError(
            "the workers were asked to stop and did not; the newest checkpoint is what they have left"
        )

    def _environments(self, workers: Sequence[Any]) -> list[dict[str, str]]:
        if self.plan.is_study:
            files = f"{self.address.rpartition('/')[0]}/{FILES}"
            told = json.dumps({"bundle": dict(self.plan.bundle), "files": files})
            return [{STUDY: told, "RAY_ADDRESS": self.ray.get_runtime_context().gcs_address}]
        if len(workers) == 1:
            return [{}]
        place = self.ray.get(workers[0].free_address.remote())
        meeting = [{NODES: str(len(workers)), RENDEZVOUS: place, NODE_RANK: str(rank)} for rank in range(len(workers))]
        meeting[0][MEETS_HERE] = "1"  # an address of Ray's need not be one that the machine calls itself by
        return meeting


def actor_options(bundle: Mapping[str, float]) -> dict[str, Any]:
    """Write what an actor takes of its node as Ray wants it; a second thread tells it to stop."""
    own = {name: amount for name, amount in bundle.items() if name not in ("CPU", "GPU", "memory")}
    memory = {"memory": int(bundle["memory"])} if "memory" in bundle else {}
    given = {"num_cpus": bundle.get("CPU", 0), "num_gpus": bundle.get("GPU", 0), "resources": own, **memory}
    return {**given, "max_concurrency": 2, "max_restarts": 0}


def say(line: str) -> None:
    """Print a line of the job's log."""
    sys.stdout.write(line.rstrip("\n") + "\n")
    sys.stdout.flush()


def main(argv: Sequence[str]) -> int:
    """Run the group of a job; the address of its plan and the group's own plan are the words."""
    address, text = argv
    group = NodeGroup(address, GroupPlan(**json.loads(text)))
    group.ray.init(log_to_driver=False)
    signal.signal(signal.SIGTERM, group.stop)
    return group.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
