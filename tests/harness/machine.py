"""A machine of its own, as far as Burnish can tell: its commands share no state, cache or copies with others."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path


class Machine:
    """A folder of its own for state and cache, from which commands are run."""

    def __init__(self, root: Path, name: str, variables: Mapping[str, str], *, python: str = sys.executable) -> None:
        self.root, self.python = root, python
        self.state = root / name / "state"
        own = {"BURNISH_STATE": str(self.state), "BURNISH_CACHE": str(root / name / "cache")}
        self.env = {**os.environ, **variables, **own}

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [self.python, "-m", "burnish", *words]
        return subprocess.Popen(
            command, cwd=self.root, env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def run(self, *words: str) -> str:
        process = self.start(*words)
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0, output
        return output

    def kill_worker_after(self, step: int) -> None:
        """Wait until a checkpoint of a later step is there, then end the worker as a crash would."""
        while not any(int(path.name[5:]) > step for path in self.state.glob("spool/*/one/checkpoints/step-*")):
            time.sleep(0.02)
        lock = next(self.state.glob("spool/*/one/lock.json"))
        os.kill(json.loads(lock.read_text())["pid"], signal.SIGKILL)
