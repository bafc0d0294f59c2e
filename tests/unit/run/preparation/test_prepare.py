"""What does not fit the data is refused as soon as the labels are known: before a model is opened or a row encoded."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from burnish.config import load
from burnish.errors import CheckpointError, ConfigError
from burnish.run.preparation.inputs import TrainedOn, trained_on
from burnish.run.preparation.prepare import prepare
from burnish.run.record.directory import RunDirectory, read_json, write_json
from burnish.spec.parts import profile_from_json
from burnish.storage.checkpoints import Checkpoint

CONFIG = """
task: text_classification
data: {train: train.csv, validation: validation.csv, test: test.csv}
model: nowhere
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(CONFIG)
    write("train", "validation", "test", labels=("a", "b", "c"))
    return tmp_path


def write(*splits: str, labels: tuple[str, ...]) -> None:
    rows = "".join(f"text {split} {number},{label}\n" for split in splits for number, label in enumerate(labels))
    for split in splits:
        Path(f"{split}.csv").write_text(f"text,label\n{rows}")


def refusal(*overrides: str) -> str:
    experiment = load("mine.yaml", overrides=overrides).experiment
    with pytest.raises(ConfigError) as refused:
        prepare(experiment, tell=pytest.fail)
    return str(refused.value)


def test_every_option_that_does_not_fit_the_labels_is_told(project: Path) -> None:
    metrics = "metrics=[{type: f1, positive: nix}, {type: precision, average: binary}, mse, confusion]"
    told = refusal(metrics, "train.select=true_positives", "task.class_weights={d: 2}")
    assert told.startswith("the experiment has 5 problems")
    assert "metrics.f1.positive is 'nix', which is not one of the labels a, b, c" in told
    assert "metrics: precision does not score multiclass labels; these do: accuracy, f1" in told
    assert "metrics: mse does not score multiclass labels" in told
    assert "train.select.score must be one of true_positives_a, false_positives_a" in told
    assert "task.class_weights names d, and the labels are a, b, c" in told


@pytest.mark.parametrize(("has_checkpoint", "is_scaled"), [(True, False), (False, True)])
def test_a_run_that_began_without_scaling_its_target_goes_on_so(
    project: Path, has_checkpoint: bool, is_scaled: bool
) -> None:
    write("train", "validation", "test", labels=("1000.5", "1200.25", "1500"))
    run = RunDirectory(Path("run"))
    checkpoint = Checkpoint(run.checkpoints / "step-00000004", 4) if has_checkpoint else None
    (checkpoint.path if checkpoint else run.path).mkdir(parents=True)
    write_json(run.profile, {"kind": "regression", "labels": [], "facts": {"mean": 1233.6}})
    experiment = load("mine.yaml").experiment
    known = trained_on(checkpoint, run, is_accepted=False, tell=pytest.fail)
    with pytest.raises(ConfigError, match="nowhere"):
        prepare(experiment, run, tell=pytest.fail, trained_on=known)
    profile = profile_from_json(read_json(run.profile))
    assert ("target" in profile.facts) == is_scaled
    assert experiment.task.metrics(profile)[0].names() == (("r2",) if is_scaled else ("pearson",))


def test_a_score_of_another_kind_cannot_select(project: Path) -> None:
    assert "train.select.score must be one of accuracy, f1, matthews" in refusal("train.select=pearson")


def test_changed_data_of_all_tasks_is_reported_at_once(project: Path) -> None:
    config = (
        "task: {type: multi, tasks: {mood: {type: text_classification}, topic: {type: text_classification}}}\n"
        "data: {type: several, sets: {mood: {train: train.csv, validation: validation.csv}, topic: test.csv}}\n"
        "model: nowhere\n"
    )
    (project / "mine.yaml").write_text(config)
    told: list[str] = []
    known = TrainedOn(
        {"mood/train.csv": "old", "mood/validation.csv": "old", "topic/test.csv": "old"}, on_change=refuse_with(told)
    )
    with pytest.raises(CheckpointError):
        prepare(load("mine.yaml").experiment, RunDirectory(Path("run")), tell=told.append, trained_on=known)
    assert [each.partition(" ")[0] for each in told] == ["mood/train.csv", "mood/validation.csv", "topic/test.csv"]


def refuse_with(told: list[str]) -> Callable[[Sequence[str]], None]:
    def refuse(changes: Sequence[str]) -> None:
        told.extend(changes)
        raise CheckpointError("the data changed")

    return refuse
