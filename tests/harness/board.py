"""A real board over a folder of runs, in a process of its own."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running_board(root: Path) -> Iterator[str]:
    """Start `burnish ui` on a free port; give its address, and end it."""
    command = [sys.executable, "-m", "burnish", "ui", str(root), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        said = ""
        while not (found := re.search(r"http://\S+", said)):
            line = process.stdout.readline()
            assert line, f"the board has ended: {said}"
            said += line
        yield found[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
