"""What a loss of the user's own must be able to do."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class OwnLoss(Protocol):
    """Replaces the task's loss."""

    def loss(self, outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the loss of a batch summed over what counts, a tensor, and how much counts, a number.

        It is pure: the same tensors give the same loss. `outputs` has `logits` and whatever else the network gives.
        """
        ...
