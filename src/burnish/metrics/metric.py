"""What all metrics share: a metric is declared by the names of its scores, the kinds it fits and a function."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar, Literal

from burnish.spec.component import Component
from burnish.spec.values import Array, Outcome

Better = Literal["higher", "lower"]
Scale = Literal["share", "value", "count"]
"""`share`: at most 1, shown in percentage points; `value`: in its own unit; `count`: of rows, judging nothing."""

CLASSES = ("binary", "multiclass")
DECISIONS = (*CLASSES, "multilabel")
TOLD_BY_ROW = ("choice", "tags", "spans", "retrieval")
"""Kinds whose task tells of each row how unlikely its truth was."""


class FunctionMetric(Component):
    """A metric whose scores come from one function of this package; its options are that function's arguments."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"
    gives: ClassVar[tuple[str, ...]] = ()
    """The names of the scores, the headline first."""
    kinds: ClassVar[tuple[str, ...]]
    """The kinds of outcome that can be scored."""
    compute: ClassVar[str]
    """`module:function`. It is imported when it is called: checking a config must not load numpy."""

    def names(self) -> tuple[str, ...]:
        """Name the scores."""
        return self.gives

    def applies(self, kind: str) -> bool:
        """Answer whether outcomes of this kind can be scored."""
        return kind in self.kinds

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        module, _, function = self.compute.partition(":")
        values = getattr(import_module(f"{__package__}.{module}"), function)(outcome, weights, **self.model_dump())
        return dict(zip(self.names(), values if isinstance(values, tuple) else (values,), strict=True))
