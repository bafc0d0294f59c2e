"""What Ray starts on a node: a process in a folder of its own, which does not outlive what started it."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock

from burnish.extras import require

_SET_DEATH_SIGNAL = 1
"""Of prctl, which Linux alone has."""


class NodeWorker:
    """One process on a node; what it prints is a stream, at whose end is its exit code."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._is_stopping = False
        self._start_or_stop = Lock()  # Ray calls `stop` from another thread

    def free_address(self) -> str:
        """Name an address of this node at which workers may meet."""
        util = require("ray.util", extra="ray", why="to run on Ray")
        with socket.socket() as free:
            free.bind(("", 0))
            return f"{util.get_node_ip_address()}:{free.getsockname()[1]}"

    def run(self, argv: Sequence[str], env: Mapping[str, str]) -> Iterator[str | int]:
        """Run `python -m <argv…>` to its end in an empty folder."""
        with tempfile.TemporaryDirectory(prefix="burnish-", ignore_cleanup_errors=True) as folder:
            yield from self.lines(argv, env, Path(folder))

    def stop(self) -> None:
        """Ask the process to save and end."""
        with self._start_or_stop:
            self._is_stopping = True
            if self._process is not None:
                self._process.send_signal(signal.SIGTERM)

    def lines(self, argv: Sequence[str], env: Mapping[str, str], folder: Path) -> Iterator[str | int]:
        """Run a process in a folder; it is killed if nobody listens to its end."""
        with self._start_or_stop:
            process = self._process = None if self._is_stopping else _start(argv, env, folder)
        if process is None:
            yield os.EX_TEMPFAIL
            return
        assert process.stdout is not None
        try:
            yield from (line for line in process.stdout)  # Ray sends into generators, and a file is none
            code = process.wait()
            if self._is_stopping and code == -signal.SIGTERM:
                code = os.EX_TEMPFAIL  # it did not listen yet, and has nothing to save
            yield code if code >= 0 else 128 - code
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def _start(argv: Sequence[str], env: Mapping[str, str], folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", *argv],
        cwd=folder,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        preexec_fn=_death_signal(),  # noqa: PLW1509  # it only calls a function of C that is loaded already
    )


def _death_signal() -> Callable[[], object] | None:
    """Have the kernel kill a process with its parent: a node that Ray has given up must not publish any more."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
