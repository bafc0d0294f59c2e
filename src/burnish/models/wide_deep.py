"""A linear model and a network of layers over a table, learned together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnish.models.tabular.table import Layered, NumberEmbedding
from burnish.spec.protocols import Assets
from burnish.spec.values import HeadSpec

if TYPE_CHECKING:
    from burnish.models.tabular.deep_torch import WideDeepNetwork


class WideDeep(Layered):
    """Wide & Deep: a linear model that memorises crosses plus a network that generalises."""

    numbers: NumberEmbedding = NumberEmbedding(kind="piecewise_linear")

    def network(self, head: HeadSpec, assets: Assets) -> WideDeepNetwork:
        """Build both parts; the linear one begins at zero."""
        from burnish.models.tabular.deep_torch import WideDeepNetwork

        return WideDeepNetwork(self, head)
