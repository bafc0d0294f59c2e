"""What a finished run proposes to try next fits what it learned."""

import json
from pathlib import Path

import pytest

from burnish.cli.outcome import _next_commands
from burnish.commands.config import check
from burnish.run.directory import RunDirectory
from burnish.run.plan import settle_plan
from burnish.run.result import RunResult

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
    assert f"  burnish predict {tmp_path / 'run'} {asked}" in _next_commands(_finished(tmp_path / "run", path))


def test_a_table_is_asked_by_two_of_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text("task: {type: tabular, target: price}\ndata: {train: rows.csv}\nmodel: linear\n")
    result = _finished(tmp_path / "run", path)
    (tmp_path / "run" / "profile.json").write_text(json.dumps({"kind": "regression", "inputs": ["a", "b", "c"]}))
    assert f"""  burnish predict {tmp_path / "run"} --row '{{"a": null, "b": null}}'""" in _next_commands(result)


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
    assert f"  burnish predict {tmp_path / 'run'} --task asked {row}" in _next_commands(result)


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
