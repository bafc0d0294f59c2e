"""An ensemble of networks over a table that share most of their weights, after the published TabM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import PositiveInt

from burnish.models.tabular.table import Dropout, Layered, NumberEmbedding
from burnish.spec.protocols import Assets
from burnish.spec.values import HeadSpec

if TYPE_CHECKING:
    from burnish.models.tabular.tab_m_torch import TabMNetwork


class TabM(Layered):
    """TabM: an ensemble of small neural networks that share most weights.

    The defaults are meant to need no search. A prediction is the mean of the members' predictions.
    """

    members: PositiveInt = 16
    adapters: Literal["every_layer", "first"] = "every_layer"
    """Where members differ: in every layer, or only in how they see the inputs (and in their outputs)."""
    numbers: NumberEmbedding = NumberEmbedding(kind="piecewise_linear")
    first: PositiveInt = 128
    layers: PositiveInt = 2
    dropout: Dropout = 0.0

    def network(self, head: HeadSpec, assets: Assets) -> TabMNetwork:
        """Build the network; its weights are drawn from torch's generator."""
        from burnish.models.tabular.tab_m_torch import TabMNetwork

        return TabMNetwork(self, head)
