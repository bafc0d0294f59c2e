"""Several tasks above one encoder: each is learned as it would be alone, and everything that holds for one holds."""

import json
import shlex
import shutil
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from burnish.artifact.predictor import Predictor, load_all
from burnish.cli.main import run
from burnish.commands.config import check
from burnish.commands.evaluate import evaluate
from burnish.commands.train import train
from burnish.config import Resolved
from burnish.data.cache.features import open_cache
from burnish.dist.world import Solo
from burnish.engine.learner_torch import Learner
from burnish.errors import DataError, ServeError
from burnish.models.transformers.joint_torch import JointNetwork
from burnish.run.build import build_learner, build_stream
from burnish.run.preparation.prepare import feature_keys, prepare
from burnish.run.preparation.prepared_data import PreparedData
from burnish.run.record.result import RunResult
from burnish.spec.experiment import Experiment
from burnish.spec.parts import divide_tasks
from burnish.spec.values import RandomKey
from burnish.storage import manifest
from tests.faults.conftest import Tally, undisturbed
from tests.harness.faults import Fault
from tests.harness.fork_server import fork_server
from tests.integration.tasks.several import several

pytestmark = pytest.mark.usefixtures("quick_workers")

TASKS = ("mood", "alike", "tag")
DRAW = RandomKey(seed=0, epoch=0, is_training=True)


def prepared_of(experiment: Experiment, root: Path) -> PreparedData:
    return prepare(experiment)


def learner_of(experiment: Experiment, prepared: PreparedData) -> Learner:
    learner = build_learner(experiment, prepared, Solo())
    assert isinstance(learner, Learner)
    return learner


def config_of(resolved: Resolved) -> str:
    """Give the file that an experiment was read from."""
    return resolved.experiment.data.sets["mood"].train[0].replace("mood.csv", "several.yaml")  # type: ignore[attr-defined,no-any-return]  # a source of files


@pytest.fixture(scope="module")
def resolved(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Resolved:
    return several(tmp_path_factory.mktemp("several"), tiny_bert)


@pytest.fixture(scope="module")
def prepared(resolved: Resolved, tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    return prepared_of(resolved.experiment, tmp_path_factory.mktemp("prepared"))


@pytest.fixture(scope="module")
def result(resolved: Resolved, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """A run of two processes."""
    root = tmp_path_factory.mktemp("two")
    return train(config_of(resolved), directory=root / "run", processes=2)


@pytest.fixture
def learner(resolved: Resolved, prepared: PreparedData) -> Learner:
    return learner_of(resolved.experiment, prepared)


def batch_of(prepared: PreparedData, name: str, size: int = 8) -> Mapping[str, Any]:
    return prepared.parts[name].collate("train")(np.arange(size), DRAW)


def test_the_encoder_is_one_and_heads_are_apart(learner: Learner) -> None:
    network = learner.network
    assert isinstance(network, JointNetwork)
    names = [name for name, _ in network.named_parameters()]
    assert len({id(top.model.base_model) for top in network.heads.values()} | {id(network.model)}) == 1
    assert sum("embeddings.word_embeddings" in name for name in names) == 1
    assert {name.split(".")[1] for name in names if name.startswith("heads.")} == {f"task_{name}" for name in TASKS}
    assert sum("embeddings.word_embeddings" in name for name in network.state_dict()) == 1  # a checkpoint holds it once


@pytest.mark.parametrize("task", TASKS)
def test_a_task_moves_the_encoder_for_all_and_no_other_head(
    learner: Learner, prepared: PreparedData, task: str
) -> None:
    others = [name for name in TASKS if name != task]
    for number, name in enumerate(others):  # so that the optimizer remembers something of the other heads
        learner.step([batch_of(prepared, name)], step=number, factor=1.0)
    before = {name: tensor.clone() for name, tensor in learner.network.state_dict().items()}
    said = {name: learner.infer(batch_of(prepared, name)) for name in others}
    learner.step([batch_of(prepared, task)], step=2, factor=1.0)
    after = learner.network.state_dict()
    moved = {name for name, tensor in after.items() if not torch.equal(tensor, before[name])}
    assert {name.split(".")[1] for name in moved if name.startswith("heads.")} == {f"task_{task}"}
    assert any(name.startswith("model.encoder") for name in moved)
    assert all(not np.array_equal(learner.infer(batch_of(prepared, name)), said[name]) for name in others)


def test_a_weight_multiplies_the_loss_of_its_task_alone(resolved: Resolved, prepared: PreparedData) -> None:
    task = resolved.experiment.task.model_copy(update={"weights": {"tag": 3.0}})  # type: ignore[attr-defined]
    weighed = learner_of(resolved.experiment.model_copy(update={"task": task}), prepared)
    plain = learner_of(resolved.experiment, prepared)
    for name, factor in (("tag", 3.0), ("mood", 1.0)):
        losses = [each.step([batch_of(prepared, name)], step=0, factor=0.0).loss for each in (weighed, plain)]
        assert losses[0] == pytest.approx(factor * losses[1], rel=1e-5)


def test_batches_of_training_are_each_of_one_task_and_name_its_rows(resolved: Resolved, prepared: PreparedData) -> None:
    stream, collate = build_stream(resolved.experiment, prepared, Solo()), prepared.collate("train")
    names = prepared.rows["train"].table["task"].to_pylist()
    seen = set()
    for _ in range(stream.batches_in(0)):
        batch = collate(stream.draw().indices, DRAW)
        (group,) = set(batch["group"].tolist())
        assert {names[row] for row in batch["row"]} == {TASKS[group]}
        seen.add(group)
    assert seen == {0, 1, 2}
    last = prepared.rows["train"].places.describe(len(names) - 1)
    assert last.endswith("tag.jsonl:40")


def test_features_are_those_of_the_tasks_alone(resolved: Resolved, prepared: PreparedData) -> None:
    keys = feature_keys(resolved.experiment)
    assert all(open_cache().has(key) for key in keys.values())
    alone = {
        f"{name}/{split}": key
        for name, part in divide_tasks(resolved.experiment).items()
        for split, key in feature_keys(part).items()
    }
    assert keys == alone


def test_each_task_is_prepared_into_a_folder_of_its_own(
    resolved: Resolved, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, out = config_of(resolved), tmp_path / "ready"
    assert run(["prepare", config, "--out", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[1].split() == ["mood/train", "72", "72"]
    override = shlex.split(printed[-1])[-1]
    assert override.startswith(f"data={{type: several, sets: {{mood: {{type: prepared, dir: {out}/mood}}, ")
    assert [name for name in TASKS if manifest.fault(out / name) is not None] == []
    sets = check(config, overrides=[override]).experiment.data.sets  # type: ignore[attr-defined]
    assert {name: each.dir for name, each in sets.items()} == {name: str(out / name) for name in TASKS}


def test_every_task_is_learned_and_scored_by_its_own_metrics(result: RunResult) -> None:
    scores = result.scores["validation"]
    assert list(scores)[:4] == ["mean", "mood/accuracy", "alike/r2", "tag/f1"]
    mains = [scores[name].value for name in list(scores)[1:4]]
    assert scores["mean"].value == pytest.approx(np.mean(mains))
    assert scores["mean"].low < scores["mean"].value < scores["mean"].high  # type: ignore[operator]
    assert result.headline == "mean"
    assert "mood/accuracy" in result.baselines["majority"]


def test_two_processes_score_as_one_does_to_the_last_digit(result: RunResult) -> None:
    assert evaluate(str(result.directory), split="validation").scores == result.scores["validation"]


def test_one_task_can_be_scored_apart_and_on_a_file(result: RunResult, resolved: Resolved) -> None:
    file = resolved.experiment.data.sets["alike"].validation[0]  # type: ignore[attr-defined]
    whole = result.scores["validation"]
    for asked in ({"split": "validation"}, {"data": file}):
        found = evaluate(str(result.directory), task="alike", **asked).scores
        assert found == {name: whole[f"alike/{name}"] for name in found}
    with pytest.raises(DataError, match="choose one with --task: mood, alike, tag"):
        evaluate(str(result.directory), data=file)


def test_predictions_of_each_task_are_in_row_order(result: RunResult, prepared: PreparedData) -> None:
    for name in TASKS:
        table = pq.read_table(result.directory / "predictions" / name / "validation.parquet")
        assert table["row"].to_pylist() == list(range(len(prepared.parts[name].rows["validation"])))
        assert "predicted" in table.column_names


def test_the_artifact_answers_for_every_task_and_proves_itself_on_each(result: RunResult, tmp_path: Path) -> None:
    assert list(load_all(result.directory / "artifact")) == list(TASKS)
    rows = {"mood": {"text": "a good film"}, "alike": {"a": "good", "b": "bad"}, "tag": {"words": ["good", "cast"]}}
    for name, row in rows.items():
        assert len(Predictor.load(result.directory / "artifact", task=name).predict([row])) == 1
    for name in TASKS:
        spoilt = tmp_path / name
        shutil.copytree(result.directory / "artifact", spoilt)
        golden = json.loads((spoilt / "golden.json").read_text())
        golden["tasks"][name]["outputs"] = (np.array(golden["tasks"][name]["outputs"]) + 1).tolist()
        (spoilt / "golden.json").write_text(json.dumps(golden))
        manifest.commit(spoilt, {"format": 1})
        with pytest.raises(ServeError, match="does not predict as it did"):
            Predictor.load(spoilt, task="mood")


def test_the_artifact_holds_the_encoder_once_as_transformers_reads_it(result: RunResult) -> None:
    from transformers import AutoModel

    folder = result.directory / "artifact" / "model"
    network = load_all(result.directory / "artifact")["mood"]
    model = AutoModel.from_pretrained(folder, local_files_only=True)
    size = sum(parameter.numel() for parameter in model.parameters()) * 4
    written = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    assert size < written < 1.5 * size
    assert network.experiment.task.heads[0] == "sequence_classification"


def test_killed_and_resumed_it_comes_to_the_same_bits(resolved: Resolved, tmp_path: Path) -> None:
    with fork_server() as server:
        scene = undisturbed(tmp_path / "runs", server, resolved)
        run, counted = scene.plan("killed"), Tally()
        assert any(path.startswith("predictions/tag") for path in scene.expected)
        fault = next(point for point in scene.points_of_save(1) if point.kind == "tensors")
        attempt = scene.start(run, counted, fault=Fault(fault.kind, fault.number))
        assert attempt.wait() == -signal.SIGKILL
        scene.resume(run, counted)
        scene.assert_same(run, counted)


def test_a_wrong_row_is_refused_with_its_task_and_place(tmp_path: Path, tiny_bert: Path) -> None:
    resolved = several(tmp_path, tiny_bert)
    (tmp_path / "mood_dev.csv").write_text("text,label\ngood,pos\nbad,sour\n")
    (tmp_path / "tag_dev.jsonl").write_text('{"words": ["a", "b"], "tags": ["O"]}\n')
    with pytest.raises(DataError) as refused:
        prepared_of(resolved.experiment, tmp_path)
    assert "task mood: 1 of 2 rows of the validation split cannot be used" in str(refused.value)
    assert "mood_dev.csv:3: label 'sour' is not one of neg, pos" in str(refused.value)
    assert "task tag: " in str(refused.value)


@pytest.mark.parametrize("option", ["model.layer_decay=0.5", "model.freeze.layers=1", "model.lora=2"])
def test_what_of_the_encoder_learns_can_be_chosen(tmp_path: Path, tiny_bert: Path, option: str) -> None:
    if "lora" in option:
        pytest.importorskip("peft", reason="adapters need the extra `lora`")
    resolved = several(tmp_path, tiny_bert, option)
    material = prepared_of(resolved.experiment, tmp_path)
    learner = learner_of(resolved.experiment, material)
    step = partial(learner.step, step=0, factor=1.0)
    assert all(np.isfinite(step([batch_of(material, name)]).loss) for name in TASKS)
    heads = [each for name, each in learner.network.named_parameters() if name.startswith("heads.")]
    assert all(each.requires_grad for each in heads)
    trained = [each for group in learner.optimizer.param_groups for each in group["params"]]
    assert {id(each) for each in heads} <= {id(each) for each in trained}
