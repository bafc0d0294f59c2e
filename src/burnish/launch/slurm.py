"""Slurm as a place to run: its options, a job as a batch script, and how the scheduler is asked about it."""

import math
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import NonNegativeInt, PositiveInt, StringConstraints, model_validator

from burnish.errors import LaunchError
from burnish.launch.cluster import LOG, Cluster, look, read_log
from burnish.launch.group import is_place
from burnish.launch.plan import ARRAY, NODE_RANK, PAUSE, RESULT, STOP, TRIALS
from burnish.launch.transfer import read_remote
from burnish.launch.worker import read_result
from burnish.spec.launcher import Check, JobSpec, JobState, JobStatus, LogLine, Submitted, reveal

_TOOLS = ("sbatch", "scontrol", "scancel")
_IN = " in "
"""Between the number of a job and its folder: together they are its id."""
_PORT = 29400
_ELEMENT = "burnish.tuning.array_trials"
_INTERRUPTED = 128 + signal.SIGUSR1
_STATES: Mapping[str, JobState] = {
    **dict.fromkeys(("PENDING", "REQUEUED", "REQUEUE_HOLD", "PREEMPTED", "SUSPENDED", "CONFIGURING"), "queued"),
    **dict.fromkeys(("RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING"), "running"),
    "COMPLETED": "finished",
    "CANCELLED": "stopped",
}
"""Every other state is a failure."""
_SECONDS = 60
_EARLY_SECONDS = 60
"""Slurm looks at the clock once a minute, and may send a signal so much too early."""
_MOUNT = r"^/[^\s\"'`$\\,]*$"
_UNTAKEN = re.compile(r"[\s\"'\\%#]")
_OPTION = r"^--[a-z][a-z-]*(=.*)?$"
Word = Annotated[str, StringConstraints(pattern=r"^[^\s\"'`$\\]+$")]


class Slurm(Cluster):
    """A batch job of Slurm, on one node or several."""

    partition: Word | None = None
    account: Word | None = None
    qos: Word | None = None
    time: Annotated[str, StringConstraints(pattern=r"^(\d+-)?\d+(:\d+){0,2}$")] | None = None
    """At most so long before it is asked to save, and requeued: `90` minutes, `12:00:00`, `2-00:00:00`."""
    cpus: PositiveInt | None = None
    """Cores of each node."""
    mem: Annotated[str, StringConstraints(pattern=r"^\d+[KMGT]?$")] | None = None
    """Of each node, like `32G`."""
    gpus: NonNegativeInt = 0
    """Of each node, as `--gres=gpu:N`; another kind of resource goes to `gres`."""
    gres: Word | None = None
    """Like `gpu:a100:2`."""
    requeue: bool = True
    """Whether a job that is preempted, or reaches its time, goes back into the queue and continues."""
    signal_seconds: NonNegativeInt = 120
    """How long before its time is over a run is asked to save."""
    array: bool = True
    """Whether a study that trains several trials at once is an array of jobs, each with the resources that are asked
    for, and not one job that shares them."""
    sbatch: tuple[Annotated[str, StringConstraints(pattern=_OPTION)], ...] = ()
    """Further lines of the script, like `--exclusive`."""
    setup: tuple[str, ...] = ()
    """Shell commands before all others, like `module load cuda`."""
    container: Word | None = None
    """An image that the command runs in."""
    mounts: tuple[Annotated[str, StringConstraints(pattern=_MOUNT)], ...] = ()
    """Further folders of the nodes that the container sees: `/data`, `/host:/inside`, `/host:/inside:ro`."""
    container_engine: Literal["srun", "apptainer"] = "srun"
    """`srun` is Slurm's own `--container-image` (pyxis)."""

    @model_validator(mode="after")
    def _fit_together(self) -> "Slurm":
        if self.gpus and self.gres:
            raise ValueError(f"asks for `gpus` and `gres`; write the {self.gpus} GPUs in `gres`, like gpu:{self.gpus}")
        if self.mounts and not self.container:
            raise ValueError("has `mounts` and no `container` that would see them")
        if _UNTAKEN.search(self.folder):
            raise ValueError(f"needs a `folder` without spaces, quotes, \\, % and # for sbatch, not {self.folder}")
        if self.rendezvous and not is_place(self.rendezvous):
            raise ValueError(f"must meet at HOST:PORT, like n1:29400; `rendezvous` is {self.rendezvous}")
        least = self.signal_seconds + _EARLY_SECONDS
        if self.time and self.signal_seconds and 0 < read_seconds(self.time) < least:
            raise ValueError(
                f"would ask the run to save as soon as it starts, again and again: `time` {self.time} is "
                f"{read_seconds(self.time)} s, `signal_seconds` is {self.signal_seconds}, and Slurm may be "
                f"{_EARLY_SECONDS} s early; set `time` to at least {math.ceil(least / 60)} minutes, or lower "
                "`signal_seconds`"
            )
        return self

    def render(self, job: JobSpec) -> dict[str, Any]:
        return {"command": ["sbatch", "--parsable"], "script": [*self._head(job), *self._body(job)], "env": self.env}

    def check(self, job: JobSpec) -> Iterable[Check]:
        yield from super().check(job)
        absent = [tool for tool in _TOOLS if shutil.which(tool) is None]
        if absent:
            yield Check(
                "slurm", False, f"there is no {' or '.join(absent)} here; submit from a login node of the cluster"
            )
            return
        yield look("slurm", lambda: f"answers: {_ask('scontrol', 'ping').strip().partition(chr(10))[0]}")
        if self.partition:
            yield look("partition", self._find_partition)

    @property
    def num_gpus(self) -> int:
        if not self.gres:
            return self.gpus
        kinds = [each.split(":") for each in self.gres.split(",")]
        counts = [kind[-1] for kind in kinds if kind[0] == "gpu"]
        return sum(int(count) if count.isdecimal() else 1 for count in counts)

    def count_trials(self, parallel: int) -> int:
        return 1 if self.array else parallel

    def submit(self, job: JobSpec) -> Submitted:
        request = reveal(self.render(job))
        script = "\n".join(request["script"]) + "\n"
        # sbatch passes its environment on: values stand neither in the script nor in a list of processes.
        number = _ask(*request["command"], text=script, env=request["env"]).strip().partition(";")[0]
        first = f"{number}_0" if self._is_array(job) else number
        return Submitted(f"{first}{_IN}{self.root(job)}", f"its log is {self.root(job)}/{LOG}")

    def status(self, id: str) -> JobStatus:
        number, _, root = id.partition(_IN)
        found = _describe(number)
        if found is None:
            code = read_result(root)
            said = "Slurm has forgotten it"
            if code is not None:
                return _conclude(code, said)
            is_stopped = read_remote(f"{root}/{STOP}") is not None
            return JobStatus("stopped" if is_stopped else "failed", f"{said}, and it left no exit code")
        state = found.get("JobState", "")
        if state == "FAILED" and found.get("ExitCode", "").startswith(f"{os.EX_TEMPFAIL}:"):
            return JobStatus("stopped", _explain(found))
        known = _STATES.get(state, "finished" if read_result(root) == 0 else "failed")  # a lost node fails no run
        return JobStatus(known, _explain(found))

    def logs(self, id: str, *, after: str = "") -> Iterator[LogLine]:
        return read_log(id.partition(_IN)[2], after=after)

    def cancel(self, id: str) -> None:
        _ask("scancel", id.partition(_IN)[0].partition("_")[0])  # of an array all elements, and not the first alone

    def _is_array(self, job: JobSpec) -> bool:
        return self.array and job.parallel > 1

    def _find_partition(self) -> str:
        known = re.findall(r"PartitionName=(\S+)", _ask("scontrol", "show", "partition", "--oneliner"))
        if self.partition not in known:
            raise LaunchError(f"launch.partition: there is no {self.partition} here; there are {', '.join(known)}")
        return f"{self.partition} is there"

    def _head(self, job: JobSpec) -> Iterator[str]:
        least, most = self.least_nodes, self.most_nodes
        gres = self.gres or (f"gpu:{self.gpus}" if self.gpus else None)
        options = {
            "job-name": job.name,
            "output": f"{self.root(job)}/{LOG}",
            "open-mode": "append",
            "array": f"0-{job.parallel - 1}" if self._is_array(job) else None,
            "partition": self.partition,
            "account": self.account,
            "qos": self.qos,
            "time": self.time,
            "nodes": str(least) if least == most else f"{least}-{most}",
            "ntasks-per-node": "1",
            "cpus-per-task": self.cpus,
            "mem": self.mem,
            "gres": gres,
            "signal": f"B:USR1@{self.signal_seconds}" if self.time and self.signal_seconds else None,
        }
        yield "#!/bin/bash"
        yield from (f"#SBATCH --{name}={value}" for name, value in options.items() if value is not None)
        yield "#SBATCH --requeue" if self.requeue else "#SBATCH --no-requeue"
        yield from ["#SBATCH --no-kill"] if least < most else []
        yield from (f"#SBATCH {each}" for each in self.sbatch)

    def _body(self, job: JobSpec) -> Iterator[str]:
        """What runs on the first node: a step with a task on each, and what becomes of it when it must make room."""
        pause, result, stop = (shlex.quote(f"{self.root(job)}/{name}") for name in (PAUSE, RESULT, STOP))
        number = '"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"' if self._is_array(job) else '"$SLURM_JOB_ID"'
        yield from self.setup
        yield from self._meeting()
        if self._is_array(job):
            yield from self._other_elements(job, number)
        yield f"rm -f {pause} {result}"
        yield f"trap {shlex.quote(f'touch {pause}')} USR1  # time is nearly over: the run saves"
        yield from self._run_step(f"{NODE_RANK}=$SLURM_NODEID exec", self.worker_command(job))
        is_elastic = self.least_nodes < self.most_nodes
        if is_elastic or self.requeue:
            yield f"""recorded=$(sed -n 's/.*"exit_code": \\([0-9]*\\).*/\\1/p' {result} 2>/dev/null)"""
        if is_elastic:
            yield "code=${recorded:-$code}  # the step ends with that of a node that was lost"
        if self.requeue:
            yield f'is_preempted() {{ scontrol show job {number} --oneliner | grep -q " PreemptTime=[0-9]"; }}'
            must_make_room = f"[ ! -e {stop} ] && {{ [ -e {pause} ] || is_preempted; }}"
            yield f'if [ "${{recorded:-$code}}" = {os.EX_TEMPFAIL} ] && {must_make_room}; then'
            yield '  echo "saved to make room, and back into the queue"'
            yield f"  scontrol requeue {number} && sleep 60"
            yield "fi"
        if self._is_array(job):
            yield f'touch {shlex.quote(f"{self.root(job)}/{TRIALS}")}/over-"$SLURM_ARRAY_JOB_ID"'
            yield 'scancel --state=PENDING "$SLURM_ARRAY_JOB_ID"'
        yield 'exit "$code"'

    def _other_elements(self, job: JobSpec, number: str) -> Iterator[str]:
        """What all elements of an array but the first run, which leads the study."""
        folder = shlex.quote(f"{self.root(job)}/{TRIALS}")
        yield f"mkdir -p {folder}"
        yield 'if [ "$SLURM_ARRAY_TASK_ID" != 0 ]; then  # trains what the first element asks for'
        yield f'exec >> {folder}/"$SLURM_ARRAY_TASK_ID".txt 2>&1'
        if self.requeue:
            stop = shlex.quote(f"{self.root(job)}/{STOP}")
            yield f"trap {shlex.quote(f'[ -e {stop} ] || scontrol requeue {number}')} USR1"
        yield from self._run_step("exec", [*self.worker_command(job)[:2], _ELEMENT, self.root(job)])
        yield 'exit "$code"'
        yield "fi"
        yield f"export {ARRAY}={folder}:{job.parallel}"

    def _run_step(self, before: str, command: list[str]) -> Iterator[str]:
        task = f"{before} {shlex.join(self._contain(command))}"
        yield "cores=${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}  # srun inherits none and takes one"
        yield '[ -n "$cores" ] || [ "$SLURM_CPUS_ON_NODE" = 1 ] || cores=--cpu-bind=none  # it has whole nodes'
        yield f"srun $cores {shlex.join(self._step())} bash -c {shlex.quote(task)} &"
        yield "step=$!"
        yield 'wait "$step"; code=$?'
        yield f'while [ "$code" = {_INTERRUPTED} ]; do wait "$step"; code=$?; done  # the trap ends the wait only'

    def _meeting(self) -> Iterator[str]:
        chosen = self.rendezvous or f"${{first:-localhost}}:$(({_PORT} + SLURM_JOB_ID % 1000))"
        if self.most_nodes > 1 and not self.rendezvous:
            yield 'first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
        yield from (f'export {name}="{value}"' for name, value in self.worker_environment(chosen).items())

    def _step(self) -> list[str]:
        options = (
            ["--no-kill", "--kill-on-bad-exit=0"] if self.least_nodes < self.most_nodes else ["--kill-on-bad-exit=1"]
        )
        if self.container and self.container_engine == "srun":
            seen = [each if ":" in each else f"{each}:{each}" for each in (self.folder, *self.mounts)]
            options += [f"--container-image={self.container}", f"--container-mounts={','.join(seen)}"]
        return options

    def _contain(self, command: list[str]) -> list[str]:
        if self.container is None:
            return command
        inside = [self.python or "python", *command[1:]]
        if self.container_engine == "srun":
            return inside
        gpus = ["--nv"] if self.gpus or self.gres else []
        return ["apptainer", "exec", *gpus, "--bind", ",".join((self.folder, *self.mounts)), self.container, *inside]


def read_seconds(time: str) -> int:
    """Read a time limit as Slurm does; 0 is none."""
    days, _, clock = time.rpartition("-")
    parts = [int(each) for each in clock.split(":")]
    if days:
        hours, minutes, seconds = [*parts, 0, 0][:3]
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, [*parts, 0][:2]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


def _describe(number: str) -> dict[str, str] | None:
    """Ask how a job stands; None for one that Slurm has forgotten."""
    try:
        text = _ask("scontrol", "show", "job", number, "--oneliner")
    except _Unknown:
        return _look_up(number)
    return dict(re.findall(r"(\w+)=(\S*)", text))


def _look_up(number: str) -> dict[str, str] | None:
    """Ask the accounts about a job that the controller has forgotten, where accounts are kept."""
    try:
        text = _ask("sacct", "-j", number, "-n", "-X", "-P", "-o", "State,ExitCode")
    except LaunchError:
        return None
    state, _, code = text.strip().partition("|")
    return {"JobState": state.partition(" ")[0], "ExitCode": code} if state else None


def _explain(found: Mapping[str, str]) -> str:
    """Say why a job waits or ended, and how often it went back into the queue."""
    reason, restarts = found.get("Reason", "None"), found.get("Restarts", "0")
    state = found.get("JobState", "").lower()
    said = [f"{state} ({reason})" if reason != "None" else state]
    return ", ".join([*said, *([f"requeued {restarts} times"] if restarts not in ("", "0") else [])])


def _conclude(code: int, said: str) -> JobStatus:
    states: dict[int, JobState] = {0: "finished", os.EX_TEMPFAIL: "stopped"}
    return JobStatus(states.get(code, "failed"), said)


class _Unknown(LaunchError):
    """Say that Slurm knows no such job."""


def _ask(*command: str, text: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a command of Slurm; refuse in its own words what it refuses."""
    environment = {**os.environ, **(env or {})}
    try:
        found = subprocess.run(
            command, input=text, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        is_refusal = isinstance(error, OSError)  # it did not even begin
        raise LaunchError(f"{command[0]} could not be asked: {error}", is_refusal=is_refusal) from error
    if found.returncode:
        said = found.stderr.strip() or found.stdout.strip()
        kind = _Unknown if "Invalid job id" in said else LaunchError
        raise kind(f"{shlex.join(command)} failed: {said}", is_refusal="timed out" not in said.lower())
    return found.stdout
