"""A linear model over a table: one weight for each number and each wide id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnish.models.tabular.table import TableModel
from burnish.spec.protocols import Assets
from burnish.spec.values import HeadSpec

if TYPE_CHECKING:
    from burnish.models.tabular.linear_torch import LinearNetwork


class Linear(TableModel):
    """A linear model over numbers, categories and crosses: fast and easy to interpret."""

    def network(self, head: HeadSpec, assets: Assets) -> LinearNetwork:
        """Build the network; all its weights begin at zero."""
        from burnish.models.tabular.linear_torch import LinearNetwork

        return LinearNetwork(head)
