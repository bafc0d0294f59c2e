"""How many threads one computation uses, next to those of other workers."""

import torch


def set_threads(number: int) -> None:
    """Let every computation of this process, on whichever thread, use so many."""
    torch.set_num_threads(number)
