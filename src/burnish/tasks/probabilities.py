"""Turns logits into probabilities."""

import numpy as np

from burnish.spec.values import Array


def softmax(logits: "Array") -> "Array":
    """Give shares [n, …, k] that add up to 1 along the last axis; minus infinity is 0."""
    if not len(logits):
        return logits
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))
