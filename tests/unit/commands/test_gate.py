from pathlib import Path

import pytest

from burnish.cli.main import run as burnish
from burnish.commands.gate import check
from burnish.errors import CheckpointError, ConfigError
from burnish.run.record.directory import RunDirectory
from tests.unit.commands.run_maker import finish, make_run, predict

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
