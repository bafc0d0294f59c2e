"""The parent of several workers: torch's elastic agent, told which ends are worth another start, and in which words."""

import json
import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from torch.distributed import DistError
from torch.distributed.elastic.agent.server.api import RunResult, WorkerGroup, WorkerSpec, WorkerState
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException, Std
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure
from torch.distributed.elastic.rendezvous import (
    RendezvousClosedError,
    RendezvousError,
    RendezvousHandler,
    RendezvousParameters,
    registry,
)

from burnish.errors import LaunchError
from burnish.launch.group import Group
from burnish.launch.plan import MEETS_HERE
from burnish.launch.worker import is_worth_a_retry, seconds_before

_SECONDS_TO_SAVE = 600
"""How long the workers may take to finish a step and save after they were told to stop."""
_MONITOR_SECONDS = 0.1
_MEETING = {"last_call_timeout": 5, "keep_alive_interval": 2, "keep_alive_max_attempt": 5}
"""A machine that comes later costs no work, so nobody waits long for it; one that is silent for 10 s is gone."""
_LAST_LINES = 30
_ASKED = (signal.SIGTERM, signal.SIGINT)


class Agent(LocalElasticAgent):
    """Starts the group again when a process died, and not when it was refused or asked to stop."""

    def _monitor_workers(self, worker_group: WorkerGroup, **settings: Any) -> RunResult:
        result: RunResult = super()._monitor_workers(worker_group, **settings)
        if result.state != WorkerState.FAILED:
            return result
        rank, failure = first_to_fail(result.failures)
        if failure.exitcode == os.EX_TEMPFAIL and self._rdzv_handler.num_nodes_waiting() > 0:
            # Another machine joins: an agent elsewhere has told its worker to save, and they all did.
            return RunResult(state=WorkerState.HEALTHY)
        if not is_worth_a_retry(failure.exitcode):
            self._remaining_restarts = 0
        elif self._remaining_restarts > 0:
            self.repeat_last_words(failure, rank)
            most = self._worker_group.spec.max_restarts + 1
            number = most - self._remaining_restarts
            wait = seconds_before(number + 1)
            _note(f"{self.explain(failure, rank)}; start {number + 1} of {most} in {wait:g} s")
            time.sleep(wait)
        return result

    def _start_workers(self, worker_group: WorkerGroup) -> dict[int, Any]:
        started: dict[int, Any] = super()._start_workers(worker_group)
        _listen()  # torch has taken the signals for itself
        return started

    def _shutdown(self, death_sig: signal.Signals = signal.SIGTERM, *_: object, **__: object) -> None:
        if self._pcontext is not None:
            self._pcontext.close(death_sig, _SECONDS_TO_SAVE)

    def explain(self, failure: ProcessFailure, rank: int) -> str:
        """Say how a process ended."""
        size = self._worker_group.workers[0].world_size
        if failure.exitcode == LaunchError.exit_code:
            return f"process {rank} of {size} (pid {failure.pid}) lost the others"
        if failure.exitcode >= 0:
            return f"process {rank} of {size} (pid {failure.pid}) ended with exit code {failure.exitcode}"
        name = signal.Signals(-failure.exitcode).name
        hint = ", as the system does when memory runs out" if name == "SIGKILL" else ""
        return f"process {rank} of {size} (pid {failure.pid}) was ended by {name}{hint}"

    def repeat_last_words(self, failure: ProcessFailure, rank: int) -> None:
        """Show what a process wrote that is not heard; the first one here speaks for itself."""
        written = Path((self._pcontext.stderrs if self._pcontext else {}).get(failure.local_rank) or os.devnull)
        with written.open(errors="replace") as lines:
            for line in deque(lines, maxlen=_LAST_LINES):
                sys.stderr.write(f"process {rank}: {line.rstrip()}\n")


def main(argv: Sequence[str]) -> int:
    """Run a module in several processes; take the exit code of the one that ended the run."""
    group, worker = Group(**json.loads(argv[0])), argv[1:]
    logging.disable(logging.ERROR)  # the agent's own account of a failure is long, and ours says it in a sentence
    try:
        return _keep_meeting(group, worker)
    except SignalException:
        return os.EX_TEMPFAIL  # asked to stop, as the workers were; exit.json says what became of it


def _keep_meeting(group: Group, worker: Sequence[str]) -> int:
    """Run the workers, again after the nodes have parted."""
    for start in count(2):
        try:
            for number in _ASKED:  # while it connects it would hear of none for a minute, and has nothing to tidy up
                signal.signal(number, signal.SIG_DFL)
            # Two runs that name one place by mistake never take part in one another.
            run = sha256(os.path.abspath(worker[1] if len(worker) > 1 else "").encode()).hexdigest()[:16]
            handler = registry.get_rendezvous_handler(
                RendezvousParameters(
                    backend="c10d",
                    endpoint=group.rendezvous or "localhost:0",
                    run_id=run,
                    min_nodes=group.least_nodes,
                    max_nodes=group.most_nodes,
                    local_addr="127.0.0.1" if group.is_on_loopback else None,
                    is_host={"1": True, "0": False}.get(os.environ.get(MEETS_HERE, "")),
                    **_MEETING,
                )
            )
            _listen()
            with TemporaryDirectory(prefix="burnish-words-") as words:
                return _run(group, worker, handler, words=words)
        except (RendezvousError, DistError) as error:
            first = str(error).strip().partition("\n")[0] or type(error).__name__
            if isinstance(error, RendezvousClosedError) or start > group.max_restarts + 1:
                return _refuse(
                    f"the nodes of this run did not meet at {group.rendezvous or 'this machine'}, or have parted "
                    f"({first}); start the same command on each, with the same --dir, --nodes and --rendezvous"
                )
            _listen()
            # The node where they meet may come back.
            _note(f"the nodes have parted ({first}); looking for them again in {seconds_before(start):g} s")
            time.sleep(seconds_before(start))
    raise AssertionError("numbers do not end")


def _run(group: Group, worker: Sequence[str], handler: RendezvousHandler, *, words: str) -> int:
    spec = WorkerSpec(
        role="worker",
        local_world_size=group.processes,
        entrypoint=sys.executable,
        args=("-u", "-m", *worker),
        rdzv_handler=handler,
        max_restarts=group.max_restarts,
        monitor_interval=_MONITOR_SECONDS,
        local_addr="127.0.0.1" if group.is_on_loopback else None,
    )
    unheard = {rank: Std.ERR if rank else Std.NONE for rank in range(group.processes)}
    agent = Agent(spec, DefaultLogsSpecs(log_dir=words, redirects=unheard))
    try:
        result = agent.run()
    except SignalException:
        raise  # and the others go on meeting there
    except BaseException:
        handler.shutdown()
        raise
    handler.shutdown()
    if result is None:
        return _refuse(f"the run has all of its {group.most_nodes} nodes; this one is not needed")
    return _conclude(agent, result) if result.is_failed() else 0


def first_to_fail(failures: "dict[int, ProcessFailure]") -> tuple[int, ProcessFailure]:
    """Find the process that took the others with it: those see its connection close, or are told to end by SIGTERM."""

    def suspicion(found: tuple[int, ProcessFailure]) -> int:
        if found[1].exitcode == -signal.SIGTERM:
            return 2
        return 1 if found[1].exitcode > 0 else 0

    return min(failures.items(), key=suspicion)


def _conclude(agent: Agent, result: RunResult) -> int:
    rank, failure = first_to_fail(result.failures)
    agent.repeat_last_words(failure, rank)
    if failure.exitcode >= 0:
        return failure.exitcode  # it has said why, in its own words
    _refuse(
        f"{agent.explain(failure, rank)}; the others stopped with it. `burnish resume` continues from the newest good "
        "checkpoint, on any number of processes"
    )
    return 128 - failure.exitcode


def _listen() -> None:
    for number in _ASKED:
        signal.signal(number, _stop_once)


def _stop_once(number: int, _frame: FrameType | None) -> None:
    """Stop the workers; a scheduler and our own parent may both ask, and the second must not disturb their saving."""
    for each in _ASKED:
        signal.signal(each, signal.SIG_IGN)
    raise SignalException(f"asked to stop by {number}", signal.Signals(number))


def _refuse(sentence: str) -> int:
    _say({"error": "LaunchError", "message": sentence})
    return LaunchError.exit_code


def _note(sentence: str) -> None:
    _say({"event": "noted", "step": 0, "message": sentence})


def _say(values: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
