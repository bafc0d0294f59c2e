"""Seeds every generator that building a model may draw from."""

import random

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Make new weights a pure function of the seed."""
    random.seed(seed)
    np.random.seed(seed)  # libraries below us draw from it
    torch.manual_seed(seed)
