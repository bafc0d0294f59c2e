"""A real Slurm on this machine: a controller and two nodes from Debian's packages, with short waits.

Tasks are bound to cores, as on most clusters. Both nodes have the first two cores of this machine.
"""

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.harness.places import Job, await_that, free_port

NEEDED = ("slurmctld", "slurmd", "munged", "sbatch")
CONFIG = """\
ClusterName=burnish
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
TaskPluginParam=Cores
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=60
InactiveLimit=0
SlurmctldTimeout=30
SlurmdTimeout=30
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=1,requeue_delay=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=2 RealMemory=1000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=2 RealMemory=1000
PartitionName=low Nodes=n1,n2 Default=YES State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=60
PartitionName=high Nodes=n1,n2 State=UP PriorityTier=10 PreemptMode=OFF
"""


@contextmanager
def slurm_place(folder: Path) -> Iterator[Job]:
    """Two nodes of a Slurm of our own; left out where that was not asked for."""
    if os.environ.get("BURNISH_CLUSTERS") != "full":
        pytest.skip("starts a Slurm of its own: `make clusters` runs it")
    absent = [name for name in NEEDED if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    if absent:
        pytest.skip(f"there is no {', '.join(absent)}; `make clusters` installs them on Debian")
    with running_slurm(folder / "slurm"):
        yield Job("slurm", ("nodes=2", f"rendezvous=127.0.0.1:{free_port()}"), size=2)


@contextmanager
def running_slurm(folder: Path) -> Iterator[None]:
    """Start it, wait until both nodes are idle, and end it; SLURM_CONF leads every command to it."""
    config = write_config(folder)
    with ExitStack() as stack:
        munge = ["munged", "--foreground", "--force", f"--key-file={folder}/key", f"--socket={folder}/munge.socket"]
        places = [f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")]
        stack.enter_context(_daemon(folder, [*munge, *places]))
        await_that(Path(folder, "munge.socket").exists, what="munged", seconds=60)
        stack.enter_context(_daemon(folder, ["slurmctld", "-D", "-f", str(config)]))
        for node in ("n1", "n2"):
            stack.enter_context(_daemon(folder, ["slurmd", "-D", "-N", node, "-f", str(config)]))
        before = os.environ.get("SLURM_CONF")
        os.environ["SLURM_CONF"] = str(config)
        try:
            await_that(_is_idle, what="two idle nodes", seconds=120)
            yield
        finally:
            subprocess.run(["scancel", "--state=PENDING", "--partition=low,high"], check=False)
            subprocess.run(["scancel", "--signal=KILL", "--full", "--partition=low,high"], check=False)
            time.sleep(1)
            os.environ.pop("SLURM_CONF") if before is None else os.environ.update(SLURM_CONF=before)


def write_config(folder: Path) -> Path:
    """Write all that it reads."""
    folder.mkdir(parents=True, exist_ok=True)
    key = folder / "key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    for name in ("state", "spool-n1", "spool-n2"):
        (folder / name).mkdir()
    ports = {"controller": free_port(), "first": free_port(), "second": free_port()}
    config = folder / "slurm.conf"
    config.write_text(CONFIG.format(folder=folder, host=socket.gethostname(), **ports))
    (folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
    return config


@contextmanager
def _daemon(folder: Path, command: list[str]) -> Iterator[None]:
    path = f"/usr/sbin:{os.environ['PATH']}"
    with (folder / f"{'-'.join(command[:1] + command[3:4])}.txt".replace("/", "_")).open("wb") as log:
        environment = {**os.environ, "PATH": path}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_idle() -> bool:
    found = subprocess.run(["sinfo", "-h", "-p", "low", "-o", "%t %D"], capture_output=True, text=True, check=False)
    return found.stdout.split() == ["idle", "2"]
