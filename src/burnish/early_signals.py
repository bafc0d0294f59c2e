"""Ends a command in order that gets a signal before it has begun; imported first, and imports nothing heavy itself."""

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

STOPPED = 75
"""The exit code of a run that was asked to stop, also before it began."""
INTERRUPTED = 130
_TRAINING = ("train", "resume", "rerun", "tune")


def end_early_in_order(words: Sequence[str]) -> None:
    """Let SIGTERM end a command that trains here as it ends a run, until a worker listens; others end by the signal."""
    is_training = bool(words) and (words[0] in _TRAINING or words[0].startswith("--mode"))
    is_elsewhere = any(word == "--on" or word.startswith("--on=") for word in words)  # where its job has the exit code
    if is_training and not is_elsewhere and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end_at_once)


def end_at_once(_number: int, _frame: FrameType | None) -> NoReturn:
    """Leave with the exit code of a run that was stopped; what is open is closed on the way."""
    sentence = "stopped by SIGTERM; `burnish resume RUN` continues a run that has begun\n"
    os.write(2, sentence.encode())  # unlike print, it may be in the middle of another line
    sys.exit(STOPPED)
