"""Studies whose tuner and trials are killed, again and again: the same table and the same best bits as undisturbed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from burnish.run.record.directory import RunDirectory
from tests.faults.conftest import IS_FULL
from tests.studies import make_study, outcome

KILLS = {"random": 25, "{type: asha, divisor: 2}": 25} if IS_FULL else {"{type: asha, divisor: 2}": 10}
_MOST_SECONDS = 240


def start(files: tuple[Path, Path], study: Path) -> "subprocess.Popen[str]":
    experiment, space = files
    argv = [sys.executable, "-m", "burnish", "tune", str(experiment), "-c", str(space), "--dir", str(study), "--quiet"]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: "subprocess.Popen[str]") -> None:
    out, err = process.communicate(timeout=_MOST_SECONDS)
    assert process.returncode == 0, out + err


def written(study: Path) -> int:
    """Count the bytes that tell of progress."""
    files = [study / "study.jsonl", *study.glob("trial-*/events.jsonl")]
    return sum(path.stat().st_size for path in files if path.exists())


def kill(process: "subprocess.Popen[str]", study: Path, *, is_trial: bool) -> bool:
    """Kill a trial that is at work, or the tuner; tell whether there was one."""
    if not is_trial:
        process.kill()
        return True
    locks = [lock for path in study.glob("trial-*") if (lock := RunDirectory(path).read_lock()) is not None]
    alive = [lock.pid for lock in locks if lock.pid > 1 and lock.is_held(now=time.time()) and lock.pid != process.pid]
    for pid in alive[:1]:
        os.kill(pid, signal.SIGKILL)
    return bool(alive)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("searcher", KILLS)
def test_a_study_that_is_killed_comes_to_the_same_table(tmp_path: Path, searcher: str) -> None:
    files = make_study(tmp_path, searcher=searcher, trials=8 if IS_FULL else 6)
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    finish(start(files, undisturbed))
    random, kills = Random(0), {True: 0, False: 0}
    while sum(kills.values()) < KILLS[searcher]:
        process, goal = start(files, disturbed), written(disturbed) + random.randrange(1, 6000)
        is_trial = random.random() < 0.5
        while process.poll() is None:
            if written(disturbed) >= goal and kill(process, disturbed, is_trial=is_trial):
                kills[is_trial] += 1
                if not is_trial:
                    break
                goal, is_trial = written(disturbed) + random.randrange(1, 6000), random.random() < 0.5
            time.sleep(0.01)
        process.communicate(timeout=_MOST_SECONDS)
        if process.returncode == 0 and sum(kills.values()) < KILLS[searcher]:
            assert outcome(disturbed) == outcome(undisturbed)
            disturbed = disturbed.with_name(f"{disturbed.name}-again")
    finish(start(files, disturbed))
    assert outcome(disturbed) == outcome(undisturbed)
    assert all(kills.values()), kills
