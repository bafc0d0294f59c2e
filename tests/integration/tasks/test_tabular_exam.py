"""Tables pass the exam of every task."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from tests.integration.tasks.exam import TaskExam
from tests.integration.tasks.rows import change_lines, write_parts


def trip(draw: random.Random) -> dict[str, Any]:
    miles, pay = round(draw.gammavariate(2, 2), 2), draw.choice(("Cash", "Card", "Dispute"))
    tip = "large" if pay == "Card" and miles > 2 else "none"
    day = draw.choice(("Monday", "Tuesday", "Sunday"))
    return {"miles": None if draw.random() < 0.05 else miles, "pay": pay, "day": day, "tip": tip}


class TestTabular(TaskExam):
    """Who pays by card for a long trip leaves a tip."""

    waits = ()
    sections = """\
task: {{type: tabular, target: tip, importance: 0, crosses: [[pay, miles]], columns: {{miles: {{boundaries: [2]}}}}}}
data: {{train: {root}/train.jsonl, validation: {root}/dev.jsonl}}
"""
    model = "{{type: wide_deep, hidden: [16], dropout: 0, category_size: {{day: one_hot}}}}"
    refusals = (r"dev\.jsonl:2: target tip 'huge' is not one of", r"dev\.jsonl:3: column miles: 'far' is no number")
    asked = ({"miles": 3.5, "pay": "Card"}, {"pay": "Barter"})
    pads = False

    @staticmethod
    def write(root: Path) -> None:
        draw = random.Random(0)
        write_parts(root, [trip(draw) for _ in range(88)])

    @staticmethod
    def spoil(root: Path) -> None:
        change_lines(root / "dev.jsonl", {2: {"tip": "huge"}, 3: {"miles": "far"}})

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(network(batch), batch["label"])
