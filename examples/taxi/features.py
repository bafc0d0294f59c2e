"""A feature of your own; burnish calls it with one array an input, in training and for every prediction."""

from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.float64]]
MILES_A_DEGREE = 69.0


def detour(miles: Numbers, north_a: Numbers, east_a: Numbers, north_b: Numbers, east_b: Numbers) -> Numbers:
    """Return how much longer a ride was than the straight line; what is missing makes it missing."""
    narrowing = np.cos(np.radians((north_a + north_b) / 2))
    straight = MILES_A_DEGREE * np.hypot(north_a - north_b, narrowing * (east_a - east_b))
    return np.clip(miles / np.maximum(straight, 0.1), 0, 10)
