"""What every tracker is told and writes: TensorBoard's page HParams, MLflow and Weights & Biases read back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.run.sinks import EventDispatcher, NoLog
from burnish.spec.events import Ended, EpochEnded, Evaluated, FinalScores, Started, Stepped, TrackedEvent, Watcher
from burnish.spec.protocols import Tracker
from burnish.tracking.mlflow import MlFlow
from burnish.tracking.numbers import read_hyperparameters, scalars_of
from burnish.tracking.wandb import WandB

PLAN = """\
description: not an option to compare by
optimizer: {type: adamw, learning_rate: 5e-05, betas: [0.9, 0.98]}
train: {batch: {examples: 8}, clip: null}
data: {train: [a.csv]}
runtime: {deterministic: true}
"""
OPTIONS = {
    "optimizer.type": "adamw",
    "optimizer.learning_rate": 5e-05,
    "optimizer.betas.0": 0.9,
    "optimizer.betas.1": 0.98,
    "train.batch.examples": 8,
    "data.train.0": "a.csv",
    "runtime.deterministic": True,
}


def stepped(step: int, *, epoch: float) -> Stepped:
    return Stepped(step, epoch, 1.0 / step, 0.5, 2.0, examples=8, tokens=64, fraction=0.1)


EVENTS = (
    Started(0, attempt=1, total_steps=4),
    stepped(1, epoch=0.5),
    stepped(2, epoch=1.0),
    Evaluated(2, "validation", {"accuracy": 0.75}, is_best=True),
    Ended(2, "finished"),
    FinalScores(2, "test", {"accuracy": 0.5}),
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


def watch(watcher: Watcher) -> None:
    for event in EVENTS:
        watcher.emit(event)
    watcher.close()


class Listening:
    def __init__(self) -> None:
        self.events: list[TrackedEvent] = []

    def emit(self, event: TrackedEvent) -> None:
        self.events.append(event)

    def close(self) -> None:
        pass


def test_the_options_of_a_plan_are_flat_values(run: Path) -> None:
    assert read_hyperparameters(run) == OPTIONS
    assert read_hyperparameters(run / "nowhere") == {}


@pytest.mark.parametrize(
    ("start", "epochs", "ends"),
    [(0, [0.5, 1.0, 1.5, 2.0], [(2, 1), (4, 2)]), (3, [1.5, 2.0, 2.5], [(5, 2)]), (0, [1.0], [(1, 1)])],
)
def test_an_epoch_that_ends_is_told_to_trackers_alone(
    start: int, epochs: list[float], ends: list[tuple[int, int]]
) -> None:
    listening, heard = Listening(), list[object]()
    sinks = EventDispatcher(NoLog(), 1, heard.append, watchers=[listening])
    sinks.emit(Started(start, attempt=1, total_steps=None))
    for step, epoch in enumerate(epochs, start=start + 1):
        sinks.emit(stepped(step, epoch=epoch))
    found = [(event.step, event.epoch) for event in listening.events if isinstance(event, EpochEnded)]
    assert found == ends
    assert not any(isinstance(event, EpochEnded) for event in heard)


def test_options_and_final_scores_reach_the_page_of_hyperparameters(run: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import plugin_data_pb2

    from burnish.tracking.tensorboard import TensorBoard

    watcher = TensorBoard().open(run, name="small")
    watcher.emit(EVENTS[0])
    watcher.scalar("own/number", 3.0, step=1)
    watcher.text("own/text", "*hello*", step=1)
    watcher.figure("own/figure", b"\x89PNG", step=1, size=(1, 1))
    for event in EVENTS[1:]:
        watcher.emit(event)
    watcher.close()
    reader = EventAccumulator(str(run / "tensorboard" / "small"))
    reader.Reload()
    assert [each.value for each in reader.Scalars("final/test/accuracy")] == [0.5]
    assert [each.value for each in reader.Scalars("own/number")] == [3.0]
    assert reader.Tensors("own/text")[0].tensor_proto.string_val == [b"*hello*"]
    assert reader.Images("own/figure")[0].encoded_image_string == b"\x89PNG"
    content = reader.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    told = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
    assert told["optimizer.learning_rate"].number_value == 5e-05
    assert told["optimizer.type"].string_value == "adamw"


def test_mlflow_reads_back_what_was_logged_and_a_resumed_run_goes_on(run: Path) -> None:
    tracking = pytest.importorskip("mlflow.tracking", reason="mlflow-skinny is not installed (extra `mlflow`)")
    assert isinstance(MlFlow(), Tracker)
    watch(MlFlow().open(run, name="small"))
    again = MlFlow().open(run, name="small")
    again.emit(stepped(2, epoch=1.0))  # what it had come to before it was killed
    again.emit(stepped(3, epoch=1.5))
    again.close()
    client = tracking.MlflowClient(tracking_uri=(run / "mlflow").as_uri())
    (found,) = client.search_runs([client.get_experiment_by_name("burnish").experiment_id])
    assert found.data.params["optimizer.learning_rate"] == "5e-05"
    assert (found.data.metrics["validation/accuracy"], found.data.metrics["final/test/accuracy"]) == (0.75, 0.5)
    history = client.get_metric_history(found.info.run_id, "train/loss")
    assert [(each.step, each.value) for each in history] == [(1, 1.0), (2, 0.5), (3, 1 / 3)]
    assert found.info.status == "FAILED"  # nothing told how the second ended


def test_losses_are_given_every_so_many_steps() -> None:
    given = [step for step in range(1, 7) if dict(scalars_of(stepped(step, epoch=0.0), every=3))]
    assert given == [3, 6]


def test_weights_and_biases_writes_offline_what_its_own_reader_reads(run: Path) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed (extra `wandb`)")
    from wandb.proto import wandb_internal_pb2

    assert isinstance(WandB(), Tracker)
    watch(WandB().open(run, name="small"))
    (path,) = run.glob("wandb/offline-run-*/*.wandb")
    found = dict[str, str]()
    for content in logged(path.read_bytes()):
        record = wandb_internal_pb2.Record.FromString(content)
        for item in (*record.history.item, *record.summary.update, *record.config.update, *record.run.config.update):
            found["/".join(item.nested_key) or item.key] = item.value_json
    assert found["train/loss"] == "0.5"
    assert found["final/test/accuracy"] == "0.5"
    assert float(found["optimizer.learning_rate"]) == 5e-05


def logged(content: bytes) -> Iterator[bytes]:
    """Read the records of a log as LevelDB writes them: blocks of 32 KiB, records whole or in parts."""
    place, whole = 7, b""
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        length, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        whole += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield whole
            whole = b""
