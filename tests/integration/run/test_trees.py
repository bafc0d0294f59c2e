"""Boosted trees in the loop of every run: chosen by the architecture, stopped, saved and grown on."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from burnish.dist.world import Solo
from burnish.engine.grower_torch import BoostingLearner
from burnish.engine.learner_torch import Learner
from burnish.engine.loop import fit
from burnish.engine.progress import Milestones
from burnish.engine.snapshot_torch import read_learner, read_weights, snapshot
from burnish.engine.state import TrainState
from burnish.errors import LaunchError, MissingExtra
from burnish.metrics.regression import Mse
from burnish.models.tabular.models import Deep, Gbdt, NoAssets
from burnish.optim.optimizers import AdamW
from burnish.optim.schedules import Constant
from burnish.run.build import build_learner
from burnish.run.forecast import Rehearsal
from burnish.run.preparation.prepared_data import PreparedData, PreparedTask
from burnish.spec.events import Ended, Evaluated, Stepped
from burnish.spec.experiment import Runtime, TrainPolicy
from burnish.spec.interval import Interval
from burnish.spec.parts import ALONE
from burnish.spec.values import BaselineRequest, HeadSpec, Objective, Outcome, Profile, TableInputs
from burnish.tasks.tabular import baselines

MODEL = Gbdt(rounds=40, evaluate_every=4, patience=3, learning_rate=0.5, least_rows=5, leaves=8)
HEAD = HeadSpec("tabular", 1, Objective("mean_squared_error"), inputs=TableInputs(("a", "b"), ((0.0, 1.0),) * 2))


class Two(Solo):
    """A world of two processes, seen from the first."""

    size = 2


class Encoder:
    """Rows are the features."""

    def collate(self, features: Any, indices: np.ndarray, draw: object) -> dict[str, np.ndarray]:
        return {name: values[indices] for name, values in features.arrays.items()}


class Task:
    """Learn a product."""

    def head(self, profile: Profile) -> HeadSpec:
        return HEAD

    def decode(self, outputs: dict[str, np.ndarray], profile: Profile) -> Outcome:
        values = outputs["logits"][:, 0]
        return Outcome("regression", outputs["row"], values, values, outputs["label"])


def rows(count: int, seed: int) -> SimpleNamespace:
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(count, 2)).astype(np.float32)
    label = (numbers[:, 0] * numbers[:, 1] + 0.3 * random.normal(size=count)).astype(np.float32)
    return SimpleNamespace(
        num_rows=count, arrays={"numbers": numbers, "label": label, "row": np.arange(count), "weight": label**0}
    )


def prepared() -> PreparedTask:
    features: Any = {"train": rows(300, 1), "validation": rows(200, 2), "test": rows(200, 3)}
    encoder: Any = Encoder()
    return PreparedTask({}, features, Profile("regression"), NoAssets(), encoder, {})


def whole() -> PreparedData:
    return PreparedData({ALONE: prepared()})


def request(note: Callable[[str], None] = pytest.fail) -> BaselineRequest:
    data = prepared()
    scored: Any = None
    return BaselineRequest(
        data.rows, data.features, data.batch_of, data.profile, "test", scored, seed=0, is_grown=False, note=note
    )


def experiment(model: Any = MODEL) -> Any:
    runtime = Runtime(threads=1)
    return SimpleNamespace(
        task=Task(),
        model=model,
        optimizer=AdamW(),
        train=TrainPolicy(),
        runtime=runtime,
        settled_runtime=runtime,
        data=None,
    )


def run(folder: Path, *, stop_after: int | None = None, state: TrainState | None = None) -> list[Any]:
    """Train as a run does; written at every save, and stopped after a number of steps."""
    data, state = prepared(), state or TrainState()
    learner = build_learner(experiment(), whole(), Solo())
    assert isinstance(learner, BoostingLearner)
    if state.position.step:
        read_learner(learner, folder)
    policy = MODEL.policy(TrainPolicy(), num_rows=100)
    pace = Milestones(policy.length, policy.evaluate_every, policy.checkpoint_every, Constant(), 40, "mse", "min", 3)

    def evaluate() -> dict[str, float]:
        batch = data.batch_of("validation")
        return {"mse": float(np.mean((learner.infer(batch)[:, 0] - batch["label"]) ** 2))}

    def save(now: TrainState) -> None:
        snapshot(learner).write(folder)
        if now.best_step == now.position.step:
            (folder / "best").mkdir(exist_ok=True)
            snapshot(learner).write(folder / "best")

    return list(fit(state, learner, pace, evaluate=evaluate, save=save, should_stop=lambda: _is_due(state, stop_after)))


def _is_due(state: TrainState, stop_after: int | None) -> str | None:
    return "preempted" if stop_after is not None and state.position.step >= stop_after else None


def test_trees_grow_until_the_validation_rows_get_no_better(tmp_path: Path) -> None:
    events = run(tmp_path)
    ended = events[-1]
    scores = [event.scores["mse"] for event in events if isinstance(event, Evaluated)]
    assert ended.reason == "early_stopping"
    assert ended.best_score == min(scores)
    assert min(scores) < 0.6 * np.var(rows(200, 2).arrays["label"])
    learner = build_learner(experiment(), whole(), Solo())
    read_weights(learner, tmp_path / "best")
    batch = prepared().batch_of("validation")
    assert np.mean((learner.infer(batch)[:, 0] - batch["label"]) ** 2) == pytest.approx(ended.best_score)


def test_a_run_that_was_stopped_comes_to_the_same_end(tmp_path: Path) -> None:
    (tmp_path / "straight").mkdir()
    (tmp_path / "stopped").mkdir()
    straight = run(tmp_path / "straight")
    state = TrainState()
    begun = run(tmp_path / "stopped", stop_after=6, state=state)
    assert isinstance(begun[-1], Ended)
    assert begun[-1].reason == "preempted"
    again = TrainState.from_json(state.to_json())
    assert begun[:-1] + run(tmp_path / "stopped", state=again) == straight
    texts = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("straight", "stopped")]
    assert texts[0] == texts[1]


def test_losses_fall_and_every_row_counts_once_a_round(tmp_path: Path) -> None:
    steps = [event for event in run(tmp_path) if isinstance(event, Stepped)]
    assert [step.epoch for step in steps[:3]] == [1, 2, 3]
    assert steps[0].examples == 300
    assert steps[5].loss < steps[0].loss


def test_a_network_is_still_learned_from_batches() -> None:
    assert isinstance(build_learner(experiment(Deep(hidden=(4,))), whole(), Solo()), Learner)


def test_several_processes_are_refused() -> None:
    with pytest.raises(LaunchError, match="trained by one process, but there are 2"):
        build_learner(experiment(), whole(), Two())


def test_the_baseline_beats_the_mean_and_keeps_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "MAX_TRAIN_TREES", 250)
    torch.set_num_threads(1)
    task: Any = Task()
    outcome = baselines.boosted_trees(request(), task)
    assert outcome is not None
    assert list(outcome.rows) == list(range(200))
    assert outcome.times.fit_seconds > outcome.times.predict_seconds > 0
    assert float(Mse().scores(outcome)["mse"][0]) < 0.6 * np.var(outcome.truth)


def test_without_lightgbm_the_baseline_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingExtra("lightgbm is not installed")

    monkeypatch.setattr("burnish.models.tabular.boosted_trees_torch.require", missing)
    notes: list[str] = []
    task: Any = Task()
    assert baselines.boosted_trees(request(notes.append), task) is None
    assert notes == ["the baseline of boosted trees was left out: lightgbm is not installed"]


def test_a_forecast_times_rounds() -> None:
    learner = build_learner(experiment(), whole(), Solo())
    assert Rehearsal(experiment(), prepared(), learner).step_seconds() > 0
    assert learner.network.text.count("Tree=") > 1  # type: ignore[operator,union-attr]  # torch takes it for a module


def test_a_length_in_epochs_is_no_matter_to_trees() -> None:
    assert MODEL.policy(TrainPolicy(length=Interval(1, "epochs")), num_rows=100).length == Interval(40, "steps")
