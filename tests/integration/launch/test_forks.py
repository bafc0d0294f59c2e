"""Forked workers are as good as new processes: the same endings, the same place, the same bits; and nothing stays."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import burnish
from burnish.engine import device
from burnish.errors import LaunchError
from burnish.launch import forks
from burnish.launch.forks import ForkedWorker, ForkServer, choose_start, forking
from burnish.launch.local import WorkerProcess, run_worker, start_worker
from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import EventsFile
from burnish.spec.events import Started
from tests.harness.digests import digests

SECONDS = 60.0
WORKER = """\
import json, os, signal, sys, time

def main(argv):
    what, *words = argv
    print("began", flush=True)
    if what == "code":
        return int(words[0])
    if what == "exit":
        sys.exit(json.loads(words[0]))
    if what == "raise":
        raise ValueError("of the user's own")
    if what == "kill":
        os.kill(os.getpid(), int(words[0]))
    if what == "wait":
        while not os.path.exists(words[0]):
            time.sleep(0.01)
    if what == "modules":
        print(json.dumps([name in sys.modules for name in words]))
    if what == "own":
        import own_module
        print(own_module.VALUE)
    if what == "place":
        print(json.dumps({
            "argv": sys.argv,
            "environment": dict(os.environ),
            "folder": os.getcwd(),
            "path": sys.path,
            "cores": sorted(os.sched_getaffinity(0)),
            "input": os.path.samestat(os.fstat(0), os.stat(os.devnull)),
            "leads its session": os.getsid(0) == os.getpid(),
            "signals": [str(signal.getsignal(each)) for each in (signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE)],
            "descriptors": len(os.listdir("/proc/self/fd")) if words else 0,
        }))
    return 0

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder of the user's own modules, which this session searches."""
    found = tmp_path_factory.mktemp("modules")
    (found / "worker_of_forks.py").write_text(WORKER)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(found)
        yield found


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ForkServer]:
    """Give a server that imports nothing heavy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forks, "_IMPORTED", ())
        found = ForkServer()
    yield found
    found.close()


def lines_of(worker: WorkerProcess) -> tuple[list[str], int]:
    assert worker.stdout is not None
    with worker.stdout as lines:
        printed = list(lines)
    return printed, worker.wait()


def begin(server: ForkServer, *words: str) -> ForkedWorker:
    """Start a worker and wait until it has begun."""
    worker = server.start(["worker_of_forks", *words])
    assert worker.stdout is not None
    assert worker.stdout.readline() == "began\n"
    return worker


def wait_until_gone(pid: int) -> None:
    """Wait until a process has ended, whoever will ask for its exit code."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} still lives")


@pytest.mark.parametrize(
    "words",
    [
        ("code", "0"),
        ("code", "75"),
        ("exit", "3"),
        ("exit", "null"),
        ("exit", '"a sentence"'),
        ("raise",),
        ("kill", str(int(signal.SIGTERM))),
        ("kill", str(int(signal.SIGINT))),
        ("kill", str(int(signal.SIGKILL))),
        ("kill", str(int(signal.SIGABRT))),
    ],
    ids=" ".join,
)
def test_a_fork_ends_as_a_new_process_would(
    server: ForkServer, words: Sequence[str], capfd: pytest.CaptureFixture[str]
) -> None:
    ends, said = [], []
    for start in (start_worker, server.start):
        ends.append(lines_of(start(["worker_of_forks", *words])))
        said.append(capfd.readouterr().err.splitlines()[-1:])
    assert ends[0] == ends[1]
    assert said[0] == said[1]


def test_a_fork_has_the_place_of_a_new_process(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines_of(server.start(["worker_of_forks", "code", "0"]))
    before = server.pid
    monkeypatch.setenv("BURNISH_SINCE", "a variable\nof two lines")
    monkeypatch.delenv("BURNISH_STATE")
    monkeypatch.setattr(sys, "stdin", None)
    fresh, forked = (
        json.loads(lines_of(start(["worker_of_forks", "place"]))[0][-1]) for start in (start_worker, server.start)
    )
    del fresh["input"]
    assert forked.pop("input"), "it would read what its server is asked"
    assert forked == fresh
    assert forked["environment"]["BURNISH_SINCE"] == "a variable\nof two lines"
    assert server.pid == before


def test_a_fork_keeps_to_its_cores_and_its_variables(server: ForkServer) -> None:
    core = sorted(os.sched_getaffinity(0))[-1]
    worker = server.start(["worker_of_forks", "place"], env={"OMP_NUM_THREADS": "7"}, cores=[core])
    place = json.loads(lines_of(worker)[0][-1])
    assert place["cores"] == [core]
    assert place["environment"]["OMP_NUM_THREADS"] == "7"


def test_nothing_is_left_open_from_one_fork_to_the_next(server: ForkServer) -> None:
    def count() -> int:
        found: int = json.loads(lines_of(server.start(["worker_of_forks", "place", "count"]))[0][-1])["descriptors"]
        return found

    first, ours = count(), len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        assert count() == first
    assert len(os.listdir("/proc/self/fd")) == ours


def test_forks_side_by_side_know_nothing_of_each_other(server: ForkServer, tmp_path: Path) -> None:
    first, second = (begin(server, "wait", str(tmp_path / name)) for name in ("a", "b"))
    first.send_signal(signal.SIGTERM)
    assert first.wait() == -signal.SIGTERM
    first.send_signal(signal.SIGTERM)  # it is gone, and so is its number
    (tmp_path / "b").touch()
    assert lines_of(second) == ([], 0)


def test_signals_of_this_process_reach_the_fork(server: ForkServer, tmp_path: Path) -> None:
    def pass_on(_line: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    words = ["worker_of_forks", "wait", str(tmp_path / "never")]
    assert run_worker(words, on_line=pass_on, start=server.start) == -signal.SIGTERM


def test_a_server_that_is_killed_is_replaced_and_its_forks_go_on(server: ForkServer, tmp_path: Path) -> None:
    worker, before = begin(server, "wait", str(tmp_path / "end")), server.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    assert lines_of(server.start(["worker_of_forks", "code", "4"])) == (["began\n"], 4)
    assert server.pid != before
    (tmp_path / "end").touch()
    assert lines_of(worker) == ([], 0)


def test_a_fork_that_is_killed_together_with_its_server_is_seen_at_once(server: ForkServer, tmp_path: Path) -> None:
    worker, end = begin(server, "wait", str(tmp_path / "never")), tmp_path / "end"
    later = begin(server, "wait", str(end))  # must not hold open what the first one was to be told of by
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    os.kill(worker.pid, signal.SIGKILL)
    at_last = threading.Timer(SECONDS, end.touch)
    at_last.start()
    assert lines_of(worker) == ([], -signal.SIGKILL)
    assert not end.exists()
    at_last.cancel()
    end.touch()
    assert lines_of(later) == ([], 0)


def test_a_server_that_cannot_start_leaves_its_place_to_a_new_process(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    broken = ForkServer()
    monkeypatch.setattr(forks, "_MODULE", "burnish.there_is_none")
    monkeypatch.setattr(forks, "_session", broken)
    with forking():
        worker = choose_start({}, platform="linux")(["worker_of_forks", "code", "5"])
    assert lines_of(worker) == (["began\n"], 5)
    assert isinstance(worker, subprocess.Popen)
    broken.close()


def test_an_idle_server_ends_and_the_next_worker_has_another(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr(forks, "_IMPORTED", ())
    short = ForkServer(idle_seconds=0.3)
    worker, pid = begin(short, "wait", str(tmp_path / "end")), short.pid
    assert pid is not None
    time.sleep(1.0)
    (tmp_path / "end").touch()
    assert lines_of(worker) == ([], 0), "it was not idle while a fork was at work"
    wait_until_gone(pid)
    assert lines_of(short.start(["worker_of_forks", "code", "6"])) == (["began\n"], 6)
    assert short.pid != pid
    short.close()


def test_variables_that_a_library_may_have_read_need_another_server(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pid() -> int | None:
        lines_of(server.start(["worker_of_forks", "code", "0"]))
        return server.pid

    first = pid()
    monkeypatch.setenv("KMP_INIT_AT_FORK", "FALSE")  # as an import of scikit-learn sets it
    monkeypatch.setenv("BURNISH_CORES", "1")
    assert pid() == first
    found = {first}
    for name in ("OMP_NUM_THREADS", "HF_HOME", "PYTHONPATH", "MPLBACKEND"):
        monkeypatch.setenv(name, f"{os.environ.get(name, '')}:/other")
        found.add(pid())
        assert pid() == server.pid
    assert len(found) == 5


def test_a_server_whose_imports_start_a_thread_forks_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "_IMPORTED", ())
    (folder / "starts_a_thread.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=[600], daemon=True).start()\n"
    )
    with pytest.raises(LaunchError, match="ended before it had forked one"):
        ForkServer(["starts_a_thread"]).start(["worker_of_forks", "code", "0"])


def test_code_of_the_users_own_is_read_again_by_each_fork(server: ForkServer, folder: Path) -> None:
    pids = set()
    for value in ("one", "three", "eleven"):  # of other lengths, for Python compares sizes and whole seconds
        (folder / "own_module.py").write_text(f"VALUE = {value!r}\n")
        assert lines_of(server.start(["worker_of_forks", "own"]))[0][-1] == f"{value}\n"
        pids.add(server.pid)
    assert len(pids) == 1


def test_what_a_fork_imports_of_what_is_installed_is_there_for_the_next(server: ForkServer, folder: Path) -> None:
    (folder / "own_module.py").write_text("import quopri\nVALUE = 1\n")
    asked = ["worker_of_forks", "modules", "quopri", "own_module", "worker_of_forks"]
    assert json.loads(lines_of(server.start(asked))[0][-1]) == [False, False, True]
    lines_of(server.start(["worker_of_forks", "own"]))
    assert json.loads(lines_of(server.start(asked))[0][-1]) == [True, False, True]


def test_a_process_that_is_forked_from_a_session_has_a_server_of_its_own(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines_of(server.start(["worker_of_forks", "code", "0"]))
    before = server.pid
    pid = os.fork()
    if pid == 0:
        server.forget()
        os._exit(0 if server.pid is None else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert lines_of(server.start(["worker_of_forks", "code", "7"])) == (["began\n"], 7)
    assert server.pid == before


def test_only_python_sessions_on_linux_without_gpus_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int) -> int:
        raise OSError(errno.ENOSYS, "an old kernel")

    assert choose_start({}, platform="linux") is start_worker, "a command of the shell"
    with forking():
        assert choose_start({}, platform="linux") is not start_worker
        assert choose_start({"BURNISH_FORK": "0"}, platform="linux") is start_worker
        assert choose_start({}, platform="darwin") is start_worker
        monkeypatch.setattr(device, "_count_installed", lambda: 1)
        assert choose_start({}, platform="linux") is start_worker
        assert choose_start({"CUDA_VISIBLE_DEVICES": ""}, platform="linux") is not start_worker
        monkeypatch.setattr(device, "_count_installed", lambda: 0)
        monkeypatch.setattr(os, "pidfd_open", refuse)
        assert choose_start({}, platform="linux") is start_worker
    assert choose_start({}, platform="linux") is start_worker


def houses() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"area": draw.normal(100, 20, 240), "city": draw.choice(["a", "b"], 240)})
    frame["price"] = frame.area * (1 + (frame.city == "a")) + draw.normal(0, 1, 240)
    return frame


def train_houses(directory: Path, *, until: str = "finished") -> RunDirectory:
    options = {"model": "tab_m", "train.length": "6 epochs", "train.patience": None, "runtime.seed": 4}
    options["train.checkpoint_every"] = "1 steps"
    run = burnish.train(houses(), options, target="price", dir=directory, progress=False)
    assert run.reason == until
    return RunDirectory(directory)


@pytest.fixture(scope="module")
def fresh_run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Give a run that new processes have trained."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BURNISH_FORK", "0")
        return train_houses(tmp_path_factory.mktemp("fresh") / "run")


def test_runs_of_a_session_have_the_bits_of_new_processes(fresh_run: RunDirectory, tmp_path: Path) -> None:
    pids = []
    for name in ("first", "second"):
        assert digests(train_houses(tmp_path / name)) == digests(fresh_run)
        pids.append(forks._session.pid)
    assert None not in pids
    assert len({*pids}) == 1, "the second was forked by the same process"


def test_a_second_run_of_a_session_imports_no_torch(folder: Path, tmp_path: Path) -> None:
    # A folder is searched that was not before, so the first of these two has a process of its own.
    words = ["worker_of_forks", "modules", "torch", "torch._dynamo", "burnish.run.attempt"]
    worker = forks._session.start(words)
    assert json.loads(lines_of(worker)[0][-1]) == [True, True, True]
    assert json.loads(lines_of(start_worker(words))[0][-1]) == [False, False, False]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_whose_fork_gets_a_signal_is_resumed_to_the_same_bits(
    fresh_run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    directory, start = RunDirectory(tmp_path / "run"), forks._session.start

    def start_to_signal(*words: object, **options: object) -> ForkedWorker:
        worker = start(*words, **options)  # type: ignore[arg-type]  # passed on as it came
        end = time.monotonic() + SECONDS
        while not list(directory.checkpoints.glob("step-*")) and time.monotonic() < end:
            time.sleep(0.001)
        os.kill(worker.pid, number)
        return worker

    with monkeypatch.context() as patch:
        patch.setattr(forks._session, "start", start_to_signal)
        if number == signal.SIGKILL:
            with pytest.raises(burnish.BurnishError, match="died with signal 9 before it could report why"):
                train_houses(directory.path)
        else:
            reason = "preempted" if number == signal.SIGTERM else "interrupted"
            assert train_houses(directory.path, until=reason) == directory
    assert burnish.resume(directory.path, progress=False).reason == "finished"
    assert digests(directory) == digests(fresh_run)
    assert sum(isinstance(each.event, Started) for each in EventsFile(directory.events).read()) == 2


SESSION = """\
import sys, time
from burnish.launch import forks
forks._IMPORTED = ()
server = forks.ForkServer()
worker = server.start(["worker_of_forks", "wait", sys.argv[1]])
print(server.pid, worker.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_with_its_session_however_that_ends(folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, (folder, *sys.path))])}
    session = subprocess.Popen(
        [sys.executable, "-c", SESSION, str(tmp_path / "end")], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert session.stdout is not None
    with session.stdout as lines:
        server, worker = map(int, lines.readline().split())
    session.send_signal(number)
    session.wait(SECONDS)
    wait_until_gone(server)
    (tmp_path / "end").touch()  # a real worker would notice that nobody reads it, and save
    wait_until_gone(worker)
