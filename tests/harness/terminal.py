"""A terminal of a given width, in which a command runs as it does for a person."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


@dataclass(frozen=True)
class Screen:
    """What a command wrote to its terminal; a line that was drawn again is several."""

    text: str
    code: int

    @property
    def lines(self) -> list[str]:
        """Every line that was ever shown, without colours and other control codes."""
        return [line for line in re.split(r"[\r\n]+", _CONTROL.sub("", self.text)) if line]


def run_in_terminal(argv: Sequence[str], *, columns: int = 80, folder: Path | None = None) -> Screen:
    """Run a command whose standard output and error are a terminal so wide."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    environment |= {"TERM": "xterm-256color", "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder)
    os.close(theirs)
    chunks = []
    while True:
        try:
            chunk = os.read(ours, 1 << 16)
        except OSError:  # how Linux says that nobody has the other end open
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(ours)
    return Screen(b"".join(chunks).decode("utf-8", "replace"), process.wait())
