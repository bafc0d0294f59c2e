"""The page stands alone, leaves out what is absent and escapes what is hostile."""

import math
import re
from dataclasses import fields, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from burnish.metrics.confidence import Reliability
from burnish.report.data import (
    BlendMember,
    CalibrationCurve,
    ClassScores,
    ColumnSummary,
    CurvePoint,
    EvaluationCurve,
    Fact,
    Happening,
    Headline,
    LabelCounts,
    Matrix,
    Mistake,
    RankingCurve,
    ReportData,
    Residuals,
    Setting,
    Slice,
    Training,
)
from burnish.report.page import render
from burnish.spec.values import Score, Times

GOLDEN = Path(__file__).parents[2] / "golden" / "report" / "page.html"
HOSTILE = "\"'><script>alert(1)</script>&"


def report(word: str = "good") -> ReportData:
    score, weak = Score(0.9, 0.85, 0.95), Score(0.5, 0.4, 0.6)
    curve = (CurvePoint(1, 0.7), CurvePoint(2, 0.9), CurvePoint(3, 0.8))
    return ReportData(
        title=f"demo/{word}",
        experiment=f"text classification {word}",
        description=f"whether a review is {word}",
        ending="finished",
        headline=Headline("accuracy", "test", score),
        facts=(Fact("Train rows", "1,200"), Fact("Labels", word)),
        splits={"validation": {"accuracy": score}, "test": {"accuracy": score, "f1": Score(0.88), word: weak}},
        baselines={"majority": {"accuracy": weak}, "tfidf_logistic": {"accuracy": Score(0.8, 0.75, 0.85)}},
        times={"this_run": Times(83.0, 1.25), "majority": Times(0.0004), "tfidf_logistic": Times(2.5, 0.025)},
        training=Training(curve, curve, (CurvePoint(1, 1e-4), CurvePoint(3, 0.0))),
        evaluations=(EvaluationCurve("accuracy", "validation", curve, best_step=2),),
        confusion=Matrix("test", ("bad", word), ((40, 10), (5, 45)), num_labels=2),
        class_scores=(ClassScores("bad", 0.75, 0.5, 0.6, 40), ClassScores(word, 0.9, 1.0, 0.95, 60)),
        curves=(
            RankingCurve(
                word,
                ((0.0, 0.0), (0.2, 0.9), (1.0, 1.0)),
                ((0.9, 0.8), (1.0, 0.5)),
                0.91,
                0.85,
                0.5,
                ((0.7, 0.8, 0.9),),
            ),
        ),
        calibration=CalibrationCurve("test", (Reliability(0.6, 0.55, 20), Reliability(0.95, 0.97, 80))),
        label_counts=(LabelCounts("train", {"bad": 600, word: 600}), LabelCounts("test", {"bad": 50})),
        residuals=Residuals("test", (1.0, 2.0, 4.0), (0.5, -0.25, 0.0)),
        columns=(ColumnSummary(word, "category", 3, 2, f"{word} 12", Score(0.25, 0.2, 0.3)),),
        slices=(Slice(word, word, 40, {"accuracy": 0.75}),),
        members=(BlendMember(word, 0.75, 0.4, 0.8), BlendMember(f"{word} too", 0.0, left_out=word)),
        findings=(f"2 rows of test also occur in train: {word}",),
        splits_without_repeated={"test": {"accuracy": Score(0.7, 0.6, 0.8)}},
        mistakes=(Mistake("a.csv, row 7", f"this film is {word}", "bad", word, 0.99),),
        settings=(Setting("train.length", word, "mine.yaml:2"), Setting("train.clip", "1.0", "default")),
        environment=(Fact("torch", "2"),),
        happenings=(Happening(3, f"ended: {word}"),),
        tasks=(
            ReportData(
                title=word,
                headline=Headline("accuracy", "test", score),
                confusion=Matrix("test", ("no", word), ((4, 1), (2, 3)), num_labels=2),
                label_counts=(LabelCounts("test", {"no": 5, word: 5}),),
                mistakes=(Mistake("row 2", f"a {word} text", "no", word, 0.75),),
            ),
        ),
    )


def test_the_page_is_as_it_was() -> None:
    assert render(report()) == GOLDEN.read_text(encoding="utf-8")


def test_hostile_text_is_escaped_everywhere() -> None:
    page = render(report(HOSTILE))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 12
    assert tags(page) == tags(render(report("x" * len(HOSTILE))))


def test_the_page_fetches_nothing_and_runs_nothing() -> None:
    page = render(report())
    assert not re.search(r"https?://|//[a-z]|url\(|@import|\ssrc=|\shref=|<script|\son\w+=", page)


@pytest.mark.parametrize("name", [field.name for field in fields(ReportData) if field.name != "title"])
def test_each_part_may_be_absent(name) -> None:
    empty = getattr(ReportData(title="x"), name)
    page = render(replace(report(), **{name: empty}))
    assert len(page) < len(render(report()))
    assert "None" not in page


def test_nothing_but_a_title_is_a_page_without_sections() -> None:
    page = render(ReportData(title="bare"))
    assert "<h1>bare</h1>" in page
    assert "<section>" not in page


def test_the_first_lines_tell_the_score_its_interval_and_the_distance_to_the_baseline() -> None:
    page = render(report())
    assert "95% interval 0.850 to 0.950" in page
    assert "0.100 better than TF-IDF + logistic regression (0.800)" in page


def test_the_scores_end_with_the_times_of_the_run_and_of_each_baseline() -> None:
    page = render(report())
    assert "<td>Time to fit</td><td></td><td>1 min 23 s</td><td>under 1 ms</td><td>2.5 s</td></tr>" in page
    assert "<td>Time to predict</td><td></td><td>1.2 s</td><td></td><td>25 ms</td></tr>" in page


def test_an_error_is_better_when_it_is_lower() -> None:
    rivals = {"mean": {"rmse": Score(9.0)}, "ridge": {"rmse": Score(4.0)}, "nothing": {"rmse": Score(math.nan)}}
    data = ReportData(title="x", headline=Headline("rmse", "test", Score(5.0), is_lower_better=True), baselines=rivals)
    assert "1.000 worse than Ridge (4)" in render(data)


def test_the_validation_loss_shares_the_axis_of_the_training_loss() -> None:
    data = report()
    both = replace(data, evaluations=(EvaluationCurve("log_loss", "validation", data.training.loss),))
    assert "Training loss (solid) and validation log loss (dashed)" in render(both)


def test_tags_are_closed_in_order() -> None:
    assert tags(render(report())).count("svg") == 18, "six of them twice, for a screen and for a phone"


def tags(page: str) -> list[str]:
    parser = _Tags()
    parser.feed(page)
    assert parser.open == []
    return parser.seen


class _Tags(HTMLParser):
    VOID = ("meta", "br", "line", "rect", "circle", "path")

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.seen.append(tag)
        if tag not in self.VOID or (tag == "circle" and dict(attrs).get("class") == "dot" and "r" in dict(attrs)):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag
