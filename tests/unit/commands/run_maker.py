"""Makes run directories as a worker would leave them, without training anything."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from burnish.run.record.directory import RunDirectory, write_json
from burnish.run.record.events_file import EventsFile
from burnish.run.record.result import ScoreSheet, sheet_to_json
from burnish.spec.events import Ended, Evaluated, Event, Saved, Started, Stepped
from burnish.spec.values import Score

_TASK = "type: text_classification"
_DATA = "type: files\n  train: train.csv"
PLAN = f"""\
name: small
task:
  {_TASK}
data:
  {_DATA}
model:
  type: transformer
  name: tiny
optimizer:
  type: adamw
  learning_rate: {{rate}}
"""


BINARY = {"kind": "binary", "labels": ["neg", "pos"], "facts": {}}


def stepped(step: int, *, total: int = 4) -> Stepped:
    return Stepped(step, step / total, 0.5, 1e-4, 1.0, examples=8, tokens=64, fraction=step / total)


STORY: tuple[Event, ...] = (
    Started(0, 1, 4, {"train_rows": 32}),
    stepped(1),
    stepped(2),
    Evaluated(2, "validation", {"accuracy": 0.75, "f1": 0.7}, is_best=True),
    Saved(2, "checkpoints/step-00000002"),
    stepped(3),
    stepped(4),
    Evaluated(4, "validation", {"accuracy": 0.5, "f1": 0.4}, is_best=False),
    Saved(4, "checkpoints/step-00000004"),
    Ended(4, "finished", 2, 0.75),
)


def make_run(
    path: Path,
    *,
    rate: float = 2e-5,
    seed: int | None = None,
    story: Sequence[Event] = STORY,
    started: float = 1_700_000_000.0,
) -> RunDirectory:
    """Write plan and events, one event every ten seconds."""
    path.mkdir(parents=True)
    run = RunDirectory(path)
    run.plan.write_text(PLAN.format(rate=rate) + ("" if seed is None else f"runtime: {{seed: {seed}}}\n"))
    file = EventsFile(run.events)
    for number, event in enumerate(story):
        file.append(event, time=started + 10.0 * number, attempt=1)
    file.close()
    return run


def finish(run: RunDirectory, *, accuracy: float = 0.8, baselines: Mapping[str, float] | None = None) -> None:
    """Write what a finished run leaves besides."""
    score = Score(accuracy, accuracy - 0.1, accuracy + 0.1)
    bars = {name: {"accuracy": Score(value)} for name, value in (baselines or {}).items()}
    write_json(run.scores, sheet_to_json(ScoreSheet("accuracy", {"test": {"accuracy": score}}, bars)))
    write_json(run.exit, {"reason": "finished", "step": 4, "seconds": 90.0})
    run.artifact.mkdir()


def predict(
    run: RunDirectory,
    predicted: Sequence[str],
    truth: Sequence[str],
    *,
    places: Mapping[str, Sequence[object]] = MappingProxyType({}),
    share: float = 0.9,
) -> None:
    """Write predictions of a test split with the classes `neg` and `pos`, how sure they are, and where rows stand."""
    write_json(run.profile, BINARY)
    _write_predictions(run.predictions, predicted, truth, places, share=share)


def predict_numbers(run: RunDirectory, predicted: np.ndarray, truth: np.ndarray) -> None:
    """Write predictions of a test split of numbers."""
    write_json(run.profile, {"kind": "regression", "labels": [], "facts": {"target": {}}})
    run.predictions.mkdir()
    table = pa.table({"row": np.arange(len(truth)), "truth": truth, "predicted": predicted})
    pq.write_table(table, run.predictions / "test.parquet")


def predict_several(run: RunDirectory, told: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> None:
    """Write predictions and truths of the test splits of several tasks, each as `predict` does."""
    tasks = ", ".join(f"{task}: {{{_TASK}}}" for task in told)
    sets = ", ".join(f"{task}: {{type: files, train: train.csv}}" for task in told)
    plan = run.plan.read_text().replace(_TASK, f"type: multi\n  tasks: {{{tasks}}}")
    run.plan.write_text(plan.replace(_DATA, f"type: several\n  sets: {{{sets}}}"))
    write_json(run.profile, {"kind": "several", "labels": [], "facts": {"tasks": dict.fromkeys(told, BINARY)}})
    for task, (predicted, truth) in told.items():
        _write_predictions(run.predictions / task, predicted, truth)


def _write_predictions(
    folder: Path,
    predicted: Sequence[str],
    truth: Sequence[str],
    places: Mapping[str, Sequence[object]] = MappingProxyType({}),
    *,
    share: float = 0.9,
) -> None:
    shares = [share if each == "pos" else 1 - share for each in predicted]
    probabilities = pa.StructArray.from_arrays([pa.array([1 - p for p in shares]), pa.array(shares)], ["neg", "pos"])
    columns = {"row": list(range(len(truth))), **places, "truth": list(truth), "predicted": list(predicted)}
    folder.mkdir(parents=True)
    pq.write_table(pa.table({**columns, "probabilities": probabilities}), folder / "test.parquet")
