"""How a worker ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import atexit, sys
from burnish.run.worker import leave
atexit.register(lambda: print("torn down", flush=True))
print("said", end="")
leave(3)
"""


@pytest.mark.parametrize(("variables", "said"), [({}, "saidtorn down\n"), ({"RANK": "0"}, "said")], ids=["one", "many"])
def test_one_of_several_ends_without_tearing_python_down_and_loses_no_word(
    tmp_path: Path, variables: dict[str, str], said: str
) -> None:
    """Threads of gloo let go of tensors late, and abort a process whose interpreter is half gone by then."""
    environment = {name: value for name, value in os.environ.items() if name != "RANK"} | variables
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout) == (3, said)
