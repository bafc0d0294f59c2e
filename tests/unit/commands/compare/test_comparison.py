from pathlib import Path

import numpy as np
import pytest

from burnish.commands.compare.comparison import compare
from burnish.commands.gate import check
from burnish.commands.runs import compare as public
from burnish.errors import CheckpointError, UntrustedCode
from burnish.run.record.directory import RunDirectory, write_json
from burnish.run.record.result import ScoreSheet, sheet_to_json
from burnish.spec.values import Score
from tests.unit.commands.run_maker import finish, make_run, predict, predict_numbers, predict_several


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


def test_runs_that_differ_in_their_seed_alone_are_one_recipe(tmp_path: Path) -> None:
    truth, wrong = ["pos", "neg"] * 20, ["neg"] * 40
    made = {
        "slow-0": (1e-5, wrong, 0.5),
        "slow-1": (1e-5, wrong, 0.4),
        "fast-0": (3e-5, truth, 1.0),
        "fast-1": (3e-5, truth, 0.9),
    }
    for name, (rate, said, accuracy) in made.items():
        run = make_run(tmp_path / name, rate=rate, seed=int(name[-1]))
        finish(run, accuracy=accuracy)
        predict(run, said, truth)
    comparison = compare([tmp_path / name for name in made])
    assert (comparison.names, comparison.seeds) == (("slow (2 seeds)", "fast (2 seeds)"), (2, 2))
    assert [each.key for each in comparison.differences] == ["optimizer.learning_rate"]
    [line] = comparison.scores
    assert line.scores == (Score(pytest.approx(0.45), 0.4, 0.5), Score(0.95, 0.9, 1.0))
    [verdict] = comparison.verdicts
    assert verdict.sentence.startswith("accuracy on test: fast (2 seeds) is better by 50.0 points")
    assert verdict.sentence.endswith("(bootstrap of rows and seeds)")


def test_recipes_that_would_have_one_name_are_told_by_their_runs(tmp_path: Path) -> None:
    for number in range(4):
        make_run(tmp_path / f"run-{number}", rate=(1 + number % 2) * 1e-5, seed=number)
    assert compare([tmp_path / f"run-{number}" for number in range(4)]).names == ("run-0, run-2", "run-1, run-3")


@pytest.mark.parametrize(
    ("file", "first_row", "is_refused"), [("a.csv", 1, False), ("a.csv", 2, True), ("b.csv", 2, False)]
)
def test_other_rows_with_the_same_numbers_are_refused(
    tmp_path: Path, file: str, first_row: int, is_refused: bool
) -> None:
    truth = ["pos"] * 20
    for name, told, start in (("a", "a.csv", 1), ("b", file, first_row)):
        run = make_run(tmp_path / name)
        finish(run)
        predict(run, truth, truth, places={"file": [told] * 20, "file_row": list(range(start, start + 20))})
    [verdict] = compare([tmp_path / "a", tmp_path / "b"]).verdicts
    assert ("a and b were not scored on the same rows of test" in verdict.sentence) == is_refused
    assert (verdict.p_value is None) == is_refused


def test_another_split_can_be_asked_for(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name) for name in "ab"]
    for run in runs:
        finish(run)
        scores = {"test": {"accuracy": Score(0.5)}, "test_de": {"accuracy": Score(0.4)}}
        write_json(run.scores, sheet_to_json(ScoreSheet("accuracy", scores, {})))
    [line] = compare([run.path for run in runs], split="test_de").scores
    assert (line.split, line.scores) == ("test_de", (Score(0.4), Score(0.4)))
    with pytest.raises(CheckpointError, match="none of these runs was scored on test_fr; they have test, test_de"):
        compare([run.path for run in runs], split="test_fr")


def test_seeds_of_one_recipe_are_compared_one_by_one(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / f"run-{seed}", seed=seed) for seed in range(3)]
    comparison = compare([run.path for run in runs])
    assert comparison.names == ("run-0", "run-1", "run-2")
    assert comparison.seeds == (1, 1, 1)


def test_tasks_that_runs_have_in_common_are_tested_one_by_one(tmp_path: Path) -> None:
    truth, wrong = ["pos", "neg"] * 20, ["neg"] * 40
    first, second = make_run(tmp_path / "a"), make_run(tmp_path / "b")
    predict_several(first, {"mood": (wrong, truth), "sort": (truth, truth), "more": (wrong, truth)})
    predict_several(second, {"sort": (wrong, truth), "mood": (truth, truth), "less": (wrong, truth)})
    scores = dict.fromkeys(["mean", "mood/accuracy", "sort/f1", "mood/f1", "sort/accuracy"], Score(0.5))
    write_json(first.scores, sheet_to_json(ScoreSheet("mean", {"test": scores}, {})))
    write_json(second.scores, sheet_to_json(ScoreSheet("mood/accuracy", {"test": scores}, {})))
    mood, sort = compare([first.path, second.path]).verdicts  # their tasks differ, so they have no mean in common
    assert (mood.task, sort.task) == ("mood", "sort")
    assert mood.p_value == pytest.approx(2 * 0.5**20)
    assert mood.sentence.startswith("mood/accuracy on test: b is better by 50.0 points")
    assert sort.sentence.startswith("sort/f1 on test: a is better by")


def test_the_mean_that_selects_is_tested_before_the_tasks(tmp_path: Path) -> None:
    truth, wrong = ["pos", "neg"] * 20, ["neg"] * 40
    runs = [make_run(tmp_path / name) for name in "ab"]
    for run, mood in zip(runs, (wrong, truth), strict=True):
        predict_several(run, {"mood": (mood, truth), "sort": (truth, truth)})
        scores = dict.fromkeys(["mean", "mood/accuracy", "sort/accuracy"], Score(0.5))
        write_json(run.scores, sheet_to_json(ScoreSheet("mean", {"test": scores}, {})))
    mean, mood_alone, sort_alone = compare([run.path for run in runs]).verdicts
    assert mean.sentence.startswith("mean on test: b is better by 25.0 points")
    assert (mean.task, mood_alone.task, sort_alone.task) == ("", "mood", "sort")


def test_the_score_that_selects_is_that_of_its_task(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name) for name in "ab"]
    for run in runs:
        predict_several(run, {"mood": (["pos", "neg"] * 4, ["pos"] * 8)})
        scores = dict.fromkeys(["mean", "mood/accuracy", "mood/f1"], Score(0.5))
        write_json(run.scores, sheet_to_json(ScoreSheet("mood/f1", {"test": scores}, {})))
    [verdict] = compare([run.path for run in runs]).verdicts
    assert verdict.sentence.startswith("mood/f1 on test: no significant difference")


def test_what_cannot_be_tested_of_a_task_is_told_with_its_name(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name) for name in "ab"]
    for run in runs:
        predict_several(run, {"words": (["pos"] * 4, ["pos"] * 4)})
        words = {"kind": "likelihood", "labels": []}
        write_json(run.profile, {"kind": "several", "facts": {"tasks": {"words": words, "../out": words}}})
    [verdict] = compare([run.path for run in runs]).verdicts
    assert verdict.p_value is None
    assert verdict.sentence.startswith("words: ")
    assert "says likelihood of its rows" in verdict.sentence


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
    truth = np.arange(30.0)
    for name, error in (("a", 1.0), ("b", 0.1)):
        predict_numbers(make_run(tmp_path / name), truth + error, truth)
    [verdict] = compare([tmp_path / "a", tmp_path / "b"]).verdicts
    assert "b is better" in verdict.sentence


def test_a_verdict_uses_the_options_of_the_runs_own_metric(tmp_path: Path) -> None:
    # High predictions are better at the 0.9 quantile, low ones at the median, which plain options would judge by.
    truth = np.random.default_rng(0).normal(size=200)
    for name, said in (("a", np.quantile(truth, 0.5)), ("b", np.quantile(truth, 0.9))):
        run = make_run(tmp_path / name)
        _learn_quantile(run, 0.9)
        predict_numbers(run, np.full(200, said), truth)
    [verdict] = compare([tmp_path / "a", tmp_path / "b"]).verdicts
    assert verdict.sentence.startswith("pinball on test: b is better by ")


def test_runs_whose_metric_has_other_options_are_not_compared_by_it(tmp_path: Path) -> None:
    truth = np.arange(40.0)
    for name, quantile in (("a", 0.9), ("b", 0.5)):
        run = make_run(tmp_path / name)
        _learn_quantile(run, quantile)
        predict_numbers(run, truth + quantile, truth)
    [verdict] = compare([tmp_path / "a", tmp_path / "b"]).verdicts
    assert verdict.p_value is None
    assert verdict.sentence == (
        "a and b cannot be compared by pinball, which they computed differently: Pinball(quantile=0.9) in a, "
        "Pinball(quantile=0.5) in b"
    )


def _learn_quantile(run: RunDirectory, quantile: float) -> None:
    task = f"type: tabular\n  target: y\n  loss: quantile\n  quantile: {quantile}"
    model = "model:\n  type: deep\n"
    run.plan.write_text(
        run.plan.read_text()
        .replace("type: text_classification", task)
        .replace("model:\n  type: transformer\n  name: tiny\n", model)
    )
    write_json(run.scores, sheet_to_json(ScoreSheet("pinball", {"test": {"pinball": Score(0.5)}}, {})))


@pytest.mark.parametrize(
    ("metrics", "headline"),
    [
        ("[{type: f1, average: macro}]", "f1_macro"),
        ("[{type: f1, average: micro}]", "f1_micro"),
        ("[{type: f1, positive: neg}, accuracy]", "f1_neg"),
    ],
)
def test_a_verdict_is_of_the_headline_however_it_is_averaged(tmp_path: Path, metrics: str, headline: str) -> None:
    truth, wrong = ["pos", "neg"] * 20, ["neg"] * 40
    for name, predicted in (("a", wrong), ("b", truth)):
        run = make_run(tmp_path / name)
        run.plan.write_text(run.plan.read_text() + f"metrics: {metrics}\n")
        predict(run, predicted, truth)
        write_json(run.scores, sheet_to_json(ScoreSheet(headline, {"test": {headline: Score(0.5)}}, {})))
    [verdict] = compare([tmp_path / "a", tmp_path / "b"]).verdicts
    assert verdict.sentence.startswith(f"{headline} on test: b is better by ")


def test_a_headline_that_no_metric_gives_is_told(tmp_path: Path) -> None:
    for name in "ab":
        run = make_run(tmp_path / name)
        predict(run, ["pos"] * 4, ["pos"] * 4)
        write_json(run.scores, sheet_to_json(ScoreSheet("span_f1", {"test": {"span_f1": Score(0.5)}}, {})))
    [verdict] = compare([tmp_path / "a", tmp_path / "b"]).verdicts
    assert verdict.p_value is None
    assert verdict.sentence.startswith("a and b cannot be compared by span_f1: their plans have accuracy, f1")


@pytest.mark.parametrize("names", [["a"], ["a", "a"], []])
def test_a_comparison_needs_two_runs(tmp_path: Path, names: list[str]) -> None:
    make_run(tmp_path / "a")
    with pytest.raises(CheckpointError, match="two runs or more"):
        compare([tmp_path / name for name in names])


def test_runs_of_the_same_name_are_told_apart_by_their_path(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / folder / "run").path for folder in "ab"]
    assert public(runs).names == tuple(path.as_posix() for path in runs)


def test_runs_with_own_code_that_is_trusted_are_compared_and_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_score.py").write_text(
        "from burnish.metrics.classification import Accuracy\n\n\nclass Own(Accuracy):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("BURNISH_STATE", str(tmp_path / "state"))
    truth = ["pos", "neg"] * 20
    for name, predicted in (("good", truth), ("bad", ["neg"] * 40)):
        run = make_run(tmp_path / name, rate=1e-5 if name == "good" else 2e-5)
        run.plan.write_text(f"{run.plan.read_text()}metrics: [own_score:Own]\n")
        finish(run)
        predict(run, predicted, truth)
    good, bad = tmp_path / "good", tmp_path / "bad"
    with pytest.raises(UntrustedCode, match="--trust-code"):
        compare([good, bad])
    [verdict] = compare([good, bad], trust_code=True).verdicts
    assert verdict.better == "good"
    assert check(good, no_worse_than=[bad], trust_code=True).is_passed
    assert not check(bad, no_worse_than=[good], trust_code=True).is_passed
