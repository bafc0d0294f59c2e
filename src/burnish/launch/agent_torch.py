"""The parent of several workers: torch's elastic agent, whose outcome becomes one exit code and one sentence."""

import json
import logging
import os
import signal
import sys
from collections.abc import Iterable, Sequence

from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.run import get_args_parser, parse_args, run

_SECONDS_TO_SAVE = 600
"""How long the workers may take to finish a step and save after the agent was told to stop."""


def main(argv: Sequence[str]) -> int:
    """Run a module in several processes; take the exit code of the one that ended the run."""
    processes, worker = int(argv[0]), argv[1:]
    logging.disable(logging.ERROR)  # the agent's own account of a failure is long, and ours says it in a sentence
    try:
        run(parse_args([*options(processes), "--module", *worker]))  # type: ignore[no-untyped-call]  # torch leaves it untyped
    except ChildFailedError as error:
        return _told(first_to_fail(error.failures.values()), processes)
    except SignalException:
        return os.EX_TEMPFAIL  # asked to stop, as the workers were; exit.json says what became of it
    return 0


def options(processes: int) -> list[str]:
    """Give the options of torchrun for this machine alone."""
    wanted = ["--standalone", f"--nproc-per-node={processes}", "--local-addr=127.0.0.1", "--max-restarts=0"]
    patience = "--shutdown-timeout"
    # Older versions always wait 30 seconds.
    return [*wanted, f"{patience}={_SECONDS_TO_SAVE}"] if patience in get_args_parser().format_help() else wanted


def first_to_fail(failures: Iterable[ProcessFailure]) -> ProcessFailure:
    """Find the process that took the others with it: those see its connection close, or are told to end by SIGTERM."""

    def suspicion(failure: ProcessFailure) -> int:
        if failure.exitcode == -signal.SIGTERM:
            return 2
        return 1 if failure.exitcode > 0 else 0

    return min(failures, key=suspicion)


def _told(failure: ProcessFailure, processes: int) -> int:
    if failure.exitcode >= 0:
        return failure.exitcode  # it has said why, in its own words
    sys.stdout.write(json.dumps({"error": "LaunchError", "message": _sentence(failure, processes)}) + "\n")
    sys.stdout.flush()
    return 128 - failure.exitcode


def _sentence(failure: ProcessFailure, processes: int) -> str:
    name = signal.Signals(-failure.exitcode).name
    hint = ", as the system does when memory runs out" if name == "SIGKILL" else ""
    return (
        f"process {failure.local_rank} of {processes} (pid {failure.pid}) was ended by {name}{hint}; "
        "the others stopped with it. `burnish resume` continues from the newest good checkpoint, "
        "on any number of processes"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
