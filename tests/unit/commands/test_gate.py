import json
import math
from pathlib import Path

import numpy as np
import pytest

from burnish.cli.main import run as burnish
from burnish.commands.gate import check
from burnish.errors import CheckpointError, ConfigError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.result import ScoreSheet, write_sheet
from burnish.spec.values import Score
from tests.unit.commands.run_maker import finish, make_run, predict, predict_numbers, predict_several

TRUTH = ["neg", "pos"] * 50


def made(path: Path, *, wrong: int, rate: float = 2e-5) -> RunDirectory:
    """A run with accuracy 0.8, interval 0.7 to 0.9, whose predictions have the given number of mistakes."""
    run = make_run(path, rate=rate)
    finish(run)
    flipped = ["pos" if label == "neg" else "neg" for label in TRUTH[:wrong]]
    predict(run, flipped + TRUTH[wrong:], TRUTH)
    return run


@pytest.mark.parametrize(
    ("requirement", "by", "is_passed"),
    [
        ("test/accuracy >= 0.7", "interval", True),
        ("test/accuracy >= 0.75", "interval", False),
        ("test/accuracy>=0.75", "value", True),
        ("test/accuracy <= 0.85", "interval", False),
        ("test/accuracy <= 0.9", "interval", True),
        ("test/accuracy > 0.8", "value", False),
        ("test/accuracy < 0.8", "value", False),
    ],
)
def test_a_requirement_is_compared_with_the_near_end_of_the_interval(
    tmp_path: Path, requirement: str, by: str, is_passed: bool
) -> None:
    run = made(tmp_path / "a", wrong=0)
    assert check(run.path, require=[requirement], by=by).is_passed is is_passed


def test_a_champion_that_is_shown_to_be_better_holds_the_run_back(tmp_path: Path) -> None:
    good, same, bad = (
        made(tmp_path / n, wrong=w, rate=r) for n, w, r in [("g", 5, 1e-5), ("s", 6, 2e-5), ("b", 30, 3e-5)]
    )
    assert check(same.path, no_worse_than=[good.path]).is_passed
    assert check(good.path, no_worse_than=[bad.path]).is_passed
    result = check(bad.path, no_worse_than=[good.path, same.path])
    assert not result.is_passed
    assert [finding.is_met for finding in result.findings] == [False, False]
    assert "g is better by 25.0 points" in result.findings[0].sentence


def test_what_cannot_be_compared_is_not_passed(tmp_path: Path) -> None:
    run, other = made(tmp_path / "a", wrong=0), make_run(tmp_path / "b", rate=1.0)
    finish(other)
    assert not check(run.path, no_worse_than=[other.path]).is_passed
    predict(other, TRUTH[:50], TRUTH[:50])
    assert not check(run.path, no_worse_than=[other.path]).is_passed


def test_every_wrong_requirement_is_named_at_once(tmp_path: Path) -> None:
    run = made(tmp_path / "a", wrong=0)
    with pytest.raises(ConfigError) as caught:
        check(run.path, require=["accuracy > 0.5", "test/acuracy > 0.5", "test/accuracy > many", "test/accuracy > nan"])
    assert len(caught.value.problems) == 4
    assert "did you mean test/accuracy?" in str(caught.value)


def test_a_run_without_scores_and_a_check_that_asks_nothing_are_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a")
    with pytest.raises(CheckpointError, match="burnish resume"):
        check(run.path, require=["test/accuracy > 0"])
    with pytest.raises(ConfigError, match="--require"):
        check(run.path)


def test_the_exit_code_is_8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = made(tmp_path / "a", wrong=0)
    assert burnish(["check", str(run.path), "--require", "test/accuracy >= 0.6"]) == 0
    assert burnish(["check", str(run.path), "--require", "test/accuracy >= 0.95", "--json"]) == 8
    out = capsys.readouterr().out
    assert "✓ test/accuracy >= 0.6" in out
    assert '"is_passed": false' in out


NUMBERS = np.linspace(1, 5, 100)
NOISY = NUMBERS + np.random.default_rng(0).normal(size=100)
DEAD, LOST = np.full(100, 3.0), np.where(NUMBERS < 2, math.nan, NUMBERS)


def judged_by(path: Path, headline: str, predicted: np.ndarray, *, truth: np.ndarray = NUMBERS) -> RunDirectory:
    """A run on numbers that is judged by the score given."""
    run = make_run(path)
    plan = run.plan.read_text().replace("type: text_classification", "type: tabular\n  target: y")
    plan = plan.replace("model:\n  type: transformer\n  name: tiny\n", "model:\n  type: deep\n")
    run.plan.write_text(f"{plan}metrics: [{headline}]\n")
    finish(run)
    predict_numbers(run, predicted, truth)
    write_sheet(run, ScoreSheet(headline, {"test": {headline: Score(0.5)}}, {}))
    return run


@pytest.mark.parametrize("headline", ["pearson", "spearman", "mse", "r2"])
@pytest.mark.parametrize("is_champion", [False, True])
@pytest.mark.parametrize("told", [DEAD, LOST], ids=["constant", "nan"])
def test_a_run_without_a_score_is_never_passed(
    tmp_path: Path, headline: str, *, is_champion: bool, told: np.ndarray
) -> None:
    dead, alive = judged_by(tmp_path / "dead", headline, told), judged_by(tmp_path / "alive", headline, NOISY)
    run, champion = (alive, dead) if is_champion else (dead, alive)
    result = check(run.path, no_worse_than=[champion.path])
    if headline in ("mse", "r2") and told is DEAD:
        assert result.is_passed is is_champion  # these are defined for it, and bad
        return
    assert not result.is_passed
    [finding] = result.findings
    assert finding.sentence.endswith(f"cannot be compared: {headline} has no finite value for dead")


def test_two_runs_without_a_score_are_not_passed_either(tmp_path: Path) -> None:
    runs = [judged_by(tmp_path / name, "pearson", DEAD) for name in "ab"]
    [finding] = check(runs[1].path, no_worse_than=[runs[0].path]).findings
    assert not finding.is_met
    assert "pearson has no finite value for both" in finding.sentence


def test_an_infinite_error_is_not_passed(tmp_path: Path) -> None:
    endless = judged_by(tmp_path / "endless", "mse", np.full(100, 1e200))
    good = judged_by(tmp_path / "good", "mse", NOISY)
    for run, champion in ((endless, good), (good, endless)):
        [finding] = check(run.path, no_worse_than=[champion.path]).findings
        assert not finding.is_met
        assert "mse has no finite value for endless" in finding.sentence


@pytest.mark.parametrize("headline", ["roc_auc", "accuracy", "f1", "log_loss"])
def test_probabilities_that_are_nan_are_not_passed(tmp_path: Path, headline: str) -> None:
    runs = [make_run(tmp_path / name) for name in ("dead", "alive")]
    for run in runs:
        run.plan.write_text(f"{run.plan.read_text()}metrics: [{headline}]\n")
        finish(run)
        predict(run, TRUTH, TRUTH, share=math.nan if run.name == "dead" else 0.9)
        write_sheet(run, ScoreSheet(headline, {"test": {headline: Score(0.5)}}, {}))
    dead, alive = runs
    for run, champion in ((dead, alive), (alive, dead)):
        [finding] = check(run.path, no_worse_than=[champion.path]).findings
        assert not finding.is_met
        assert f"{headline} has no finite value for dead" in finding.sentence


def test_a_set_of_one_class_judges_nobody(tmp_path: Path) -> None:
    for name in "ab":
        run = make_run(tmp_path / name)
        run.plan.write_text(f"{run.plan.read_text()}metrics: [roc_auc]\n")
        finish(run)
        predict(run, ["pos"] * 50, ["pos"] * 50)
        write_sheet(run, ScoreSheet("roc_auc", {"test": {"roc_auc": Score(math.nan)}}, {}))
    assert burnish(["check", str(tmp_path / "b"), "--no-worse-than", str(tmp_path / "a")]) == 8


def test_every_task_of_the_champion_is_judged(tmp_path: Path) -> None:
    champion, run = make_run(tmp_path / "champion"), make_run(tmp_path / "run")
    predict_several(champion, {"mood": (TRUTH, TRUTH), "sort": (TRUTH, TRUTH)})
    predict_several(run, {"mood": (TRUTH, TRUTH)})
    for each in (champion, run):
        finish(each)
    result = check(run.path, no_worse_than=[champion.path])
    assert not result.is_passed
    assert [finding.sentence for finding in result.findings if not finding.is_met] == [
        f"{run.path} and {champion.path} have no predictions of the same split of task sort to compare"
    ]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("requirement", [">= 0.5", "> 0.5", "<= 0.5", "< 0.5"])
@pytest.mark.parametrize("by", ["interval", "value"])
def test_a_score_that_is_no_finite_number_meets_no_requirement(
    tmp_path: Path, value: float, requirement: str, by: str
) -> None:
    run = made(tmp_path / "a", wrong=0)
    write_sheet(run, ScoreSheet("loss", {"test": {"loss": Score(value, 0.1, 0.9)}}, {}))
    [finding] = check(run.path, require=[f"test/loss {requirement}"], by=by).findings  # type: ignore[arg-type]  # one of two
    assert not finding.is_met
    assert "test/loss cannot be judged" in finding.sentence


def test_the_reasons_are_told_to_programs_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dead, alive = judged_by(tmp_path / "dead", "pearson", DEAD), judged_by(tmp_path / "alive", "pearson", NOISY)
    assert burnish(["check", str(dead.path), "--no-worse-than", str(alive.path), "--json"]) == 8
    [finding] = json.loads(capsys.readouterr().out)["findings"]
    assert finding["is_met"] is False
    assert "cannot be compared" in finding["sentence"]
