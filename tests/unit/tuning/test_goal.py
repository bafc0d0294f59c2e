"""What `tune.metric: validation/loss` means for each task, and what is refused."""

from pathlib import Path

import pytest

from burnish.config import load
from burnish.tuning.goal import read_goal, score_loss

TABLE = "model: linear\ntask: {type: tabular, target: y, kind: "
TEXT = "model: none\ntask: {type: "
TELLS = {
    "classes": (f"{TABLE}binary}}", "log_loss"),
    "numbers": (f"{TABLE}regression}}", "rmse"),
    "counts": (f"{TABLE}regression, loss: poisson}}", "poisson_deviance"),
    "metrics of one's own": (f"{TABLE}regression}}\nmetrics: [r2, poisson_deviance, mse]", "mse"),
    "numbers of texts": (f"{TEXT}text_classification, kind: regression}}", "mse"),
    "label sets": (f"{TEXT}text_classification, kind: multilabel}}", "log_loss"),
    "translations": (f"{TEXT}seq2seq}}", "perplexity"),
    "language models": (f"{TEXT}causal_lm}}", "perplexity"),
    "tags": (f"{TEXT}token_classification}}", "log_loss"),
    "answers": (f"{TEXT}question_answering}}", "log_loss"),
    "choices": (f"{TEXT}multiple_choice}}", "log_loss"),
    "passages": (f"{TEXT}retrieval}}", "log_loss"),
}
TELLS_NOT = {
    "answers found by a beam": (f"{TEXT}question_answering, search: beam}}", "f1, exact_match"),
    "metrics of one's own": (f"{TABLE}binary}}\nmetrics: [accuracy]", "accuracy"),
    "an error that is not minimised": (f"{TABLE}regression, loss: gamma}}\nmetrics: [rmse]", "rmse"),
}


@pytest.mark.parametrize("name", TELLS)
def test_the_loss_is_the_score_that_tells_what_training_minimises(tmp_path: Path, name: str) -> None:
    text, score = TELLS[name]
    (tmp_path / "experiment.yaml").write_text(f"data: data.csv\n{text}\n")
    # By which score its checkpoints are selected is another matter.
    experiment = load(str(tmp_path / "experiment.yaml")).experiment
    goal, problem = read_goal("validation/loss", experiment)
    assert problem is None
    others = dict.fromkeys(("accuracy", "f1", "r2", "mae", "bleu", "guess_accuracy"), 1.0)
    assert goal.name_in({**others, score: 0.5}, None) == score  # type: ignore[arg-type]  # no run is looked at
    assert score in goal.falling


def test_a_metric_that_is_misspelt_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").write_text(f"data: data.csv\n{TELLS['classes'][0]}\n")
    _, problem = read_goal("validation/los", load(str(tmp_path / "experiment.yaml")).experiment)
    assert problem is not None
    assert problem.endswith("or loss, on validation, got 'los'. Did you mean `validation/loss`?")


@pytest.mark.parametrize("name", TELLS_NOT)
def test_a_loss_that_no_score_tells_is_refused_with_those_there_are(tmp_path: Path, name: str) -> None:
    text, scores = TELLS_NOT[name]
    (tmp_path / "experiment.yaml").write_text(f"data: data.csv\n{text}\n")
    _, problem = read_goal("loss", load(str(tmp_path / "experiment.yaml")).experiment)
    assert problem is not None
    assert problem.startswith(f"tune.metric must be one of {scores}")
    assert problem.endswith("on validation, got 'loss'. None of these is the loss.")


def test_a_study_that_looks_for_the_loss_scores_it_where_the_experiment_does_not(tmp_path: Path) -> None:
    for name, text, told in (
        ("classes", f"{TABLE}binary}}\nmetrics: [accuracy]", "log_loss"),
        ("numbers", f"{TEXT}text_classification, kind: auto}}\nmetrics: [pearson]", "rmse"),
        ("quantiles", f"{TABLE}regression, loss: quantile, quantile: 0.9}}\nmetrics: [mae]", "pinball"),
        ("answers", f"{TEXT}question_answering}}\nmetrics: [exact_match]", "log_loss"),
    ):
        (tmp_path / "data.csv").write_text("text,y\na,1\nb,2\n")
        (tmp_path / "experiment.yaml").write_text(f"data: data.csv\n{text}\n")
        experiment = load(str(tmp_path / "experiment.yaml")).experiment
        assert [each["type"] for each in score_loss("validation/loss", experiment)][1:] == [told], name
        assert score_loss("validation/accuracy", experiment) == []


def test_nothing_is_added_where_the_loss_is_scored_or_cannot_be(tmp_path: Path) -> None:
    for text in (f"{TABLE}binary}}\nmetrics: [log_loss]", f"{TABLE}binary}}", TELLS_NOT["answers found by a beam"][0]):
        (tmp_path / "experiment.yaml").write_text(f"data: data.csv\n{text}\n")
        assert score_loss("loss", load(str(tmp_path / "experiment.yaml")).experiment) == []
