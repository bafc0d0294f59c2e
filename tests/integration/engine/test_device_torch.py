"""What a process is set to before it learns."""

import torch

from burnish.engine.device_torch import prepare
from burnish.spec.experiment import Runtime


def test_numbers_too_small_to_be_normal_are_flushed_to_zero_on_every_thread() -> None:
    threads = torch.get_num_threads()
    try:
        prepare(Runtime(threads=2, device="cpu"))
        tiny = torch.full((200_000,), 1e-39)
        assert float((tiny * 0.5).abs().max()) == 0.0
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)
