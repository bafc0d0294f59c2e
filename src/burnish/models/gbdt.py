"""Boosted trees over a table, grown by LightGBM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, NonNegativeFloat, PositiveInt

from burnish.models.tabular.table import TableModel
from burnish.spec.interval import Interval
from burnish.spec.protocols import Assets
from burnish.spec.values import HeadSpec

if TYPE_CHECKING:
    from burnish.models.tabular.boosted_trees_torch import BoostedTrees
    from burnish.models.tabular.table_torch import TableNetwork
    from burnish.spec.experiment import TrainPolicy


class Gbdt(TableModel):
    """Gradient-boosted trees (LightGBM): fast and hard to beat on small tables."""

    is_grown: ClassVar[bool] = True

    rounds: PositiveInt = 2000
    """Trees at most (for several classes, of each class)."""
    evaluate_every: PositiveInt = 10
    """Rounds between two looks at the validation rows."""
    patience: PositiveInt | None = 5
    """Stop after this many looks without a better score."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 0.05
    leaves: Annotated[int, Field(ge=2, le=131072)] = 31
    """Leaves of a tree."""
    least_rows: Annotated[int, Field(ge=1, lt=2**31)] = 20
    """Rows in a leaf at least."""
    l2: NonNegativeFloat = 0.0
    """Pulls the values of leaves towards zero."""

    def policy(self, asked: TrainPolicy) -> TrainPolicy:
        """Give how long to train: a step is a round, and this model's own options say how many."""
        look = Interval(self.evaluate_every, "steps")
        return asked.model_copy(
            update={
                "length": Interval(self.rounds, "steps"),
                "evaluate_every": look,
                "checkpoint_every": look,
                "patience": self.patience,
            }
        )

    def usual_rate(self, network: object) -> float:
        """Say how much each round counts."""
        return self.learning_rate

    def network(self, head: HeadSpec, assets: Assets) -> BoostedTrees:
        """Give what trees will be grown in."""
        from burnish.models.tabular.boosted_trees_torch import BoostedTrees

        return BoostedTrees(self, head)

    def save(self, network: TableNetwork, directory: Path) -> None:
        """Write LightGBM's own text, and what the trees are fed as JSON."""
        from burnish.models.tabular.boosted_trees_torch import save_trees

        save_trees(network, directory)

    def load(self, directory: Path, head: HeadSpec) -> BoostedTrees:
        """Read back what `save` wrote."""
        from burnish.models.tabular.boosted_trees_torch import load_trees

        return load_trees(self.network(head, self.assets()), directory)
