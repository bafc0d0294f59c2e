"""Chooses device, precision and threads by what this machine really has."""

import torch

from burnish.dist.world import available_cores
from burnish.engine.infer_torch import Precision
from burnish.errors import BurnishError
from burnish.spec.experiment import Runtime


def prepare(runtime: Runtime) -> Precision:
    """Set threads and determinism for this process and give what to compute in."""
    # An average of gradients that no longer come halves on and on into numbers which a processor treats in software:
    # one sweep of AdamW over the embeddings of 30,000 words was seen to take 14 times as long.
    torch.set_flush_denormal(True)  # before any threads are made, which begin with what their maker has
    torch.set_num_threads(runtime.threads or available_cores())
    torch.use_deterministic_algorithms(runtime.deterministic, warn_only=True)
    # Filling what is about to be overwritten only guards against reading it too early, at the price of every buffer.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # torch makes it a property of a module
    device = _device(runtime.device)
    return Precision(device, is_bf16=_is_bf16(runtime.precision, device))


def _device(wanted: str) -> torch.device:
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    is_there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not is_there[wanted]:
        there = ", ".join(name for name, here in is_there.items() if here)
        raise BurnishError(f"runtime.device is {wanted!r} and this machine has none; it has: {there}")
    return torch.device(wanted)


def _is_bf16(wanted: str, device: torch.device) -> bool:
    if wanted != "auto":
        return wanted == "bf16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    # Without the instructions, bfloat16 on a CPU is emulated and three times slower than float32.
    return device.type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())
