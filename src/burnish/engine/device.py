"""Tells without torch that a device cannot be on this machine, so that a run for it is refused before it starts."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_MARKS = ("nvidia[0-9]*", "nvidiactl", "kfd", "dxg")
"""What drivers put into /dev: NVIDIA's, AMD's, and that of Windows for its Linux."""


def is_surely_absent(
    device: str, *, platform: str = sys.platform, folder: Path = Path("/dev"), environ: Mapping[str, str] = os.environ
) -> bool:
    """Check whether a device cannot be here; where only torch could tell, it may be."""
    if device == "mps":
        return platform != "darwin"
    if device != "cuda":
        return False
    is_hidden = environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    has_driver = any(True for mark in _MARKS for _ in folder.glob(mark))
    return is_hidden or platform == "darwin" or (platform == "linux" and not has_driver)


def explain_absent(device: str) -> str:
    """Say that a device is not here."""
    how = "; see whether `nvidia-smi` lists one" if device == "cuda" else ""
    return f"runtime.device is {device!r} and this machine has none; leave it at auto, or set it to cpu{how}"
