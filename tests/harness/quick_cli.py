"""A `burnish` for shells that starts at once: each command is a fork of one process that has imported everything.

`burnish` and the interpreter of its workers are stand-ins in a folder for PATH. They hand their words, folder,
variables and open files to the server, pass on the signals they get, and end with the exit code of the fork.
"""

import atexit
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn
from unittest.mock import patch

from tests.harness.fork_server import IMPORTED, import_if_there, searching_root, warm_transformers

_MODULE = "tests.harness.quick_cli"
_MORE = ("burnish.cli.main", "burnish.commands.predict", "burnish.commands.train", "burnish.serve.server", "uvicorn")
_LIMIT = 1 << 20
_CLIENT = """\
#!{python} -IS
import json, os, signal, socket, sys
words = {before} + sys.argv[1:]
if words[:1] != ["-m"]:
    os.execv({python!r}, [{python!r}, *words])
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
order = json.dumps({{"words": words[1:], "folder": os.getcwd(), "variables": dict(os.environ)}}).encode()
socket.send_fds(server, [len(order).to_bytes(4, "big")], [0, 1, 2])
server.sendall(order)
answers = server.makefile("r")
pid = int(answers.readline())
for each in (signal.SIGTERM, signal.SIGINT):
    signal.signal(each, lambda number, frame: os.kill(pid, number))
sys.exit(int(answers.readline() or 137))
"""


@contextmanager
def quick_cli(folder: Path) -> Iterator[Path]:
    """Give a folder for PATH whose `burnish` is quick, for a while."""
    address, commands = str(folder / "socket"), folder / "bin"
    commands.mkdir(parents=True)
    for name, before in (("burnish", ["-m", "burnish"]), ("interpreter", [])):
        client = commands / name
        client.write_text(_CLIENT.format(python=sys.executable, before=before, address=address))
        client.chmod(0o755)
    single = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    server = subprocess.Popen(
        [sys.executable, "-m", _MODULE, address, str(commands / "interpreter")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**searching_root(), **single},
    )
    with server:  # leaving closes its input, at which it ends; so does the death of this process
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        yield commands


@contextmanager
def quick_interpreter() -> Iterator[Path]:
    """Give a stand-in for the interpreter, below a short path: that of a socket has a hundred letters at most."""
    folder = tempfile.TemporaryDirectory(prefix="quick", ignore_cleanup_errors=True)
    with folder as root, quick_cli(Path(root) / "cli") as commands:
        yield commands / "interpreter"


@contextmanager
def workers_by(interpreter: Path) -> Iterator[None]:
    """Let workers that this process starts be forks; whatever else it starts has an interpreter of its own."""
    with patch("burnish.launch.local.sys", SimpleNamespace(executable=str(interpreter))):
        yield


def serve(address: str, interpreter: str) -> None:
    """Fork for each command until the input ends; nobody waits for a fork, which tells its exit code itself."""
    for name in (*IMPORTED, *_MORE):
        import_if_there(name)
    warm_transformers()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            client, _ = listener.accept()
            with client:
                if os.fork() == 0:
                    listener.close()
                    _work(client, interpreter)


def _work(client: socket.socket, interpreter: str) -> NoReturn:
    code = 70
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        order = _take_place(client)
        sys.executable, sys.argv = interpreter, order["words"]
        client.sendall(f"{os.getpid()}\n".encode())
        code = _run(order["words"][0])
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        with suppress(OSError):
            client.sendall(f"{code}\n".encode())
        os._exit(code)


def _take_place(client: socket.socket) -> dict[str, Any]:
    """Stand where the client stands: its files, its folder, its variables, its modules."""
    size, files, _, _ = socket.recv_fds(client, 4, 3)
    order: dict[str, Any] = json.loads(client.makefile("rb").read(int.from_bytes(size, "big")))
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    os.setsid()
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["variables"])
    for each in reversed(os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        if each and each not in sys.path:
            sys.path.insert(0, each)
    return order


def _run(module: str) -> int:
    sys.modules.pop(module, None)  # or it warns that a program was imported before
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    serve(*sys.argv[1:])
