"""Starts trials from one process that has imported everything: each is a fork, so none waits seconds for torch.

The process starts no thread of torch before it forks. What a trial imported besides is imported here for the next.
"""

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NoReturn, Self

from burnish.engine.device import list_gpus
from burnish.errors import BurnishError
from burnish.launch.local import start_worker
from burnish.launch.module_path import find_modules_here
from burnish.run.record.directory import RunDirectory, write_json
from burnish.run.record.ending import refusal

_MODULE = "burnish.tuning.forks"
_IMPORTED = (
    *("burnish.run.worker", "burnish.run.attempt", "burnish.run.finish", "pyarrow.parquet", "pyarrow.csv"),
    *("pandas", "torch._dynamo"),  # every run comes to need them: pyarrow's tables, and the first step of an optimizer
)
_OF_MODELS = {"transformer": ("burnish.models.transformers.transformer_torch",)}
"""What takes long to import besides, by the name of a model."""
_MOST_BYTES = 1 << 16


class TrialStarter:
    """Asks the process for trials; a context, at whose end it is let go."""

    def __init__(self, model: str = "") -> None:
        self._turn = threading.Lock()
        self._trials_on = dict.fromkeys(list_gpus(), 0)
        """How many trials train on each GPU."""
        self._imported = _OF_MODELS.get(model, ())

    def __enter__(self) -> Self:
        self._launch()
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()  # at which it ends
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()

    def start(self, run: Path, options: Sequence[str], *, cores: Sequence[int], log: Path) -> Iterator[str]:
        """Start a worker on a planned run, and give each line it prints until it has ended."""
        with self._reserve_gpu() as gpu:
            ours, theirs = os.pipe()
            asked = {"run": str(run), "options": [*options], "cores": [*cores], "gpu": gpu, "log": str(log)}
            with self._turn:
                try:
                    self._send(asked, theirs)
                except OSError:  # somebody killed the process: another takes its place
                    self._launch()
                    self._send(asked, theirs)
                finally:
                    os.close(theirs)
            with open(ours, encoding="utf-8", errors="replace") as lines:
                yield from lines

    @contextmanager
    def _reserve_gpu(self) -> Iterator[str | None]:
        """Choose the GPU on which the fewest trials train; None where there is no choice."""
        if len(self._trials_on) < 2:
            yield None
            return
        with self._turn:
            gpu = min(self._trials_on, key=self._trials_on.__getitem__)
            self._trials_on[gpu] += 1
        try:
            yield gpu
        finally:
            with self._turn:
                self._trials_on[gpu] -= 1

    def _launch(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with closing(theirs):
            self._process: subprocess.Popen[str] = start_worker([_MODULE, *self._imported], stdin=theirs.fileno())

    def _send(self, asked: Mapping[str, Any], output: int) -> None:
        socket.send_fds(self._channel, [json.dumps(asked).encode()], [output])


def serve(channel: socket.socket, imported: Sequence[str]) -> None:
    """Fork a trial for each request, until whoever asks is gone."""
    _import([*_IMPORTED, *imported])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks for exit codes: a run's own files say how it ended
    with tempfile.TemporaryFile("a+") as learned:
        while True:
            message, descriptors, _, _ = socket.recv_fds(channel, _MOST_BYTES, 1)
            if not message:
                return
            learned.seek(0)
            _import(learned.read().split())
            if os.fork() == 0:
                channel.close()
                _work(json.loads(message), descriptors[0], learned)
            os.close(descriptors[0])


def _import(names: Sequence[str]) -> None:
    for name in dict.fromkeys(names):
        if name not in sys.modules:
            with suppress(Exception):  # a trial that needs it says so, and one that does not loses nothing
                importlib.import_module(name)


def _work(asked: Mapping[str, Any], output: int, learned: IO[str]) -> NoReturn:
    run, known = RunDirectory(Path(asked["run"])), set(sys.modules)
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (log, 2)):
            os.dup2(source, target)
        os.close(output)
        if asked["cores"] and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, asked["cores"])
            os.environ["BURNISH_CORES"] = str(len(asked["cores"]))
        if asked["gpu"]:
            os.environ["CUDA_VISIBLE_DEVICES"] = asked["gpu"]  # CUDA has not been asked for anything in this process
        importlib.import_module("burnish.run.worker").main([asked["run"], *asked["options"]])
    except Exception as error:  # of the user's code, or a bug: the study goes on without this trial
        traceback.print_exc()
        sentence = BurnishError(f"{type(error).__name__}: {error}; the traceback is in {asked['log']}")
        write_json(run.exit, {"reason": "failed", **refusal(sentence)})
    finally:
        learned.write("".join(f"{name}\n" for name in sys.modules if name not in known and "__" not in name))
        learned.flush()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # never back into the loop that forks


if __name__ == "__main__":
    find_modules_here()
    with socket.socket(fileno=os.dup(0)) as own:
        serve(own, sys.argv[1:])
    os._exit(0)  # a study that is over does not wait for torch to be torn down
