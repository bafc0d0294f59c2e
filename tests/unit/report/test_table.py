"""The part of a report that is about columns reads what a run wrote, and passes over what is torn."""

import json
from pathlib import Path

import pytest

from burnish.report.collect import collect, read_columns, read_members, read_slices
from burnish.report.data import Residuals
from burnish.report.page import render
from burnish.report.svg import residual_chart
from burnish.run.record.directory import RunDirectory
from burnish.spec.values import Score

COUNTS = {"missing": 2, "distinct": 9}
TABLE = {
    "columns": [
        {
            "name": "fare",
            "kind": "number",
            "facts": {"missing": 2, "distinct": 9, "mean": 3.5, "lowest": 1.0, "highest": 7.0},
        },
        {"name": "<pay>", "kind": "category", "facts": {"missing": 0, "distinct": 3, "top": {"Cash": 5}, "rare": 1}},
        {
            "name": "at",
            "kind": "datetime",
            "facts": {"missing": 0, "distinct": 3, "mean": 0, "lowest": 0, "highest": 86400},
        },
    ],
    "dropped": {"id": "numbers the rows"},
}
SLICES = [{"column": "pay", "value": "Cash", "rows": 12, "scores": {"accuracy": 0.5, "roc_auc": None}}]


def test_columns_are_summarised_with_their_importance() -> None:
    measured = {"fare": {"mean": 0.25, "low": 0.2, "high": 0.3}, "<pay>": 0.1}
    found = read_columns({"facts": {"table": TABLE}}, {"importance": measured})
    assert [(each.name, each.kind, each.importance) for each in found] == [
        ("fare", "number", Score(0.25, 0.2, 0.3)),
        ("<pay>", "category", Score(0.1)),
        ("at", "datetime", None),
        ("id", "not used", None),
    ]
    assert found[0].content.startswith("mean 3.5")
    assert found[1].content == "Cash 5; 1 rows of rare values"
    assert found[2].content == "1970-01-01 00:00 to 1970-01-02 00:00"


def test_what_is_torn_leaves_its_part_out() -> None:
    assert read_columns({"facts": {"table": {"columns": [{"name": 1}]}}}, {}) == ()
    assert read_columns({"facts": None}, {"importance": 3}) == ()
    assert read_slices({"slices": [{"column": "a"}]}) == ()
    assert read_slices({"slices": 3}) == ()


def test_the_page_shows_columns_importance_and_slices(tmp_path: Path) -> None:
    scores = {"headline": "accuracy", "scores": {"test": {"accuracy": {"value": 0.5}}}, "baselines": {}}
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    (tmp_path / "profile.json").write_text(
        json.dumps({"kind": "binary", "labels": ["0", "1"], "facts": {"table": TABLE}})
    )
    (tmp_path / "insights.json").write_text(json.dumps({"importance": {"fare": 0.25}, "slices": SLICES}))
    page = render(collect(RunDirectory(tmp_path)))
    assert "Permutation importance" in page
    assert "<h2>Slices</h2>" in page
    assert "&lt;pay&gt;" in page
    assert "<pay>" not in page


def test_residuals_are_drawn_even_if_all_are_one() -> None:
    assert "circle" in residual_chart(Residuals("test", (1.0, 1.0), (0.0, 0.0)), title="Residuals")


def test_members_of_a_blend_are_listed_the_heaviest_first() -> None:
    written = [{"name": "linear", "weight": 0.25, "loss": 0.5}, {"name": "catboost", "weight": 0.75, "score": 0.9}]
    left_out = {"name": "lightgbm", "weight": 0, "left_out": "it is not installed"}
    first, second, third = read_members({"members": [*written, left_out]})
    assert (first.name, first.score, first.loss) == ("catboost", 0.9, None)
    assert (second.name, second.loss) == ("linear", 0.5)
    assert third.left_out == "it is not installed"


@pytest.mark.parametrize("members", [3, [3], [{}], [{"name": "a"}], [{"name": "a", "weight": "much"}], {"a": 1}])
def test_members_that_cannot_be_read_are_left_out(members: object) -> None:
    assert read_members({"members": members}) == ()
