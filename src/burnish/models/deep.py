"""A network of layers over a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnish.models.tabular.table import Layered
from burnish.spec.protocols import Assets
from burnish.spec.values import HeadSpec

if TYPE_CHECKING:
    from burnish.models.tabular.deep_torch import DeepNetwork


class Deep(Layered):
    """A multilayer perceptron over embedded categories and numbers."""

    def network(self, head: HeadSpec, assets: Assets) -> DeepNetwork:
        """Build the network; its weights are drawn from torch's generator."""
        from burnish.models.tabular.deep_torch import DeepNetwork

        return DeepNetwork(self, head)
