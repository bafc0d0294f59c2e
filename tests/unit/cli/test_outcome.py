"""What a finished run proposes to try next fits what it learned."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.cli.outcome import _advise, _suggest_commands, headline_table
from burnish.commands.config import check
from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import EventsFile
from burnish.run.record.plan import settle_plan
from burnish.run.record.result import RunResult, ScoreSheet, sheet_of
from burnish.spec.events import Ended, Started
from burnish.spec.values import Score

SECTIONS = {
    "text_classification": "task: {type: text_classification}",
    "question_answering": "task: {type: question_answering}",
    "multiple_choice": "task: {type: multiple_choice, context: talk}",
}


@pytest.mark.parametrize(
    ("task", "asked"),
    [
        ("text_classification", '--text "…"'),
        ("question_answering", """--row '{"question": "…", "context": "…"}'"""),
        ("multiple_choice", """--row '{"talk": "…", "choices": "…"}'"""),
    ],
)
def test_a_model_is_asked_by_the_columns_that_it_reads(tmp_path: Path, task: str, asked: str) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(f"{SECTIONS[task]}\ndata: {{train: rows.jsonl}}\nmodel: bert-base-uncased\n")
    assert f"  burnish predict {tmp_path / 'run'} {asked}" in _suggest_commands(_finished(tmp_path / "run", path))


def test_a_row_is_shown_as_the_artifact_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(f"{SECTIONS['multiple_choice']}\ndata: {{train: rows.jsonl}}\nmodel: bert-base-uncased\n")
    result = _finished(tmp_path / "run", path)
    (tmp_path / "run" / "artifact").mkdir()
    golden = {"rows": [{"talk": "of it", "choices": ["a", "b"]}], "outputs": []}
    (tmp_path / "run" / "artifact" / "golden.json").write_text(json.dumps(golden))
    asked = """--row '{"talk": "…", "choices": ["…", "…"]}'"""
    assert f"  burnish predict {tmp_path / 'run'} {asked}" in _suggest_commands(result)


def test_a_table_is_asked_by_two_of_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text("task: {type: tabular, target: price}\ndata: {train: rows.csv}\nmodel: linear\n")
    result = _finished(tmp_path / "run", path)
    (tmp_path / "run" / "profile.json").write_text(json.dumps({"kind": "regression", "inputs": ["a", "b", "c"]}))
    assert f"  burnish predict {tmp_path / 'run'} new.csv --out predictions.csv" in _suggest_commands(result)


def test_of_several_tasks_the_first_is_asked_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "experiment.yaml"
    tasks = "{asked: {type: question_answering}, mood: {type: text_classification}}"
    sets = "{asked: {train: asked.json}, mood: {train: mood.csv}}"
    path.write_text(
        f"task: {{type: multi, tasks: {tasks}}}\ndata: {{type: several, sets: {sets}}}\nmodel: bert-base-uncased\n"
    )
    result = _finished(tmp_path / "run", path)
    profile = {"kind": "several", "facts": {"tasks": {"asked": {"kind": "spans"}, "mood": {"kind": "binary"}}}}
    (tmp_path / "run" / "profile.json").write_text(json.dumps(profile))
    row = """--row '{"question": "…", "context": "…"}'"""
    assert f"  burnish predict {tmp_path / 'run'} --task asked {row}" in _suggest_commands(result)


def test_a_baseline_without_the_headline_score_says_why() -> None:
    scores = {"test": {"pearson": Score(0.5, 0.4, 0.6)}}
    baselines = {
        "mean": {"pearson": Score(math.nan, why="every row gets the same answer")},
        "tfidf_ridge": {"pearson": Score(0.3, 0.2, 0.4)},
    }
    assert headline_table(ScoreSheet("pearson", scores, baselines)).rows == (
        ("this run", "0.5000", "0.4000 to 0.6000"),
        ("mean", "\N{EN DASH}", "not defined: every row gets the same answer"),
        ("tfidf_ridge", "0.3000", "0.2000 to 0.4000"),
    )


def _finished(directory: Path, path: Path) -> RunResult:
    settle_plan(RunDirectory(directory), check(str(path)))
    return RunResult(
        directory=directory,
        reason="finished",
        step=1,
        scores={},
        baselines={},
        headline="accuracy",
        artifact=directory / "artifact",
        report=None,
        seconds=1.0,
    )


@pytest.mark.parametrize(
    ("baselines", "is_lower_better", "said"),
    [
        ({"majority": 0.6, "boosted_trees": 0.95}, False, "boosted_trees is better by 0.0500 on test"),
        ({"mean": 0.95, "ridge": 0.7}, True, "ridge is better by 0.2000 on test"),
    ],
)
def test_a_baseline_that_is_better_is_named_with_what_to_type(
    baselines: dict[str, float], is_lower_better: bool, said: str
) -> None:
    result = _scored(baselines, is_lower_better=is_lower_better)
    head, command, _ = _advise(result, sheet_of(result))
    assert said in head
    assert command.startswith("  burnish train runs/a/plan.yaml ")


def test_what_is_advised_goes_to_a_directory_that_is_free(tmp_path: Path) -> None:
    for name in ("a", "a-2"):
        (tmp_path / name).mkdir()
    result = replace(_scored({"ridge": 0.95}, is_lower_better=False), directory=tmp_path / "a")
    _, command, _ = _advise(result, sheet_of(result))
    assert command.endswith(f" --dir {tmp_path / 'a-3'}")


def table_run(tmp_path: Path, model: str) -> Path:
    path = tmp_path / "table.yaml"
    path.write_text(f"task: {{type: tabular, target: price}}\ndata: {{train: rows.csv}}\nmodel: {model}\n")
    settle_plan(RunDirectory(tmp_path / model), check(str(path)))
    return tmp_path / model


@pytest.mark.parametrize("name", ["ridge", "logistic", "log_linear"])
def test_a_linear_baseline_names_the_linear_model_at_its_own_rate(tmp_path: Path, name: str) -> None:
    result = replace(_scored({name: 0.7}, is_lower_better=True), directory=table_run(tmp_path, "tab_m"))
    _, command, _ = _advise(result, sheet_of(result))
    typed = command.partition("plan.yaml ")[2].partition(" --dir")[0]
    assert typed == "model=linear optimizer.type=adamw optimizer.learning_rate=auto"
    check(str(tmp_path / "tab_m" / "plan.yaml"), overrides=typed.split())


def test_a_linear_run_is_advised_to_be_longer_and_not_to_be_linear(tmp_path: Path) -> None:
    result = replace(_scored({"ridge": 0.7}, is_lower_better=True), directory=table_run(tmp_path, "linear"))
    head, command, _ = _advise(result, sheet_of(result))
    assert "this run may be too short" in head
    assert "train.length='90 epochs'" in command


def test_a_run_of_automatic_length_is_lengthened_by_its_steps(tmp_path: Path) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text("task: text_classification\ndata: {train: a.csv}\n")
    settle_plan(RunDirectory(tmp_path / "run"), check(str(path)))
    result = replace(_scored({"tfidf_logistic": 0.91}, is_lower_better=False), directory=tmp_path / "run")
    head, command, _ = _advise(result, sheet_of(result))
    assert head.endswith("this run may be too short (40 steps). Try")
    assert "train.length='120 steps' --dir" in command


@pytest.mark.parametrize(
    ("rate", "said", "typed"),
    [
        ("2e-5", "too short (40 steps) or its learning rate too low", "'9 epochs' optimizer.learning_rate=0.0001"),
        ("1e-3", "too short (40 steps). Try", "'9 epochs' --dir"),
    ],
)
def test_a_short_run_is_advised_to_be_longer(tmp_path: Path, rate: str, said: str, typed: str) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(
        f"task: text_classification\ndata: {{train: a.csv}}\nmodel: a\noptimizer: {{learning_rate: {rate}}}\n"
        "train: {length: 3 epochs}\n"
    )
    settle_plan(RunDirectory(tmp_path / "run"), check(str(path)))
    result = replace(_scored({"tfidf_logistic": 0.91}, is_lower_better=False), directory=tmp_path / "run")
    head, command, _ = _advise(result, sheet_of(result))
    assert said in head
    assert typed in command


@pytest.mark.parametrize(
    ("rate", "best_step", "said", "typed"),
    [
        ("1e-3", 40, "too short (40 steps)", "train.length='9 epochs' --dir"),
        ("1e-3", 32, "too short (40 steps)", "train.length='9 epochs' --dir"),
        ("1e-3", None, "too short (40 steps)", "train.length='9 epochs' --dir"),
        ("1e-3", 10, "at step 10 of 40, and more training made it no better", "optimizer.learning_rate=0.0003 --dir"),
        ("auto", 10, "at step 10 of 40, and more training made it no better", "optimizer.learning_rate=6e-06 --dir"),
        ("auto", 39, "too short (40 steps)", "train.length='9 epochs' --dir"),
    ],
)
def test_only_a_run_that_was_best_towards_its_end_is_called_too_short(
    tmp_path: Path, rate: str, best_step: int | None, said: str, typed: str
) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(
        f"task: text_classification\ndata: {{train: a.csv}}\nmodel: a\noptimizer: {{learning_rate: {rate}}}\n"
        "train: {length: 3 epochs}\n"
    )
    run = RunDirectory(tmp_path / "run")
    settle_plan(run, check(str(path)))
    events = EventsFile(run.events)
    events.append(Started(0, 1, 40, {"learning_rate": 2e-5}), time=1.0, attempt=1)
    best_score = None if best_step is None else 0.9
    events.append(Ended(40, "finished", best_step, best_score, "accuracy"), time=2.0, attempt=1)
    events.close()
    result = replace(_scored({"tfidf_logistic": 0.91}, is_lower_better=False), directory=run.path)
    head, command, _ = _advise(result, sheet_of(result))
    assert said in head
    assert ("too short" in head) == ("too short" in said)
    assert typed in command


@pytest.mark.parametrize(("rate", "lower"), [("1e-3", " optimizer.learning_rate=0.0003"), ("auto", "")])
def test_a_run_that_stopped_early_is_not_called_too_short(tmp_path: Path, rate: str, lower: str) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(
        f"task: text_classification\ndata: {{train: a.csv}}\nmodel: a\noptimizer: {{learning_rate: {rate}}}\n"
        "train: {length: 3 epochs, evaluate_every: 5 steps, patience: 2}\n"
    )
    settle_plan(RunDirectory(tmp_path / "run"), check(str(path)))
    scored = _scored({"tfidf_logistic": 0.91}, is_lower_better=False)
    result = replace(scored, directory=tmp_path / "run", reason="early_stopping")
    head, command, _ = _advise(result, sheet_of(result))
    assert "this run stopped early, at step 40 with train.patience=2" in head
    assert f"train.patience=6{lower} --dir" in command


@pytest.mark.parametrize(("value", "is_lower_better"), [(0.9, False), (0.2, False), (0.9, True), (math.nan, False)])
def test_nothing_is_said_where_no_baseline_is_better(value: float, is_lower_better: bool) -> None:
    result = _scored({"majority": value}, is_lower_better=is_lower_better)
    assert _advise(result, sheet_of(result)) == []


def _scored(baselines: dict[str, float], *, is_lower_better: bool) -> RunResult:
    return RunResult(
        directory=Path("runs/a"),
        reason="finished",
        step=40,
        scores={"test": {"score": Score(0.9)}},
        baselines={name: {"score": Score(value)} for name, value in baselines.items()},
        headline="score",
        artifact=None,
        report=None,
        seconds=1.0,
        is_lower_better=is_lower_better,
    )
