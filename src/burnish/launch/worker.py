"""The first process of a job on each node: fetches what it needs, runs a command, sends back what that leaves."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from burnish.durable import read_json
from burnish.errors import BurnishError, LaunchError
from burnish.launch.local import run_worker
from burnish.launch.module_path import find_modules_here
from burnish.launch.plan import (
    COMES_BACK,
    FILES,
    MEETS_HERE,
    NODE_RANK,
    NODES,
    OUTPUTS,
    PAUSE,
    RENDEZVOUS,
    RESULT,
    SHARED,
    STOP,
    JobPlan,
    read_job_plan,
)
from burnish.launch.transfer import download, read_remote, remove_remote, write_remote
from burnish.storage.mirror import Mirror, scan
from burnish.storage.publisher import Publisher
from burnish.storage.remote import Folder

_LOOK_SECONDS = 5.0
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 5.0, 300.0
_TRIAL = "CLOUD_ML_TRIAL_ID"
_ENDED_BY_SIGNAL = 128 + signal.SIGTERM


@dataclass(frozen=True)
class JobNode:
    """Which of a job's nodes this is, as its launcher says."""

    nodes: str = "1"
    """How many there are: `2`, or `1:2` for at least and at most."""
    rendezvous: str = ""
    """HOST:PORT where they meet."""
    rank: int = 0
    """Number of this one; 0 alone publishes what the job leaves."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "JobNode":
        """Read it from BURNISH_NODES, BURNISH_RENDEZVOUS and BURNISH_NODE_RANK; without them it is the only one."""
        rank = environment.get(NODE_RANK) or "0"
        if not rank.isdecimal():
            raise LaunchError(f"{NODE_RANK} must be the number of this node, from 0, got {rank!r}")
        return cls(environment.get(NODES) or "1", environment.get(RENDEZVOUS) or "", int(rank))

    def words(self, plan: JobPlan) -> list[str]:
        """Give the options that a command needs besides to take part with the others."""
        if not self.rendezvous or plan.words[0] not in ("train", "resume"):
            return []
        restarts = ["--max-restarts", str(plan.max_restarts)]
        return ["--nodes", self.nodes, "--rendezvous", self.rendezvous, *restarts]


def main(argv: Sequence[str], *, asked: threading.Event | None = None) -> int:
    """Do what the plan at an address says until it is done, or asked to stop; further words are options of a trial."""
    address, *trial = argv
    find_place(os.environ)
    asked, comes_back = asked or threading.Event(), bool(os.environ.get(COMES_BACK))
    root = address.rpartition("/")[0]
    # The trials of a search share one folder, and none of them is the job.
    is_job = (os.environ.get(NODE_RANK) or "0") == "0" and _TRIAL not in os.environ
    try:
        if is_job:
            remove_remote(f"{root}/{RESULT}")  # of an earlier start: one that is killed must not pass for that
        content = read_remote(address)
        if content is None:
            raise LaunchError(f"there is no plan at {address}")
        plan, node = read_job_plan(content, source=address), JobNode.read(os.environ)
        outputs = f"{root}/{OUTPUTS}" + (f"/{os.environ[_TRIAL]}" if _TRIAL in os.environ else "")
        is_here = _enter(root, outputs, node)
        if _is_stopped(root):  # while it waited for its machine
            asked.set()
        with _publishing(outputs if node.rank == 0 and not is_here else None, root=root, asked=asked):
            words = [*plan.words, *trial_words(trial), *node.words(plan)]
            code, starts = attempt(words, plan, asked=asked, comes_back=comes_back)
        result = {"exit_code": code, "starts": starts}
        # The first node may be lost before the others finish: that they have is the end of the job.
        is_last = not code and _TRIAL not in os.environ and read_remote(f"{root}/{RESULT}") is None
        if is_job or is_last:
            write_remote(f"{root}/{RESULT}", (json.dumps(result) + "\n").encode())
        # Who replaces a node tells by that one that was asked to make room from one whose run was asked to stop.
        is_replaced = comes_back and asked.is_set() and code == os.EX_TEMPFAIL and not _is_stopped(root)
        return _ENDED_BY_SIGNAL if is_replaced else code
    except BurnishError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)  # noqa: T201  # whoever reads the job's log
        with suppress(BurnishError):
            if is_job:
                write_remote(f"{root}/{RESULT}", (json.dumps({"exit_code": error.exit_code}) + "\n").encode())
        return error.exit_code


def _is_stopped(root: str) -> bool:
    """Tell whether the user has asked the job to stop, which nobody who wants it to come back may overrule."""
    return read_remote(f"{root}/{STOP}") is not None


def find_place(environment: MutableMapping[str, str]) -> None:
    """Take which node this is from CLUSTER_SPEC, where Vertex AI says it; they meet at the first replica."""
    try:
        spec = json.loads(environment.get("CLUSTER_SPEC") or "{}")
        pools, task = dict(sorted(spec.get("cluster", {}).items())), spec.get("task", {})
        hosts = [(pool, number, host) for pool, each in pools.items() for number, host in enumerate(each)]
        rank = [(pool, number) for pool, number, _ in hosts].index((task["type"], int(task["index"]))) if hosts else 0
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LaunchError(f"CLUSTER_SPEC does not say which machine this is: {error}") from error
    if len(hosts) < 2 or NODES in environment:
        return
    told = {NODES: str(len(hosts)), RENDEZVOUS: str(hosts[0][2]), NODE_RANK: str(rank)}
    environment.update({**told, MEETS_HERE: "0" if rank else "1"})
    for name in [name for name in environment if rank and name.startswith("AIP_") and name.endswith("_DIR")]:
        del environment[name]  # the first one alone publishes


def _enter(root: str, outputs: str, node: JobNode) -> bool:
    """Stand where the files of the job are; tell whether that is its folder itself, and not a copy of it."""
    if "://" in root:
        shared = os.environ.get(SHARED, "")
        if node.nodes != "1" and not shared:
            raise LaunchError(
                f"{root} is an address, which would be copied to each node; several nodes train in one "
                "folder that all of them see"
            )
        if node.nodes != "1":
            here = Path(shared, "-".join([root.rpartition("/")[2], *filter(None, [os.environ.get(_TRIAL)])]))
            here.mkdir(parents=True, exist_ok=True)
            _enter(str(here), outputs, node)
            download(f"{root}/{FILES}", Path())  # all of them the same
            return False
        download(f"{root}/{FILES}", Path())
        download(outputs, Path(OUTPUTS))  # of an attempt whose machine was taken away
        Path(OUTPUTS).mkdir(exist_ok=True)
        return False
    Path(root, FILES).mkdir(exist_ok=True)
    Path(root, OUTPUTS).mkdir(exist_ok=True)
    os.chdir(Path(root, FILES))
    find_modules_here(is_wanted=True)  # components of the user's own, for the command that is started from here
    with suppress(FileExistsError):  # an earlier start, or another node
        os.symlink(f"../{OUTPUTS}", OUTPUTS, target_is_directory=True)
    return True


def attempt(
    words: Sequence[str],
    plan: JobPlan,
    *,
    asked: threading.Event,
    sleep: Callable[[float], object] | None = None,
    comes_back: bool = False,
) -> tuple[int, int]:
    """Run a command, again if it died and was not asked to stop; returns its exit code and the number of starts.

    Where a node `comes_back`, one that stopped because another was taken away begins again, and that is not counted.
    """
    start, awaits_a_peer = 1, False
    while True:
        if asked.is_set():  # while files were fetched, or the start was waited for
            return os.EX_TEMPFAIL, start - 1
        code = run_worker(["burnish", *words], on_line=_pass_on)
        if asked.is_set() and is_worth_a_retry(code):
            return os.EX_TEMPFAIL, start  # it was ended while it saved; the newest checkpoint is there
        if comes_back and not asked.is_set() and code == os.EX_TEMPFAIL and _was_preempted():
            awaits_a_peer = True
            _pass_on("another node was taken away; beginning again with the one that replaces it\n")
            (sleep or asked.wait)(_FIRST_WAIT_SECONDS)
            continue
        # On several nodes the command has tried as often itself, together with the others.
        is_settled = code == LaunchError.exit_code and "--rendezvous" in words and not awaits_a_peer
        if is_settled or not is_worth_a_retry(code) or start > plan.max_restarts:
            return (code if code >= 0 else 128 - code), start
        wait = seconds_before(start + 1)
        _pass_on(f"the command died with {code}; start {start + 1} of {plan.max_restarts + 1} in {wait:g} s\n")
        (sleep or asked.wait)(wait)
        start += 1


def _was_preempted() -> bool:
    """Tell whether the run stopped because some node of it was asked to make room, and not at a user's wish."""
    endings = sorted(Path(OUTPUTS).glob("*/exit.json"), key=lambda path: path.stat().st_mtime)
    found = read_json(endings[-1]) if endings else None
    return isinstance(found, Mapping) and found.get("reason") == "preempted"


def seconds_before(start: int) -> float:
    """How long the next start waits: 5 s before the second, and longer each time."""
    return min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2.0 ** (start - 2))


def is_worth_a_retry(code: int) -> bool:
    """Tell a process that died, or whose workers did, from one that was refused, or was asked to stop."""
    return code < 0 or code == LaunchError.exit_code or code >= 128


def trial_words(options: Sequence[str]) -> list[str]:
    """Read the options of a trial as the service appends them: `--train.batch=16` is `train.batch=16`."""
    odd = [option for option in options if not option.startswith("--") or "=" not in option]
    if odd:
        raise LaunchError(f"{' '.join(odd)}: a trial's options are written --key=value")
    return [option.removeprefix("--") for option in options]


@contextmanager
def _publishing(address: str | None, *, root: str, asked: threading.Event) -> Iterator[None]:
    """Copy the outputs to an address as they grow, and wait at the end for the rest; pass on a request to stop."""
    over, outputs = threading.Event(), Path(OUTPUTS)

    def keep_looking() -> None:
        while not over.wait(_LOOK_SECONDS):
            with suppress(BurnishError):  # away; the next look may come through
                if not _is_stopped(root) and read_remote(f"{root}/{PAUSE}") is None:
                    continue
                running = [*outputs.glob("*/lock.json")]
                if running:
                    (running[0].parent / STOP).touch()
                elif not asked.is_set():  # it still waits for other nodes, or has not begun
                    os.kill(os.getpid(), signal.SIGTERM)
                asked.set()

    thread = threading.Thread(target=keep_looking, daemon=True)
    thread.start()
    try:
        with _copying(outputs, address) if address else nullcontext():
            yield
    finally:
        over.set()
        thread.join()


def _copying(outputs: Path, address: str) -> Publisher:
    # What was fetched from there is there; what an earlier start has left in a shared folder need not be.
    known = {} if outputs.is_symlink() else dict(scan(outputs))
    return Publisher([Mirror(outputs, Folder(address), known)], lambda said: _pass_on(f"{said}\n"))


def read_result(root: str) -> int | None:
    """Read the exit code of a job's command; None while it has none."""
    content = read_remote(f"{root}/{RESULT}")
    try:
        fields = json.loads(content) if content is not None else None
    except ValueError:
        return None
    code = fields.get("exit_code") if isinstance(fields, Mapping) else None
    return code if isinstance(code, int) else None


def _pass_on(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


def _listen() -> threading.Event:
    """Remember a request to stop, which is passed on to the command; what was ended by it is not started again."""
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    return asked


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], asked=_listen()))
