"""Studies whose tuner and trials are killed, again and again: the same table and the same best bits as undisturbed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import read_evaluations
from tests.faults.conftest import IS_FULL
from tests.studies import make_study, outcome

ASHA = "{type: asha, divisor: 2}"
KILLS = {"random": 25, ASHA: 25} if IS_FULL else {ASHA: 7}
KILLS_OF_TWO_AT_ONCE = {"random": 25, ASHA: 25} if IS_FULL else {"random": 3}
_TUNER_EVERY = 2 if IS_FULL else 3
"""Of so many kills one is the tuner's, whose next attempt must import everything anew."""
_MOST_SECONDS = 240


def start(files: tuple[Path, Path], study: Path, *, parallel: int = 1) -> "subprocess.Popen[str]":
    experiment, space = files
    argv = [sys.executable, "-m", "burnish", "tune", str(experiment), "-c", str(space), "--dir", str(study), "--quiet"]
    argv += ["--parallel", str(parallel)]
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
    files = make_study(tmp_path, searcher=searcher, trials=8 if IS_FULL else 4)
    undisturbed = tmp_path / "undisturbed"
    finish(start(files, undisturbed))
    for disturbed in disturb(files, tmp_path / "disturbed", num_kills=KILLS[searcher]):
        assert outcome(disturbed) == outcome(undisturbed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("searcher", KILLS_OF_TWO_AT_ONCE)
def test_a_study_of_two_trials_at_once_that_is_killed_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, searcher: str
) -> None:
    num_trials = 8 if IS_FULL else 4
    files = make_study(tmp_path, searcher=searcher, trials=num_trials)
    finish(start(files, tmp_path / "undisturbed"))
    for disturbed in disturb(files, tmp_path / "disturbed", num_kills=KILLS_OF_TWO_AT_ONCE[searcher], parallel=2):
        lines = [json.loads(line) for line in (disturbed / "study.jsonl").read_text().splitlines()]
        assert sorted(line["trial"] for line in lines if "trial" in line) == list(range(num_trials))
        ended = [(line["end"], line["until"]) for line in lines if "end" in line]
        assert len({*ended}) == len(ended)
        assert {number for number, _ in ended} == {*range(num_trials)}
        for run in disturbed.glob("trial-*/"):
            steps = [each.step for each in read_evaluations(RunDirectory(run))]
            assert steps == sorted({*steps})
        if searcher == "random":  # its points do not depend on the order in which trials end
            assert outcome(disturbed) == outcome(tmp_path / "undisturbed")


def disturb(files: tuple[Path, Path], study: Path, *, num_kills: int, parallel: int = 1) -> Iterator[Path]:
    """Kill the tuner and trials of a study by turns; give it when it is finished, and others until that is enough."""
    random, kills = Random(0), {True: 0, False: 0}
    while sum(kills.values()) < num_kills:
        process, goal = start(files, study, parallel=parallel), written(study) + random.randrange(1, 6000)
        while process.poll() is None:
            is_trial = (sum(kills.values()) + 1) % _TUNER_EVERY != 0
            if written(study) >= goal and kill(process, study, is_trial=is_trial):
                kills[is_trial] += 1
                if not is_trial:
                    break
                goal = written(study) + random.randrange(1, 6000)
            time.sleep(0.01)
        process.communicate(timeout=_MOST_SECONDS)
        if process.returncode == 0 and sum(kills.values()) < num_kills:
            yield study
            study = study.with_name(f"{study.name}-again")
    finish(start(files, study, parallel=parallel))
    yield study
    assert all(kills.values()), kills
