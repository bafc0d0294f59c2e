"""What is exported answers as torch does, says so, and is refused when it does not."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest
import torch

from burnish.artifact import predictor as predictor_module
from burnish.artifact.predictor import Predictor, load_all, rank_here, table_of
from burnish.artifact.variants import digest_of, machine, rank_engines, read_variant
from burnish.cli.main import run as burnish
from burnish.commands.evaluate import evaluate
from burnish.commands.export import export
from burnish.errors import BurnishError, CheckpointError, ServeError
from burnish.export.prove import measure_speed
from burnish.storage import manifest
from burnish.testing.exams import Examined
from tests.harness.fork_server import ForkServer
from tests.integration.tasks import test_multi_exam as multi
from tests.integration.tasks import test_tabular_exam as tables
from tests.integration.tasks.exam import train as train_in_server
from tests.integration.tasks.multiple_choice import test_task as choices
from tests.integration.tasks.question_answering import test_task as questions
from tests.integration.tasks.text_classification import test_task as texts

Trained = Callable[..., Path]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path], server: ForkServer) -> Trained:
    def train(module: ModuleType, name: str, *overrides: str) -> Path:
        root = tmp_path_factory.mktemp("export")
        getattr(module, name)._write(root, tiny)
        examined = Examined.read(root, "train.length=2 steps", *overrides)
        return train_in_server(examined, "run", server, processes=1).directory / "artifact"

    return train


@pytest.fixture(scope="module")
def table(trained: Trained) -> Path:
    artifact = trained(tables, "TestTabular")
    export(str(artifact), int8=True)
    return artifact


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (texts, "TestTextClassification"),
        (multi, "TestMulti"),
        (multi, "TestMultiOfVectors"),
        (choices, "TestMultipleChoice"),
    ],
)
def test_texts_are_answered_as_by_torch(trained: Trained, module: ModuleType, name: str) -> None:
    artifact = trained(module, name)
    before = digest_of(artifact)
    (found,) = export(str(artifact)).variants
    assert all(proof.max_error < 1e-4 for proof in found.tasks.values())
    assert all(proof.agreement in (None, 1) for proof in found.tasks.values())
    graphs = b"".join(path.read_bytes() for path in found.path.glob("*.onnx"))
    assert b"stack_trace" not in graphs  # which would tell the folders of this machine
    assert str(Path(torch.__file__).parent).encode() not in graphs
    assert digest_of(artifact) == before
    mine_all, onnx_ = (load_all(artifact, engine=engine) for engine in ("torch", "onnx"))
    for task, predictor in mine_all.items():
        golden = json.loads((artifact / "golden.json").read_text())
        for rows in ([*(golden["tasks"][task] if task else golden)["rows"]], golden_row(golden, task)):
            mine, theirs = (each.predict(rows) for each in (predictor, onnx_[task]))
            assert [each.label for each in mine] == [each.label for each in theirs]


def golden_row(golden: dict, task: str) -> list[dict]:
    """One row alone: a graph traced with several takes it too."""
    return (golden["tasks"][task] if task else golden)["rows"][-1:]


def test_boosted_trees_are_written_as_a_tree_ensemble(trained: Trained) -> None:
    pytest.importorskip("lightgbm")
    artifact = trained(tables, "TestTabular", "model={type: gbdt, rounds: 5, least_rows: 3}", "train.length=auto")
    (found,) = export(str(artifact)).variants
    assert found.tasks[""].max_error < 1e-5
    kinds = {node.op_type for node in onnx.load(found.path / "model.onnx").graph.node}
    assert "TreeEnsemble" in kinds
    with pytest.raises(ServeError, match="export them without --int8"):
        export(str(artifact), int8=True)


def test_a_beam_is_not_exported_and_leaves_nothing(trained: Trained) -> None:
    artifact = trained(questions, "TestBeam")
    with pytest.raises(ServeError, match=r"task\.search: pairs"):
        export(str(artifact))
    assert not [*(artifact / "variants").rglob("*.onnx")]


def test_the_proof_is_kept_with_the_variant(table: Path) -> None:
    proof = read_variant(table, "onnx-int8").proof
    assert proof.split == "validation"
    assert proof.tasks[""].score == "roc_auc"
    assert proof.tasks[""].loss is not None
    assert proof.own.one_row_seconds > 0
    assert proof.own.num_bytes > 0


def test_evaluate_scores_with_an_engine(table: Path) -> None:
    own, exported = (evaluate(str(table), engine=engine).scores["roc_auc"].value for engine in ("torch", "onnx"))
    assert exported == pytest.approx(own, abs=1e-6)


def test_predicting_with_onnx_imports_no_torch(table: Path) -> None:
    code = (
        "import sys; from burnish.commands.predict import predict; "
        f"print(predict({str(table)!r}, [{{'miles': 3.5, 'pay': 'Card'}}], engine='onnx', allow_missing=True)); "
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[-1] == "[]"


def test_a_variant_that_is_not_there_is_refused_with_the_command_that_makes_it(table: Path, tmp_path: Path) -> None:
    bare = shutil.copytree(table, tmp_path / "bare", ignore=shutil.ignore_patterns("variants"))
    with pytest.raises(ServeError, match=r"burnish export .* --to onnx --int8"):
        Predictor.load(bare, engine="onnx-int8")
    assert rank_engines(bare, measure=lambda _engine: 1.0, tell=pytest.fail) == ["torch"]


def test_a_weight_changed_in_a_graph_is_refused_even_when_its_manifest_agrees(table: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(table, tmp_path / "copy")
    folder = copy / "variants" / "onnx"
    model = onnx.load(folder / "model.onnx")
    largest = max(model.graph.initializer, key=lambda each: len(each.raw_data))
    values = np.frombuffer(largest.raw_data, np.float32) + 0.5
    largest.raw_data = values.astype(np.float32).tobytes()
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(CheckpointError, match=r"was changed after it was written|bytes and should have"):
        Predictor.load(copy, engine="onnx")
    sign_again(folder)
    with pytest.raises(ServeError, match="does not predict as it did"):
        Predictor.load(copy, engine="onnx")


def test_a_variant_of_another_artifact_is_refused(table: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(table, tmp_path / "copy")
    sign_again(copy, name="another")
    with pytest.raises(CheckpointError, match="was exported from another artifact"):
        Predictor.load(copy, engine="onnx")


def test_auto_takes_the_fastest_that_is_within_its_tolerance(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path / "cache"))
    copy = shutil.copytree(table, tmp_path / "copy")
    for engine, loss in (("onnx", 0.0), ("onnx-int8", 0.5)):
        set_proof(copy / "variants" / engine, loss=loss)
    asked: list[str] = []

    def measure(engine: str) -> float:
        asked.append(engine)
        return {"torch": 1.0, "onnx": 2.0, "onnx-int8": 9.0}[engine]

    ranked = [rank_engines(copy, measure=measure, tell=pytest.fail) for _ in range(2)]
    assert ranked == [["onnx", "torch"], ["onnx", "torch"]]
    assert asked == ["torch", "onnx"]  # once, and remembered; never what lost too much
    set_proof(copy / "variants" / "onnx-int8", loss=0.005)
    assert rank_engines(copy, measure=measure, tell=pytest.fail) == ["onnx-int8", "onnx", "torch"]
    assert load_all(copy, engine="auto")


@pytest.mark.parametrize("on", ["another", machine()])
def test_auto_leaves_out_what_does_not_prove_itself_here(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], on: str
) -> None:
    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path / "cache"))
    copy = shutil.copytree(table, tmp_path / "copy")
    for engine in ("onnx", "onnx-int8"):
        folder = copy / "variants" / engine
        outputs = json.loads((folder / "golden.json").read_text())
        (folder / "golden.json").write_text(json.dumps({"": (np.array(outputs[""]) + 0.2).tolist()}))
        set_proof(folder, loss=0.0, on=on, speed=1e9)
    with pytest.warns(RuntimeWarning, match="--engine auto leaves out onnx.*golden rows differ by 0.2"):
        found = load_all(copy, engine="auto")
    golden = json.loads((copy / "golden.json").read_text())
    assert found[""].predict(golden["rows"])  # by torch
    assert burnish(["predict", str(copy), "--row", json.dumps(golden["rows"][0]), "--engine", "auto"]) == 0
    assert f"note: {copy}: --engine auto leaves out onnx-int8: " in capsys.readouterr().err


def test_auto_leaves_out_what_gives_a_golden_row_another_answer_here(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path / "cache"))
    copy = shutil.copytree(table, tmp_path / "copy")
    for engine in ("onnx", "onnx-int8"):
        set_proof(copy / "variants" / engine, loss=0.0)
    told = predictor_module._answer_golden_rows

    def turned(path: Path, engine: str, **options: bool) -> tuple[list[list[str]], float]:
        ((first, *others),), _speed = told(path, engine, **options)
        turned_over = "other" if engine == "onnx-int8" else first
        return [[turned_over, *others]], {"torch": 1.0, "onnx": 2.0, "onnx-int8": 3.0}[engine]

    monkeypatch.setattr(predictor_module, "_answer_golden_rows", turned)
    notes: list[str] = []
    assert rank_here(copy, trust_code=False, tell=notes.append) == ["onnx", "torch"]
    assert "leaves out onnx-int8: on this machine it does not give the golden rows the answers" in notes[0]


def test_an_export_does_not_pin_auto_while_another_variant_is_of_another_machine(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path / "cache"))
    copy = shutil.copytree(table, tmp_path / "copy")
    set_proof(copy / "variants" / "onnx-int8", loss=0.0)
    found = export(str(copy))
    (file,) = (tmp_path / "cache" / "engines").iterdir()
    speeds = json.loads(file.read_text())
    assert min(speeds.values()) > 0
    assert found.chosen == max(speeds, key=lambda engine: speeds[engine])


def test_speeds_are_those_of_all_tasks(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = trained(multi, "TestMulti")
    asked: list[object] = []
    outcome = Predictor.outcome
    monkeypatch.setattr(Predictor, "outcome", lambda self, *a, **k: asked.append(self.task) or outcome(self, *a, **k))
    predictors = load_all(artifact)
    golden = json.loads((artifact / "golden.json").read_text())
    tables = {
        name: table_of(golden["tasks"][name]["rows"], each.task, profile=each.profile)
        for name, each in predictors.items()
    }
    asked.clear()
    measure_speed(predictors, tables, files=artifact)
    assert {id(each) for each in asked} == {id(each.task) for each in predictors.values()}
    asked.clear()
    predictor_module._answer_golden_rows(artifact, "torch", trust_code=False)
    assert {type(each) for each in asked} == {type(each.task) for each in predictors.values()}


def test_rows_that_are_gone_leave_the_golden_rows_to_prove_with(table: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(table, tmp_path / "copy")
    text = (copy / "experiment.yaml").read_text().replace("train.jsonl", "gone.jsonl")
    (copy / "experiment.yaml").write_text(text)
    sign_again(copy)
    found = export(str(copy))
    proved, stale = found.notes
    assert (found.split, "golden rows alone" in proved) == ("golden rows", True)
    assert "leaves out onnx-int8" in stale
    assert "exported from another artifact" in stale
    with pytest.raises(BurnishError, match=r"nowhere\.csv"):
        export(str(copy), data="nowhere.csv")


def sign_again(folder: Path, **facts: object) -> None:
    """Write the manifest anew for the files as they are now."""
    known = {name: value for name, value in (manifest.read(folder) or {}).items() if name != "files"}
    (folder / manifest.NAME).unlink()
    manifest.commit(folder, {**known, **facts})


def set_proof(folder: Path, *, loss: float, on: str = "another", speed: float | None = None) -> None:
    """Say that a variant was proved on another machine, with such a loss."""
    proof = (manifest.read(folder) or {})["proof"]
    proof["tasks"][""]["loss"] = loss
    proof["own"]["rows_per_second"] = speed or proof["own"]["rows_per_second"]
    sign_again(folder, proof={**proof, "machine": on})
