"""Tells without torch which devices this machine has, so that a run is refused or spread over them before it starts."""

import ctypes
import os
import re
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
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


def list_gpus(environ: Mapping[str, str] = os.environ, *, count: Callable[[], int] | None = None) -> list[str]:
    """Name the NVIDIA GPUs that a process may use, as CUDA_VISIBLE_DEVICES would."""
    installed = (count or _count_installed)()
    everything = [str(number) for number in range(installed)]
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None or not installed:
        return everything
    found: list[str] = []
    for name in (each.strip() for each in visible.split(",")):
        if name not in everything and not name.startswith(("GPU-", "MIG-")):
            break  # CUDA, too, takes none behind one that is not there
        found.append(name)
        if name.startswith("MIG-"):
            break  # a process can use one part of a GPU only
    return found


def has_cuda(torch: Path | None = None) -> bool:
    """Tell whether torch was built for CUDA, by the file where its build says so."""
    if torch is None:
        spec = find_spec("torch")
        torch = Path(spec.origin) if spec and spec.origin else Path()
    try:
        text = torch.with_name("version.py").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return re.search(r"^cuda\b[^=\n]*= *['\"]", text, re.MULTILINE) is not None


def _count_installed() -> int:
    """Ask NVIDIA's driver, by the library that comes with it."""
    if not has_cuda():
        return 0
    try:
        driver = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return 0
    if driver.nvmlInit_v2() != 0:
        return 0
    number = ctypes.c_uint(0)
    is_known = driver.nvmlDeviceGetCount_v2(ctypes.byref(number)) == 0
    driver.nvmlShutdown()
    return number.value if is_known else 0


def explain_absent(device: str) -> str:
    """Say that a device is not here."""
    how = "; see whether `nvidia-smi` lists one" if device == "cuda" else ""
    return f"runtime.device is {device!r} and this machine has none; leave it at auto, or set it to cpu{how}"
