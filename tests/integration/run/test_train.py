"""From a config to an artifact that predicts, with real processes."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from burnish.artifact.predictor import Predictor
from burnish.commands.evaluate import Evaluation, evaluate, evaluate_checkpoint, watch
from burnish.commands.predict import predict, predict_file
from burnish.commands.train import resume, train
from burnish.config import load
from burnish.errors import CheckpointError, ConfigError, DataError, ServeError
from burnish.run.record.directory import RunDirectory
from burnish.spec.events import Evaluated, Event, Noted, Started, Stepped
from burnish.storage import manifest
from tests.project import Project, make_project

NO_PARTS = "data.split={validation: null, test: null}"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Project:
    return make_project(tmp_path_factory.mktemp("project"), model=tiny_bert)


@pytest.fixture(scope="module")
def finished(project: Project) -> Path:
    """A run that went through without trouble."""
    train(str(project.config), directory=project.run("finished"))
    return project.run("finished")


def test_a_run_leaves_every_file_it_promises(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    wanted = {"plan.yaml", "profile.json", "events.jsonl", "checkpoints", "scores.json", "artifact", "exit.json"}
    assert wanted | {"predictions", "report.html"} <= names
    assert "lock.json" not in names
    assert json.loads((finished / "exit.json").read_text())["reason"] == "finished"


def test_it_learns_and_beats_the_majority(finished: Path) -> None:
    result = resume(finished)
    score = result.scores["test"]["accuracy"]
    assert score.low is not None
    assert score.value > 0.8
    assert result.baselines["majority"]["accuracy"].value < score.value


def test_the_plan_loads_back_to_the_same_experiment(project: Project, finished: Path) -> None:
    assert load(str(finished / "plan.yaml")).experiment == load(str(project.config)).experiment


def test_the_same_experiment_again_only_reads_the_result(project: Project, finished: Path) -> None:
    events: list[Event] = []
    again = train(str(project.config), directory=finished, watch=events.append)
    assert again.reason == "finished"
    assert not any(isinstance(event, Stepped) for event in events)


def test_another_experiment_in_the_same_directory_is_refused_with_the_difference(
    project: Project, finished: Path
) -> None:
    with pytest.raises(ConfigError, match=r"optimizer.learning_rate 0.003 → 0.5 \(set by .* on the command line\)"):
        train(str(project.config), directory=finished, overrides=["optimizer.learning_rate=0.5"])


def test_a_folder_with_other_files_is_left_alone(project: Project, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(CheckpointError, match="holds files but no run"):
        train(str(project.config), directory=tmp_path)
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_predictions_of_the_artifact_are_those_of_training(finished: Path, project: Project) -> None:
    told = pq.read_table(finished / "predictions" / "test.parquet").to_pylist()
    rows = [{"text": row["text"]} for row in told]
    given = predict(str(finished), rows)
    assert [each.label for each in given] == [row["predicted"] for row in told]
    assert [each.confidence for each in given] == pytest.approx([row["confidence"] for row in told], abs=1e-6)


def test_predictions_tell_where_their_rows_stand(finished: Path, project: Project) -> None:
    with project.data.open(newline="") as stream:
        source = [row["text"] for row in csv.DictReader(stream)]
    told = pq.read_table(finished / "predictions" / "test.parquet").to_pylist()
    assert {row["file"] for row in told} == {project.data.name}
    assert [source[row["file_row"] - 1] for row in told] == [row["text"] for row in told]


def test_a_file_is_predicted_row_by_row_beside_its_own_columns(
    finished: Path, project: Project, tmp_path: Path
) -> None:
    for suffix in (".parquet", ".csv", ".jsonl"):
        out = tmp_path / f"out{suffix}"
        assert predict_file(str(finished), source=str(project.data), out=out).table.num_rows == 352
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column_names[:3] == ["text", "label", "predicted"]
    assert (tmp_path / "out.csv").read_text().startswith("text,label,predicted,confidence,probability_neg")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 352


def test_evaluating_the_artifact_gives_the_digits_of_the_run(finished: Path) -> None:
    assert evaluate(str(finished)) == Evaluation("test", resume(finished).scores["test"])


def test_a_file_can_be_scored(finished: Path, project: Project) -> None:
    assert evaluate(str(finished), data=str(project.data)).scores["accuracy"].value > 0.8


def test_a_split_that_is_not_there_is_refused(finished: Path) -> None:
    with pytest.raises(DataError, match="has no dev split; it has train, validation, test"):
        evaluate(str(finished), split="dev")


def copy_of(artifact: Path, to: Path) -> Path:
    subprocess.run(["cp", "-r", artifact, to], check=True)
    return to


def test_an_artifact_with_a_changed_file_is_refused(finished: Path, tmp_path: Path) -> None:
    copied = copy_of(finished / "artifact", tmp_path / "artifact")
    path = copied / "model" / "tokenizer.json"
    path.write_text(path.read_text().replace("good", "doog"))
    with pytest.raises(CheckpointError, match=r"model/tokenizer.json was changed"):
        Predictor.load(copied)


def test_an_artifact_that_answers_otherwise_is_refused_even_when_its_manifest_agrees(
    finished: Path, tmp_path: Path
) -> None:
    copied = copy_of(finished / "artifact", tmp_path / "artifact")
    path = copied / "experiment.yaml"
    path.write_text(path.read_text().replace("max_length: 24", "max_length: 6"))
    manifest.commit(copied, {"format": 1})
    with pytest.raises(ServeError, match="does not predict as it did"):
        Predictor.load(copied)


def test_rows_without_the_text_column_are_refused(finished: Path) -> None:
    with pytest.raises(DataError, match="the rows have no text; they have body"):
        predict(str(finished), [{"body": "x"}])


def test_bad_rows_end_the_run_with_their_lines(project: Project) -> None:
    path = project.root / "bad.csv"
    path.write_text("text,label\n" + "good film,pos\nbad film,neg\n" * 20 + ",pos\nfilm,maybe so,\n")
    overrides = [f"data.train={path}", "data.split={validation: 4}"]
    with pytest.raises(DataError, match=r"bad.csv:4[23]"):
        train(str(project.config), directory=project.run("bad"), overrides=overrides)
    (project.root / "worse.csv").write_text("text,label\ngood film,pos\nfilm,mabye\n")
    (project.root / "worst.csv").write_text("text,label\n ,neg\n")
    others = [f"data.validation={project.root}/worse.csv", f"data.test={project.root}/worst.csv", NO_PARTS]
    with pytest.raises(DataError, match=r"(?s)worse.csv:3: label 'mabye' is not one of neg, pos.*worst.csv:2: text is"):
        train(str(project.config), directory=project.run("bad"), overrides=others)
    assert not project.run("bad").exists()
    mended = train(str(project.config), directory=project.run("bad"), overrides=["train.length=1 step"])
    assert mended.reason == "finished"


def test_noise_that_an_earlier_version_drew_otherwise_is_told_when_a_run_goes_on(project: Project) -> None:
    run = project.run("older")

    def stop(event: Event) -> None:
        if isinstance(event, Stepped) and event.step == 3:
            (run / "STOP").touch()

    assert train(str(project.config), directory=run, watch=stop).reason == "stop_file"
    newest = max((run / "checkpoints").glob("step-*"))
    state = json.loads((newest / "state.json").read_text())
    assert state.pop("noise") == "by example"
    (newest / "state.json").write_text(json.dumps(state))
    manifest.commit(newest, {"format": 1, "step": state["train"]["position"]["step"]})
    events: list[Event] = []
    resume(run, watch=events.append)
    told = [event.message for event in events if isinstance(event, Noted)]
    assert sum("drew dropout for processes and not for examples" in sentence for sentence in told) == 1


def test_sigterm_saves_exits_with_75_and_resume_ends_with_the_bits_of_a_run_never_stopped(
    project: Project, finished: Path
) -> None:
    run = project.run("stopped")
    process = start(project, run)
    wait_for_step(run, 3)
    os.kill(worker_of(run), signal.SIGTERM)
    assert process.wait(timeout=60) == 75
    assert json.loads((run / "exit.json").read_text())["reason"] == "preempted"
    assert resume(run).reason == "finished"
    assert digests(run) == digests(finished)
    assert steps_of(run) == steps_of(finished)


def test_a_second_process_is_refused(project: Project) -> None:
    run = project.run("twice")
    process = start(project, run, "train.length=2000 steps")
    try:
        wait_for_step(run, 1)
        second = start(project, run, "train.length=2000 steps")
        assert second.wait(timeout=60) == 5
        assert "is being trained by process" in second.stderr.read()  # type: ignore[union-attr]
        (run / "STOP").touch()
        assert process.wait(timeout=60) == 75
        assert json.loads((run / "exit.json").read_text())["reason"] == "stop_file"
    finally:
        process.kill()


def test_when_the_parent_dies_the_worker_saves_and_stops(project: Project) -> None:
    run = project.run("orphan")
    process = start(project, run, "train.length=2000 steps")
    wait_for_step(run, 1)
    process.kill()
    process.wait()
    process.stdout.close()  # type: ignore[union-attr]
    wait_until(lambda: RunDirectory(run).status() == "preempted")
    assert json.loads((run / "exit.json").read_text())["reason"] == "orphaned"


def test_a_damaged_checkpoint_is_put_aside_and_the_one_before_is_used(project: Project, finished: Path) -> None:
    run = project.run("damaged")
    options = ["train.checkpoint_every=2 steps", "train.keep=5"]
    train(str(project.config), directory=run, overrides=[*options, "train.max_minutes=0.0001"])
    process = start(project, run, *options, "train.max_minutes=0.0001")
    process.wait(timeout=60)
    steps = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert steps
    weights = run / "checkpoints" / steps[-1] / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(content)
    events: list[Event] = []
    if len(steps) > 1:
        resume(run, watch=events.append)
        assert any(isinstance(event, Noted) and f"{steps[-1]} is damaged" in event.message for event in events)
    else:
        with pytest.raises(CheckpointError, match="none of the 1 checkpoints"):
            resume(run, watch=events.append)


def test_watching_scores_every_checkpoint_that_is_left(project: Project, finished: Path) -> None:
    seen: list[Evaluated] = []
    watch(finished, split="test", emit=seen.append)
    kept = json.loads((finished / "watched" / "test.json").read_text())
    assert kept == {str(each.step): dict(each.scores) for each in seen}
    assert [each.step for each in seen] == sorted({each.step for each in seen})
    assert seen[-1].scores["accuracy"] > 0.5


def test_a_checkpoint_is_scored_as_the_artifact_of_its_step(project: Project, finished: Path, tmp_path: Path) -> None:
    unfinished = tmp_path / "unfinished"
    shutil.copytree(finished, unfinished, ignore=shutil.ignore_patterns("artifact"))
    with pytest.raises(CheckpointError, match=r"score what it has with `burnish evaluate .* --checkpoint last`"):
        evaluate(str(unfinished))
    events = map(json.loads, (unfinished / "events.jsonl").read_text().splitlines())
    best = [event["step"] for event in events if event["event"] == "evaluated" and event["is_best"]][-1]
    found = evaluate_checkpoint(unfinished, which=best)
    assert (found.step, found.split, found.scores) == (best, "test", evaluate(str(finished)).scores)
    assert found.scores["accuracy"].low is not None
    assert evaluate_checkpoint(unfinished, which="best").step == best
    newest = evaluate_checkpoint(unfinished, split="validation")
    assert (newest.step, newest.split) == (resume(finished).step, "validation")
    with pytest.raises(CheckpointError, match=r"has no checkpoint of step 999999; it has those of steps \d+"):
        evaluate_checkpoint(finished, which=999999)


def test_the_second_run_finds_its_features_in_the_cache(project: Project, finished: Path) -> None:
    events: list[Event] = []
    train(str(project.config), directory=project.run("cached"), watch=events.append)
    assert not any(isinstance(event, Noted) and "encoding" in event.message for event in events)
    assert sum(isinstance(event, Started) for event in events) == 1
    assert digests(project.run("cached")) == digests(finished)


def start(project: Project, run: Path, *overrides: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "burnish", "train", str(project.config), *overrides, "--dir", str(run), "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def worker_of(run: Path) -> int:
    return int(json.loads((run / "lock.json").read_text())["pid"])


def wait_for_step(run: Path, step: int) -> None:
    wait_until(lambda: (run / "events.jsonl").exists() and f'"stepped", "step": {step},' in read(run / "events.jsonl"))


def wait_until(is_so: "object", seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def read(path: Path) -> str:
    return path.read_text(errors="replace")


def digests(run: Path) -> dict[str, str]:
    last = max((run / "checkpoints").iterdir())
    files = json.loads((last / "MANIFEST.json").read_text())["files"]
    return {name: each["sha256"] for name, each in files.items() if name.endswith(".safetensors")}


def steps_of(run: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    kept = [line for line in lines if line["event"] in ("stepped", "evaluated")]
    return [{key: value for key, value in line.items() if key not in ("time", "attempt")} for line in kept]


def test_nobody_waits_for_ever_for_a_run_that_never_comes(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no checkpoint appeared in .*never for 0 minutes"):
        watch(tmp_path / "never", timeout_minutes=0, emit=lambda event: None)


def test_the_start_is_scored_and_the_first_steps_are_profiled(project: Project) -> None:
    events: list[Event] = []
    asked = ["train.length=4 steps", "train.evaluate_at_start=true", "runtime.profile=2 steps"]
    run = project.run("{name}-at-{time}")
    result = train(
        str(project.config),
        directory=run,
        overrides=[*asked, "train.evaluation_batch={tokens: 200}"],
        watch=events.append,
    )
    assert result.directory.name.startswith("experiment-at-20")
    evaluated = [event for event in events if isinstance(event, Evaluated) and event.split == "validation"]
    assert [(event.step, event.is_best) for event in evaluated] == [(0, False), (4, True)]
    table = (result.directory / "profile" / "table.txt").read_text()
    assert "aten::addmm" in table
    names = {
        each.get("name")
        for each in json.loads((result.directory / "profile" / "trace.json").read_text())["traceEvents"]
    }
    assert "aten::addmm" in names
