"""The roof over a model's speed: how many operations it needs, and how many this machine can do."""

from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForSequenceClassification

from bench.harness.blocks import Block
from bench.harness.contestant import Referee
from burnish.models.transformers.hf_logging_torch import quiet
from burnish.spec.values import Array

TRAINING_PASSES = 3
"""A training step does the work of a forward pass three times: for outputs, and for gradients of inputs and weights."""

_LENGTHS = (8, 16, 32)
_SIZES = (1024, 2048, 3072)
_LEAST_SECONDS = 0.3


def multiply(request: Mapping[str, Any], referee: Referee) -> None:
    """Multiply large matrices each turn; report the fastest product of all sizes."""
    torch.set_num_threads(request["threads"])
    dtype = torch.bfloat16 if request["precision"] == "bf16" else torch.float32
    device = request.get("device", "cpu")
    sizes = request.get("sizes", _SIZES)
    pairs = [(torch.randn(n, n, device=device).to(dtype), torch.randn(n, n, device=device).to(dtype)) for n in sizes]
    referee.ready()
    while referee.turn():
        referee.report(max((_best(left, right) for left, right in pairs), key=lambda block: block.flops_rate))


def forward_flops(folder: Path, lengths: "Array") -> float:
    """Count the operations of a forward pass over texts of these lengths, none of them padding.

    The matrix products of an encoder are a parabola in the length, so three counts tell all of them.
    """
    with quiet(), torch.random.fork_rng(devices=[]):
        config = AutoConfig.from_pretrained(folder)
        model = AutoModelForSequenceClassification.from_config(config, attn_implementation="eager").eval()  # type: ignore[no-untyped-call]  # as it is
    counts = [_counted(model, length) for length in _LENGTHS]
    parabola = np.polyfit(_LENGTHS, counts, 2)
    return float(np.polyval(parabola, np.asarray(lengths, dtype=np.float64)).sum())


def _counted(model: Any, length: int) -> int:
    counter = FlopCounterMode(display=False)
    with torch.inference_mode(), counter:
        model(input_ids=torch.ones(1, length, dtype=torch.long))
    return int(counter.get_total_flops())


def _best(left: torch.Tensor, right: torch.Tensor) -> Block:
    began, best = perf_counter(), float("inf")
    while perf_counter() - began < _LEAST_SECONDS:
        start = perf_counter()
        torch.mm(left, right)
        if left.device.type == "cuda":
            torch.cuda.synchronize()
        best = min(best, perf_counter() - start)
    return Block(best, flops=2.0 * left.shape[0] ** 3)
