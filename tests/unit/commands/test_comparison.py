from pathlib import Path

import pytest

from burnish.commands.comparison import compare
from burnish.commands.runs import compare as public
from burnish.errors import CheckpointError
from burnish.run.directory import write_json
from tests.unit.commands.run_maker import finish, make_run, predict


def test_options_that_differ_stand_side_by_side(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, rate=rate) for name, rate in [("a", 1e-5), ("b", 3e-5), ("c", 1e-5)]]
    comparison = compare([run.path for run in runs])
    assert comparison.names == ("a", "b", "c")
    [difference] = comparison.differences
    assert difference.key == "optimizer.learning_rate"
    assert [float(value) for value in difference.values] == [1e-5, 3e-5, 1e-5]


def test_scores_stand_side_by_side_with_gaps(tmp_path: Path) -> None:
    first, second = make_run(tmp_path / "a"), make_run(tmp_path / "b")
    finish(first, accuracy=0.8)
    [line] = compare([first.path, second.path]).scores
    assert (line.split, line.name) == ("test", "accuracy")
    assert line.scores[0] is not None
    assert line.scores[0].value == 0.8
    assert line.scores[1] is None


def test_the_same_rows_are_tested_in_pairs(tmp_path: Path) -> None:
    truth = ["pos", "neg"] * 20
    first, second = make_run(tmp_path / "a"), make_run(tmp_path / "b")
    for run, predicted in ((first, ["neg"] * 40), (second, truth)):
        finish(run)
        predict(run, predicted, truth)
    [verdict] = compare([first.path, second.path]).verdicts
    assert verdict.names == ("a", "b")
    assert verdict.p_value == pytest.approx(2 * 0.5**20)
    assert "b is better by 50.0 points" in verdict.sentence


def test_other_rows_are_not_tested_and_the_reason_is_told(tmp_path: Path) -> None:
    first, second = make_run(tmp_path / "a"), make_run(tmp_path / "b")
    predict(first, ["pos"] * 4, ["pos"] * 4)
    predict(second, ["pos"] * 5, ["pos"] * 5)
    [verdict] = compare([first.path, second.path]).verdicts
    assert verdict.p_value is None
    assert "not scored on the same rows" in verdict.sentence


def test_spoilt_predictions_are_told_and_nothing_else_suffers(tmp_path: Path) -> None:
    first, second = make_run(tmp_path / "a"), make_run(tmp_path / "b")
    predict(first, ["pos"], ["pos"])
    predict(second, ["pos"], ["pos"])
    (second.predictions / "test.parquet").write_bytes(b"PAR1")
    [verdict] = compare([first.path, second.path]).verdicts
    assert "does not hold the predictions" in verdict.sentence


def test_numbers_are_compared_too(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    runs = [make_run(tmp_path / name) for name in ("a", "b")]
    for run, error in zip(runs, (1.0, 0.1), strict=True):
        write_json(run.profile, {"kind": "regression", "labels": []})
        run.predictions.mkdir()
        truth = [float(number) for number in range(30)]
        table = pa.table({"row": list(range(30)), "truth": truth, "predicted": [each + error for each in truth]})
        pq.write_table(table, run.predictions / "test.parquet")
    [verdict] = compare([run.path for run in runs]).verdicts
    assert "b is better" in verdict.sentence


@pytest.mark.parametrize("names", [["a"], ["a", "a"], []])
def test_a_comparison_needs_two_runs(tmp_path: Path, names: list[str]) -> None:
    make_run(tmp_path / "a")
    with pytest.raises(CheckpointError, match="two runs or more"):
        compare([tmp_path / name for name in names])


def test_runs_of_the_same_name_are_told_apart_by_their_path(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / folder / "run").path for folder in "ab"]
    assert public(runs).names == tuple(path.as_posix() for path in runs)
