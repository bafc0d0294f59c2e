"""The words that metrics share; naming a metric in a config must not load numpy."""

from typing import Literal

Better = Literal["higher", "lower"]
Scale = Literal["share", "value", "count"]
"""`share`: at most 1, told in points of a hundred; `value`: in a unit of its own; `count`: of rows, judging nothing."""

CLASSES = ("binary", "multiclass")
CELLS = ("true_positives", "false_positives", "false_negatives", "true_negatives")
