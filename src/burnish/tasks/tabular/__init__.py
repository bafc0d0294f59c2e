"""Classification and regression on tables."""

from burnish.tasks.tabular.task import Tabular

__all__ = ["Tabular"]
