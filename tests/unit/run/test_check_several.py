"""What does not fit together in an experiment of several tasks is found at once, each with where it came from."""

from pathlib import Path

import pytest

from burnish.commands.config import check
from burnish.errors import ConfigError
from burnish.spec.parts import divide_tasks

CONFIG = """\
task:
  type: multi
  tasks:
    mood: {type: text_classification, kind: binary, max_length: 32}
    stars: {type: text_classification, kind: regression, max_length: 32}
data:
  type: several
  sets:
    mood: mood.csv
    stars: stars.csv
"""


def written(model: Path) -> str:
    config = model.parent / "mine.yaml"
    config.write_text(f"{CONFIG}model: {model}\n")
    return str(config)


def refusal(model: Path, *overrides: str) -> str:
    with pytest.raises(ConfigError) as refused:
        check(written(model), overrides=overrides)
    return str(refused.value)


def test_each_task_becomes_an_ordinary_experiment(model: Path) -> None:
    overrides = ["train.select=stars/spearman", "task.scores.mood=[f1]", "train.batch=4"]
    parts = divide_tasks(check(written(model), overrides=overrides).experiment)
    assert [part.task.kind for part in parts.values()] == ["binary", "regression"]  # type: ignore[attr-defined]
    assert [part.data.train for part in parts.values()] == [("mood.csv",), ("stars.csv",)]  # type: ignore[attr-defined]
    assert [part.train.select.score for part in parts.values()] == [None, "spearman"]
    assert [metric.names() for metric in parts["mood"].metrics or ()] == [("f1",)]
    assert parts["stars"].metrics is None
    assert {part.train.batch.examples for part in parts.values()} == {4}


def test_tasks_without_rows_and_rows_without_a_task(model: Path) -> None:
    text = refusal(model, "task.tasks.moods={type: text_classification}", "data.sets.questions=q.csv")
    assert "the experiment has 2 problems" in text
    assert "task.tasks.moods has no rows: data.sets has mood, stars, questions" in text
    assert "set by task.tasks.moods={type: text_classification} on the command line" in text
    assert "data.sets.questions belongs to no task: task.tasks has mood, stars, moods" in text


def test_several_tasks_need_several_sets_and_the_other_way_round(model: Path) -> None:
    assert "data must be of type several to learn several tasks" in refusal(model, "data={type: files, train: x.csv}")
    assert "data has several sets, which need the task multi" in refusal(model, "task={type: text_classification}")


def test_a_task_that_cannot_share_its_encoder(model: Path) -> None:
    text = refusal(model, "task.tasks.mood={type: replaced_tokens}")
    assert "task.tasks.mood needs replaced_tokens, which cannot share its encoder with other tasks; those with" in text
    assert "sequence_classification, pooled_classification, token_classification, question_answering, " in text


def test_a_first_score_that_falls_has_no_mean_with_others(model: Path) -> None:
    words = "task.tasks.mood={type: masked_lm, max_length: 32}"
    text = refusal(model, words, "task.scores.stars=[rmse, pearson]")
    assert "the experiment has 2 problems" in text
    assert "task.scores.mood: its first score, perplexity, is better when it is lower" in text
    assert "begin task.scores.mood with a score that rises, like [guess_accuracy, perplexity]" in text
    assert f"set by {words} on the command line" in text
    assert "begin task.scores.stars with a score that rises, like [r2, rmse]" in text
    assert "set by task.scores.stars=[rmse, pearson] on the command line" in text
    check(written(model), overrides=[words, "task.scores.mood=[guess_accuracy, perplexity]"])


def test_a_model_that_has_no_heads_for_several(model: Path) -> None:
    assert "model: linear reads tables; multi needs a transformer" in refusal(model, "model={type: linear}")


def test_every_task_is_held_against_the_tokens_that_the_model_reads(model: Path) -> None:
    text = refusal(model, "task.tasks.mood.max_length=65", "task.tasks.stars.max_length=99")
    assert "task.tasks.mood.max_length must be at most 64, the positions of the model, got 65" in text
    assert "task.tasks.stars.max_length must be at most 64" in text
    assert "set by task.tasks.stars.max_length=99 on the command line" in text


def test_metrics_belong_to_tasks(model: Path) -> None:
    assert "metrics: each of several tasks has its own scores; name them in task.scores" in refusal(model, "metrics=f1")
    text = refusal(model, "task.scores.stars=[pearson, accuracy]")
    assert "task.scores.stars: accuracy does not score regression labels; these do: r2, rmse" in text


def test_a_selection_by_a_score_that_nothing_gives(model: Path) -> None:
    text = refusal(model, "train.select=accuracy")
    assert "train.select.score must be one of mean, mood/accuracy, mood/f1" in text
    assert "stars/pearson" in text
    assert "direction must be max to select by mean" in refusal(model, "train.select={score: mean, direction: min}")


def test_a_selection_by_the_loss_needs_that_of_every_task(model: Path) -> None:
    check(written(model), overrides=["train.select=loss"])
    text = refusal(model, "train.select=loss", "task.scores={mood: [f1], stars: [pearson]}")
    assert "stars/pearson, got 'loss'; for `loss`, task.scores.mood and task.scores.stars must have log_loss, " in text
    assert "must be min to select by loss" in refusal(model, "train.select={score: loss, direction: max}")


def test_annealing_by_the_clock_needs_a_number_of_epochs(model: Path) -> None:
    overrides = ["task.sampling=annealed", "train.length=5 minutes"]
    assert "task.sampling.epochs is needed when train.length is in minutes" in refusal(model, *overrides)
    check(written(model), overrides=[*overrides, "task.sampling={kind: annealed, epochs: 3}"])
    check(written(model), overrides=["task.sampling=uniform", "train.length=5 minutes"])
