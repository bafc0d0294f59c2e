"""Starts many workers from one process that has imported everything, so that hundreds of crashes cost minutes.

Each worker is a fork: its own process, its own memory, its own death. The server uses no torch threads before it
forks, and a test holds its runs against those of fresh processes.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, TextIO

from tests.harness.faults import Fault, Injector

_MODULE = "tests.harness.fork_server"
_ROOT = Path(__file__).parents[2]
IMPORTED = (
    "burnish.run.worker",
    "burnish.run.attempt",
    "burnish.run.finish",
    "burnish.report.page",
    "burnish.tasks.text_classification",
    "burnish.models.transformers.transformer_torch",
    "burnish.optim.optim_torch",
    "safetensors.torch",
    "transformers.models.auto.modeling_auto",
    "transformers.models.bert.modeling_bert",
    "pyarrow.parquet",
    "pyarrow.csv",
    "sklearn.linear_model",
    "sklearn.feature_extraction.text",
    "jinja2",
)
"""What a worker imports on its way, so that a fork has it already; a name that is gone only costs time."""


@dataclass(frozen=True)
class Attempt:
    """One worker at work; its output goes to a file."""

    pid: int
    output: Path
    server: "ForkServer"

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send it a signal; one that has ended is not harmed, for its id is its own until `wait`."""
        assert self.pid > 1, "0 and below name whole groups of processes"
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Give its exit code; a signal's number below zero when it was killed."""
        return self.server.ask("wait", self.pid)

    def events(self) -> list[dict[str, Any]]:
        """Read what it said so far; a library's own words are passed over."""
        return list(_documents(self.output.read_text(errors="replace")))


class ForkServer:
    """Ask the server for workers, one at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._requests, self._answers = process.stdin, process.stdout

    def start(
        self,
        directory: Path,
        *,
        output: Path,
        fault: Fault | None = None,
        trace: Path | None = None,
        change: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Attempt:
        """Start a worker on a planned run, maybe with a fault; `change` is a `module:function` it calls first.

        With RANK, WORLD_SIZE and MASTER_* in `env` it is one of several.
        """
        request = {
            "directory": str(directory),
            "output": str(output),
            "fault": None if fault is None else asdict(fault),
            "trace": None if trace is None else str(trace),
            "change": change,
            "env": dict(env or {}),
        }
        return Attempt(self.ask("start", request), output, self)

    def ask(self, verb: str, value: object) -> int:
        """Send one request and take its answer."""
        self._requests.write(json.dumps({verb: value}) + "\n")
        self._requests.flush()
        line = self._answers.readline()
        assert line, "the fork server died; its output is on standard error"
        answer: int = json.loads(line)[verb]  # a KeyError here means that an answer was left unread
        return answer


def searching_root() -> dict[str, str]:
    """Give this environment with the root of the repository on the module path, for processes that run from here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(_ROOT))))}


@contextmanager
def fork_server(*, env: Mapping[str, str] | None = None) -> Iterator[ForkServer]:
    """Run a server for a while; one thread, so that a fork is a whole copy of it."""
    single = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    process = subprocess.Popen(
        [sys.executable, "-m", _MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**searching_root(), **single, **(env or {})},
    )
    with process:  # leaving closes its input, at which it ends
        yield ForkServer(process)


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer `start` with the id of a forked worker, and `wait` with its exit code; it is reaped only then."""
    for name in IMPORTED:
        import_if_there(name)
    warm_transformers()
    for line in requests:
        ((verb, value),) = json.loads(line).items()
        answer = _fork(value) if verb == "start" else os.waitstatus_to_exitcode(os.waitpid(value, 0)[1])
        answers.write(json.dumps({verb: answer}) + "\n")
        answers.flush()


def _fork(request: Mapping[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        _work(**request)
    return pid


def _work(
    *,
    directory: str,
    output: str,
    fault: Mapping[str, Any] | None,
    trace: str | None,
    change: str | None,
    env: Mapping[str, str],
) -> NoReturn:
    code = 70
    try:
        _speak_into(output)
        os.environ.update(env)
        if change is not None:
            module, _, name = change.partition(":")
            getattr(importlib.import_module(module), name)()
        if fault is not None or trace is not None:
            injected = None if fault is None else Fault(**fault)
            Injector(injected, trace=None if trace is None else Path(trace)).install()
        code = importlib.import_module("burnish.run.worker").main([directory])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # never back into the server's own loop


def _speak_into(output: str) -> None:
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    quiet = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((quiet, 0), (file, 1), (file, 2)):
        os.dup2(source, target)


def import_if_there(name: str) -> None:
    with suppress(ImportError):
        importlib.import_module(name)


def warm_transformers() -> None:
    # It builds a table of all model families at the first load, half a second that every fork would spend again.
    with suppress(Exception):
        importlib.import_module("transformers.conversion_mapping").get_checkpoint_conversion_mapping("bert")


def _documents(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            document = json.loads(line)
        except ValueError:
            continue
        if isinstance(document, dict):
            yield document


def main(_argv: Sequence[str]) -> int:
    """Serve on standard input and output until the input ends."""
    serve(sys.stdin, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
