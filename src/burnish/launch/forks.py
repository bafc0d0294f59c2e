"""Starts workers as forks of one process that has imported everything, so that none waits seconds for torch.

The process starts no thread of torch, and asks CUDA for nothing, before it forks. What a fork imported besides is
imported for the next one, unless it is code of the user's own, which may change from one worker to the next.
"""

import atexit
import importlib
import json
import os
import select
import signal
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from burnish.engine.device import list_gpus
from burnish.errors import LaunchError
from burnish.launch.local import WorkerProcess, start_worker, worker_environment
from burnish.launch.module_path import is_installed

SWITCH = "BURNISH_FORK"
"""Set to 0, each worker of a Python session is a process of its own that imports everything itself."""
IDLE_SECONDS = 600.0
_MODULE = "burnish.launch.forks"
_IMPORTED = (
    *("burnish.run.worker", "burnish.run.attempt", "burnish.run.finish", "pyarrow.parquet", "pyarrow.csv"),
    *("pandas", "torch._dynamo"),  # every run comes to need them: pyarrow's tables, and the first step of an optimizer
)
_OWN = "BURNISH_"
"""How variables begin that are read when they are needed; others may be read when a library is loaded."""
_SET_BY_LIBRARIES = {"KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "TORCHINDUCTOR_CACHE_DIR"}
"""What scikit-learn and transformers set when a session imports them."""
_STARTS = 2
_SIZE_BYTES = 4
_FOR_EACH_FORK = 3
"""Its standard output and error, and the pipe on which it is told of."""


class ForkedWorker:
    """A worker that was forked, as its starter sees it: like a `Popen`."""

    def __init__(self, pid: int, stdout: IO[str], ending: IO[str]) -> None:
        self.pid = pid
        self.stdout: IO[str] | None = stdout
        self._ending = ending
        self._code: int | None = None
        try:
            self._handle: int | None = os.pidfd_open(pid)
        except OSError:  # it has ended already, or the kernel has no handles and only trials are forked
            self._handle = None

    def send_signal(self, number: int, /) -> None:
        """Send it a signal; one that has ended is spared, and so is any other process that has its number since."""
        if self._handle is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)

    def wait(self) -> int:
        """Wait until it has ended; give its exit code, or the number of a signal below zero."""
        if self._code is None:
            line = self._ending.readline()
            self._ending.close()
            # Without a word, it and the process that forked it were killed both.
            self._code = int(line) if line else -signal.SIGKILL
            self._close_handle()
        return self._code

    def __del__(self) -> None:
        self._close_handle()

    def _close_handle(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


class ForkServer:
    """Asks the process for workers: starts it when the first is wanted, and another where it has ended or is unfit."""

    def __init__(self, imported: Sequence[str] = (), *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._imported = [*_IMPORTED, *imported]
        self._idle_seconds = idle_seconds
        self._turn = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._channel: socket.socket | None = None
        self._fits: object = None

    @property
    def pid(self) -> int | None:
        """The number of the process; None before the first worker."""
        return None if self._process is None else self._process.pid

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cores: Sequence[int] = (),
        stderr: int = 2,
    ) -> ForkedWorker:
        """Fork a worker that calls `main` of a module with the further words, in this process's folder and variables.

        Without `cores`, it may use those that this thread may.
        """
        environment = worker_environment(env)
        order = {
            "argv": [*argv],
            "environment": environment,
            "folder": os.getcwd(),
            "cores": [*cores] or sorted(os.sched_getaffinity(0)),
        }
        fits = _surroundings(environment, besides=env or {})
        with self._turn:
            for _ in range(_STARTS):
                if self._channel is None or self._fits != fits:
                    self._launch()
                    self._fits = fits
                worker = self._ask(order, stderr=stderr)
                if worker is not None:
                    return worker
                self._end()
        raise LaunchError("the process that forks workers ended before it had forked one")

    def close(self) -> None:
        """End the process; workers that are under way are not touched."""
        with self._turn:
            self._end()

    def forget(self) -> None:
        """Let go of the process without ending it: it belongs to the process that this one was forked from."""
        self._turn = threading.Lock()
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self._process.returncode = 0  # or it would be waited for, as if it were a child of this one
        self._channel = self._process = None

    def _launch(self) -> None:
        self._end()
        self._channel, theirs = socket.socketpair()
        with closing(theirs):
            words = [_MODULE, str(self._idle_seconds), *self._imported]
            self._process = start_worker(words, stdin=theirs.fileno())

    def _end(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
        self._channel = self._process = None

    def _ask(self, order: Mapping[str, Any], *, stderr: int) -> ForkedWorker | None:
        """Send an order and wait for the fork to answer; None if the process has ended."""
        assert self._channel is not None
        content = json.dumps(order).encode()
        output, their_output = os.pipe()
        ending, their_ending = os.pipe()
        lines = open(output, encoding="utf-8", errors="replace")  # noqa: SIM115  # closed by whoever reads it
        answers = open(ending, encoding="ascii")  # noqa: SIM115  # closed by `wait`
        try:
            size = len(content).to_bytes(_SIZE_BYTES, "big")
            socket.send_fds(self._channel, [size], [their_output, stderr, their_ending])
            self._channel.sendall(content)
        except OSError:  # somebody killed it, or it had been idle for long
            lines.close()
            answers.close()
            return None
        finally:
            os.close(their_output)
            os.close(their_ending)
        pid = answers.readline()
        if pid:
            return ForkedWorker(int(pid), lines, answers)
        lines.close()
        answers.close()
        return None


_session = ForkServer()
_forks_here: ContextVar[bool] = ContextVar("whether workers of this Python session are forked", default=False)
atexit.register(_session.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_session.forget)


@contextmanager
def forking() -> Iterator[None]:
    """Let runs that start meanwhile be trained by forks of a process that serves this whole Python session."""
    token = _forks_here.set(True)
    try:
        yield
    finally:
        _forks_here.reset(token)


def choose_start(environment: Mapping[str, str], *, platform: str = sys.platform) -> Callable[..., WorkerProcess]:
    """Choose what starts a worker: a fork in a Python session on Linux without GPUs, and else a new process.

    Elsewhere, libraries of the system do not bear a fork; with a GPU, a library that is imported may open it.
    """
    is_off = environment.get(SWITCH) == "0"
    is_safe = platform == "linux" and _has_handles() and not list_gpus(environment)
    return _start_in_session if _forks_here.get() and is_safe and not is_off else start_worker


def _has_handles() -> bool:
    """Tell whether a process can be signalled by a handle: its number may be another's once it has ended."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):  # an old kernel, or a sandbox
        return False
    return True


def _start_in_session(argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> WorkerProcess:
    try:
        return _session.start(argv, env=env)
    except (LaunchError, OSError):
        return start_worker(argv, env=env)


def _surroundings(environment: Mapping[str, str], *, besides: Mapping[str, str]) -> object:
    """Give what a process that has imported everything cannot change any more.

    Packages that were installed since show in the times of their folders.
    """
    variables = {
        name: value
        for name, value in environment.items()
        if not name.startswith(_OWN) and name not in _SET_BY_LIBRARIES and name not in besides
    }
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()]
    times = [os.stat(each).st_mtime_ns for each in folders if os.path.isdir(each)]
    return variables, times


@dataclass(frozen=True)
class _Order:
    """What the process was asked to fork."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    cores: Sequence[int]
    descriptors: Sequence[int]


def _serve(channel: socket.socket, learned: IO[str], idle_seconds: float) -> _Order | None:
    """Fork at each order. It returns the order in a fork, and None in the process itself once it is needed no more."""
    asks = channel.fileno()
    deaths, is_dead = os.pipe()
    os.set_blocking(is_dead, False)
    signal.set_wakeup_fd(is_dead, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # one that is ignored wakes nobody
    endings: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([asks, deaths], [], [], idle_seconds)
        if not ready and not endings:
            return None
        if deaths in ready:
            os.read(deaths, select.PIPE_BUF)
            _tell_endings(endings)
        learned.seek(0)
        _import(learned.read().split())  # mostly after a death: who waited for it reads what came of it meanwhile
        if asks not in ready:
            continue
        order = _receive(channel)
        if order is None:
            return None
        if threading.active_count() > 1:
            return None  # a fork would lack the thread that an import has started; the next process has not learned it
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            channel.close()
            for each in (deaths, is_dead, *endings.values()):
                os.close(each)
            return order
        *files, endings[pid] = order.descriptors
        for each in files:
            os.close(each)


def _receive(channel: socket.socket) -> _Order | None:
    size, descriptors, _, _ = socket.recv_fds(channel, _SIZE_BYTES, _FOR_EACH_FORK)
    length = int.from_bytes(size, "big")
    content = channel.recv(length, socket.MSG_WAITALL) if size else b""
    if not content or len(content) < length:
        return None  # whoever asks is gone
    return _Order(**json.loads(content), descriptors=descriptors)


def _tell_endings(endings: dict[int, int]) -> None:
    """Tell of each fork that has ended how it did, as a `Popen` says it."""
    for pid in [*endings]:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            _tell(endings.pop(pid), os.waitstatus_to_exitcode(status))


def _tell(ending: int, number: int) -> None:
    with suppress(OSError):  # whoever asked is gone
        os.write(ending, f"{number}\n".encode())
    os.close(ending)


def _import(names: Sequence[str]) -> None:
    for name in dict.fromkeys(names):
        if name not in sys.modules:
            with suppress(Exception):  # a worker that needs it says so, and one that does not loses nothing
                importlib.import_module(name)


def _work(order: _Order, learned: IO[str]) -> NoReturn:
    """Be the worker: take the place that a new process would have, and end as it would."""
    *_, ending = order.descriptors
    known = set(sys.modules)
    code = 1
    try:
        os.write(ending, f"{os.getpid()}\n".encode())
        _take_place(order)
        code = _run(order.argv)
        _end_as_usual()
    finally:
        names = [name for name, module in [*sys.modules.items()] if name not in known and _is_lasting(name, module)]
        learned.write("".join(f"{name}\n" for name in names))
        learned.flush()
        _tell(ending, code)  # itself: the process that forked it may be gone
        os._exit(code)  # never back into the loop that forks


def _take_place(order: _Order) -> None:
    output, error, _ = order.descriptors
    os.setsid()
    for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (error, 2)):
        os.dup2(source, target)
        os.close(source)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    os.sched_setaffinity(0, order.cores)
    importlib.invalidate_caches()  # files may have been written since


def _run(argv: Sequence[str]) -> int:
    name, *words = argv
    try:
        module = importlib.import_module(name)
        sys.argv = [str(module.__file__), *words]
        code: int = module.main(words)
        return code
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)  # as Python itself does
    except BaseException:  # of the user's code, or a bug
        traceback.print_exc()
    return 1


def _end_as_usual() -> None:
    """Do what an interpreter does at its end, apart from tearing torch down."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # whoever reads it is gone
            stream.flush()


def _is_lasting(name: str, module: object) -> bool:
    """Tell whether a module stays as it is while this process lives: it is installed, or Burnish's own."""
    if "__" in name:
        return False
    file = getattr(module, "__file__", None)
    return name.startswith("burnish.") or (isinstance(file, str) and is_installed(Path(file)))


def _main(idle_seconds: float, imported: Sequence[str]) -> NoReturn:
    os.dup2(2, 1)  # nobody reads what an import prints
    with socket.socket(fileno=os.dup(0)) as channel, tempfile.TemporaryFile("a+") as learned:
        _import(imported)
        order = _serve(channel, learned, idle_seconds)
        if order is not None:
            _work(order, learned)
    os._exit(0)  # nobody waits for torch to be torn down


if __name__ == "__main__":
    _main(float(sys.argv[1]), sys.argv[2:])
