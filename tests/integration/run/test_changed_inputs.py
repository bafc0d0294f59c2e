"""A run goes on only with the plan and the data that its checkpoint was trained on."""

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from burnish.commands.config import check
from burnish.commands.crash.sameness import find_differences
from burnish.commands.evaluate import evaluate, evaluate_checkpoint
from burnish.errors import CheckpointError
from burnish.run import worker
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan

CONFIG = """\
task: {{type: tabular, target: y}}
data: {{train: {data}, test: {test}, split: {{validation: 0.25}}}}
model: linear
optimizer: {{learning_rate: 0.1}}
train: {{length: 6 steps, evaluate_every: 2 steps, checkpoint_every: 2 steps, batch: 16}}
runtime: {{threads: 1}}
"""


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    """Give back the handlers that a worker in this process takes."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def write_rows(path: Path, *, seed: int, labels: tuple[str, str] = ("no", "yes"), rows: int = 64) -> None:
    draw = Random(seed)
    values = [draw.random() for _ in range(rows)]
    path.write_text("x,y\n" + "".join(f"{value:.4f},{labels[value > 0.5]}\n" for value in values))


class Scene:
    """A run that was stopped at its deadline, with files that a test may change."""

    def __init__(self, root: Path) -> None:
        self.root, self.data, self.test = root, root / "data.csv", root / "test.csv"
        self.run = RunDirectory(root / "run")

    def work(self, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, list[dict[str, object]]]:
        """Let a worker go on in this process; give its exit code and what it said."""
        capsys.readouterr()
        code = worker.main([str(self.run.path), *options])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    def edit_plan(self, old: str, new: str) -> None:
        text = self.run.plan.read_text()
        assert old in text
        self.run.plan.write_text(text.replace(old, new))


@pytest.fixture
def scene(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Scene:
    found = Scene(tmp_path)
    write_rows(found.data, seed=1)
    write_rows(found.test, seed=2)
    config = tmp_path / "experiment.yaml"
    config.write_text(CONFIG.format(data=found.data, test=found.test))
    settle_plan(found.run, check(str(config)))
    return found


@pytest.fixture
def stopped(scene: Scene, capsys: pytest.CaptureFixture[str]) -> Scene:
    scene.edit_plan("max_minutes: null", "max_minutes: 1e-9")
    assert scene.work(capsys)[0] == 75
    scene.edit_plan("max_minutes: 1e-9", "max_minutes: null")
    return scene


def message_of(said: list[dict[str, object]]) -> str:
    assert said[-1]["error"] == "CheckpointError"
    return str(said[-1]["message"])


def test_nothing_changed_and_a_longer_deadline_are_no_hindrance(
    stopped: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stopped.work(capsys)[0] == 0


def test_changed_rows_are_refused_with_the_file_and_what_to_do(
    stopped: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    write_rows(stopped.data, seed=3)
    before = stopped.run.profile.read_bytes()
    code, said = stopped.work(capsys)
    assert code == 5
    assert f"\n  {stopped.data} was changed\n" in message_of(said)
    assert "test.csv" not in message_of(said)
    assert f"`burnish resume {stopped.run.path} --accept-changed-data`" in message_of(said)
    assert stopped.run.profile.read_bytes() == before


def test_changed_rows_can_be_accepted_and_the_run_says_so(stopped: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(stopped.data, seed=3)
    assert stopped.work(capsys, "--accept-changed-data")[0] == 0
    told = f"{stopped.data} was changed since step 0; accepted, so this is no exact resume"
    assert told in stopped.run.events.read_text()
    assert told in stopped.run.report.read_text()


def test_a_new_label_is_told_by_its_row_and_does_not_reshape_the_network(
    stopped: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped.data.write_text(stopped.data.read_text() + "0.5,maybe\n")
    assert stopped.work(capsys)[0] == 5
    code, said = stopped.work(capsys, "--accept-changed-data")
    assert code == 4
    assert "'maybe' is not one of no, yes" in str(said[-1]["message"])


def test_an_edited_plan_is_refused_with_both_values(stopped: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    stopped.edit_plan("learning_rate: 0.1", "learning_rate: 0.7")
    stopped.edit_plan("seed: 0", "seed: 5")
    code, said = stopped.work(capsys)
    assert code == 5
    assert "\n  optimizer.learning_rate is 0.7 now and was 0.1\n  runtime.seed is 5 now and was 0\n" in message_of(said)


def test_a_checkpoint_of_an_earlier_version_still_goes_on(stopped: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    (folder,) = stopped.run.checkpoints.iterdir()
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    for name in ("plan.yaml", "profile.json", "data.json"):
        (folder / name).unlink()
        del manifest["files"][name]
    del manifest["digest"]
    (folder / "MANIFEST.json").write_text(json.dumps(manifest))
    write_rows(stopped.data, seed=3)
    assert stopped.work(capsys)[0] == 0


def test_a_run_without_a_checkpoint_starts_on_the_changed_rows_and_says_so(
    stopped: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(stopped.run.checkpoints)
    write_rows(stopped.data, seed=3)
    assert stopped.work(capsys)[0] == 0
    assert (
        f"{stopped.data} was changed since the last attempt. Nothing was learned yet" in stopped.run.events.read_text()
    )


def test_a_checkpoint_is_not_scored_on_changed_rows(stopped: Scene) -> None:
    write_rows(stopped.data, seed=3)
    with pytest.raises(CheckpointError, match=r"data.csv was changed"):
        evaluate_checkpoint(stopped.run.path)


def test_an_artifact_is_scored_on_a_changed_file_of_its_own_with_a_note_and_never_on_a_split_carved_from_one(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scene.work(capsys)[0] == 0
    assert evaluate(str(scene.run.path)).notes == ()
    write_rows(scene.test, seed=4)
    assert evaluate(str(scene.run.path)).notes == (f"{scene.test} was changed since training",)
    write_rows(scene.data, seed=3)
    assert evaluate(str(scene.run.path), split="test").notes == (f"{scene.test} was changed since training",)
    with pytest.raises(CheckpointError, match=r"(?s)the validation split .*data.csv was changed.*--in FILE"):
        evaluate(str(scene.run.path), split="validation")


def test_a_second_training_on_changed_rows_is_told_by_the_data_first(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    second = Scene(scene.root)
    second.run = RunDirectory(scene.root / "second")
    settle_plan(second.run, check(str(scene.run.plan)))
    assert scene.work(capsys)[0] == 0
    write_rows(scene.data, seed=3)
    assert second.work(capsys)[0] == 0
    first = find_differences(scene.run, second.run)[0]
    assert first.file == "data.json"
    assert first.first == f"{scene.data} was changed: the second run was trained on other data"
