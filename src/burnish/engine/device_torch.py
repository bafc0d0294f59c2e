"""Chooses device, precision and threads by what this machine really has, and seeds what draws on it."""

import random
from collections.abc import Callable, Collection
from pathlib import Path
from time import perf_counter
from typing import cast, get_args

import numpy as np
import torch

from burnish.dist.world import available_cores
from burnish.engine.device import explain_absent
from burnish.engine.infer_torch import Autocast, PrecisionName
from burnish.errors import ConfigError, Problem
from burnish.spec.experiment import Runtime

_INSTRUCTIONS = {
    "bf16": {"avx512_bf16", "amx_bf16", "bf16"},
    "fp16": {"avx512_fp16", "amx_fp16", "asimdhp"},
}
"""What a processor, of Intel's kind or ARM's, says that it has."""
_SLOW = 1.5
_SIZE, _ROUNDS = 256, 3


def prepare(runtime: Runtime) -> Autocast:
    """Set threads and determinism for this process and give what to compute in."""
    # An average of gradients that no longer come halves on and on into numbers which a processor treats in software:
    # one sweep of AdamW over the embeddings of 30,000 words was seen to take 14 times as long.
    torch.set_flush_denormal(True)  # before any threads are made, which begin with what their maker has
    torch.set_num_threads(runtime.threads or available_cores())
    # The same as `use_deterministic_algorithms`, which would import the compiler too: two seconds for nothing.
    torch.set_deterministic_debug_mode("warn" if runtime.deterministic else "default")
    # Filling what is about to be overwritten only guards against reading it too early, at the price of every buffer.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # torch makes it a property of a module
    device = _device(runtime.device)
    precision = Autocast(device, _precision(runtime.precision, device))
    if device.type == "cuda" and precision.name != "fp32":
        torch.set_float32_matmul_precision("high")  # TF32 for what mixed precision leaves; a stated fp32 is float32
    return precision


def seed_everything(seed: int) -> None:
    """Make new weights a pure function of the seed."""
    random.seed(seed)
    np.random.seed(seed)  # libraries below us draw from it
    torch.manual_seed(seed)


def set_threads(number: int) -> None:
    """Let every computation of this process, on whichever thread, use so many."""
    torch.set_num_threads(number)


def slow_precision(
    precision: Autocast, *, flags: Collection[str] | None = None, measure: Callable[[str], float] | None = None
) -> str | None:
    """Warn of a precision that this processor has no instructions for, with how slow it is here; None if it is not."""
    known = _INSTRUCTIONS.get(precision.name)
    if precision.device.type != "cpu" or known is None or known & set(_flags() if flags is None else flags):
        return None
    times = (measure or _times_as_long)(precision.name)
    if times < _SLOW:
        return None
    return (
        f"runtime.precision is {precision.name}, which this processor has no instructions for: a matrix product takes "
        f"{times:,.{0 if times >= 10 else 1}f} times as long as in fp32 here. "
        "Leave it at auto, or set runtime.precision: fp32"
    )


def _flags(path: Path = Path("/proc/cpuinfo")) -> set[str]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return set()
    return {flag for line in lines if line.startswith(("flags", "Features")) for flag in line.split(":", 1)[1].split()}


def _times_as_long(name: str) -> float:
    return _product_seconds(torch.float16 if name == "fp16" else torch.bfloat16) / _product_seconds(torch.float32)


def _product_seconds(dtype: torch.dtype) -> float:
    matrix = torch.ones(_SIZE, _SIZE, dtype=dtype)
    seconds = []
    for _ in range(_ROUNDS):
        began = perf_counter()
        matrix @ matrix
        seconds.append(perf_counter() - began)
    return min(seconds)


def _device(wanted: str) -> torch.device:
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    is_there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not is_there[wanted]:
        raise ConfigError([Problem(explain_absent(wanted))])
    return torch.device(wanted)


def _precision(wanted: str, device: torch.device) -> PrecisionName:
    if wanted in get_args(PrecisionName):
        return cast(PrecisionName, wanted)
    if device.type == "cuda":
        # Older ones emulate bfloat16, which is slow, and have had float16 all along.
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
    # Without the instructions, bfloat16 on a CPU is emulated and three times slower than float32.
    return "bf16" if device.type == "cpu" and torch.cpu._is_avx512_bf16_supported() else "fp32"
