"""A blend of models: its folds, its weights, and that it comes back from a checkpoint or an artifact as it was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss

from burnish.engine.grower_torch import BoostingLearner
from burnish.engine.infer_torch import Autocast
from burnish.engine.snapshot_torch import read_learner, snapshot
from burnish.errors import CheckpointError, ConfigError
from burnish.models.tabular import blend_torch, members
from burnish.models.tabular.blend_torch import Blend, assign_folds
from burnish.models.tabular.models import Auto, NoAssets
from burnish.models.tabular.selection import choose_weights, loss_of, to_answers, to_logits
from burnish.spec.experiment import TrainPolicy
from burnish.spec.interval import Interval
from burnish.spec.values import HeadSpec, Objective, TableInputs

CPU = Autocast(torch.device("cpu"))
INPUTS = TableInputs(("a", "b"), ((-1.0, 0.0, 1.0),) * 2, ("c",), (9,))
HEADS = {
    "two classes": HeadSpec("tabular", 2, Objective("cross_entropy"), ("no", "yes"), INPUTS),
    "three classes": HeadSpec("tabular", 3, Objective("cross_entropy"), ("x", "y", "z"), INPUTS),
    "numbers": HeadSpec("tabular", 1, Objective("mean_squared_error"), inputs=INPUTS),
    "weighted classes": HeadSpec(
        "tabular", 2, Objective("cross_entropy", class_weights=(0.5, 2.0)), ("no", "yes"), INPUTS
    ),
}
OPTIONS = Auto(folds=2)


def rows(name: str, *, count: int = 240, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(count, 2)).astype(np.float32)
    categories = random.integers(0, 9, (count, 1))
    value = numbers[:, 0] * numbers[:, 1] + np.sin(categories[:, 0]) + 0.3 * random.normal(size=count)
    labels = {
        "two classes": (value > 0).astype(np.int64),
        "three classes": np.digitize(value, [-0.5, 0.5]),
        "numbers": value.astype(np.float32),
        "weighted classes": (value > 0).astype(np.int64),
    }
    return {
        "numbers": numbers,
        "categories": categories,
        "label": labels[name],
        "weight": random.uniform(0.5, 2, count).astype(np.float32),
    }


def splits(name: str) -> Callable[[str], dict[str, np.ndarray]]:
    return lambda split: rows(name, seed=0) if split == "train" else rows(name, count=80, seed=1)


def learner_of(name: str, options: Auto = OPTIONS) -> BoostingLearner:
    torch.set_num_threads(1)
    network = options.network(HEADS[name], NoAssets())
    return BoostingLearner(network, splits(name), num_rows=240, seed=5, precision=CPU, learning_rate=0.0)


def fit_all(learner: BoostingLearner, steps: range) -> None:
    for step in steps:
        learner.advance(step, 1.0)


def blend_of(learner: BoostingLearner) -> Blend:
    network = learner.network
    assert isinstance(network, Blend)
    return network


@pytest.mark.parametrize("name", HEADS)
def test_a_run_stopped_after_any_fit_ends_with_the_same_bits(name: str, tmp_path: Path) -> None:
    whole = learner_of(name)
    fit_all(whole, range(6))
    for stop in (1, 2, 5):
        first, second = learner_of(name), learner_of(name)
        fit_all(first, range(stop))
        folder = tmp_path / str(stop)
        folder.mkdir()
        snapshot(first).write(folder)
        read_learner(second, folder)
        fit_all(second, range(stop, 6))
        asked = rows(name, seed=2)
        assert np.array_equal(whole.infer(asked), second.infer(asked))
        tensors, others = whole.network.state_dict(), second.network.state_dict()
        assert tensors.keys() == others.keys()
        assert all(torch.equal(tensor, others[key]) for key, tensor in tensors.items())


def test_a_member_that_is_fitted_is_never_fitted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = learner_of("numbers"), learner_of("numbers")
    fit_all(first, range(3))
    snapshot(first).write(tmp_path)
    read_learner(second, tmp_path)
    fitted: list[str] = []
    for member in blend_torch.MEMBERS.values():
        fit = member.fit

        def count(fold: Any, head: HeadSpec, fit: Any = fit, kind: str = member.name) -> Any:
            fitted.append(kind)
            return fit(fold, head)

        monkeypatch.setattr(member, "fit", count, raising=False)
    fit_all(second, range(3, 6))
    assert fitted == ["lightgbm", "catboost", "catboost"]


@pytest.mark.parametrize("name", HEADS)
def test_a_saved_blend_answers_with_the_same_bits(name: str, tmp_path: Path) -> None:
    learner = learner_of(name)
    fit_all(learner, range(6))
    network = blend_of(learner)
    OPTIONS.save(network, tmp_path)
    back = OPTIONS.load(tmp_path, HEADS[name])
    asked = rows(name, seed=2)
    assert np.array_equal(network.logits(asked), back.logits(asked))
    other = HeadSpec("tabular", HEADS[name].size, HEADS[name].objective, inputs=TableInputs(("a", "z")))
    with pytest.raises(CheckpointError, match="fed otherwise"):
        OPTIONS.load(tmp_path, other)


def test_the_blend_is_no_worse_than_its_best_member_on_held_out_rows() -> None:
    learner = learner_of("two classes")
    fit_all(learner, range(6))
    record = blend_of(learner).record
    loss = learner.advance(6, 1.0).result.loss
    assert loss <= min(record.losses.values())
    assert sum(record.weights.values()) == pytest.approx(1.0)


def test_each_row_is_answered_by_a_fold_that_did_not_learn_from_it() -> None:
    labels = rows("three classes")["label"]
    folds = assign_folds(labels, 5, seed=1, is_of_classes=True)
    assert sorted(np.bincount(folds).tolist()) == [48] * 5
    shares = np.stack([np.bincount(labels[folds == number], minlength=3) for number in range(5)])
    assert (shares.max(axis=0) - shares.min(axis=0) <= 1).all()


def test_no_label_reaches_the_answer_to_its_own_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """With labels that nothing explains, answers to held-out rows are no better than the shares of the classes."""
    random = np.random.default_rng(0)
    noise = {**rows("two classes"), "label": random.integers(0, 2, 240)}
    network = OPTIONS.network(HEADS["two classes"], NoAssets())
    learner = BoostingLearner(network, lambda _: noise, num_rows=240, seed=5, precision=CPU, learning_rate=0.0)
    fit_all(learner, range(6))
    assert all(loss > 0.6 for loss in blend_of(learner).record.losses.values())


def test_a_member_without_its_package_is_left_out_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    found = blend_torch.find_spec
    monkeypatch.setattr(blend_torch, "find_spec", lambda name: None if name == "catboost" else found(name))
    learner = learner_of("two classes")
    fit_all(learner, range(4))
    record = blend_of(learner).record
    assert record.members == ["linear", "lightgbm"]
    assert "catboost is not installed" in record.left_out["catboost"]
    assert set(record.weights) <= {"linear", "lightgbm"}


def test_a_member_that_runs_out_of_memory_is_left_out_and_the_rest_blends(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(blend_torch.MEMBERS["lightgbm"], "fit", fail, raising=False)
    learner = learner_of("two classes")
    fit_all(learner, range(6))
    record = blend_of(learner).record
    assert record.left_out == {"lightgbm": "MemoryError"}
    assert set(record.weights) <= {"linear", "catboost"}


def test_where_no_member_can_learn_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    head = HeadSpec("tabular", 2, Objective("focal"), ("no", "yes"), INPUTS)
    network = OPTIONS.network(head, NoAssets())
    with pytest.raises(ConfigError, match=r"model: auto has no member .*linear: it does not know the loss focal"):
        network.begin(splits("two classes"), seed=0)


@pytest.mark.parametrize(
    ("file", "written", "said"),
    [
        ("blend.json", b"[]", "no record of a blend"),
        ("blend.json", b'{"members": ["x"], "weights": {"x": 1}}', "names x"),
        ("blend.json", b'{"weights": {"linear": "a"}}', "no record of a blend"),
        ("blend.json", b'{"weights": {"linear": 1}, "num_folds": 90}', "No such file"),
        ("blend.json", b'{"weights": {"linear": 1}, "num_folds": 0}', "no record of a blend"),
        ("blend.json", b'{"weights": {"linear": 1}, "num_folds": -1}', "no record of a blend"),
        ("blend.json", b'{"weights": {"linear": -1}}', "no record of a blend"),
        ("blend.json", b'{"weights": {"linear": NaN}}', "no record of a blend"),
        ("members/linear-0", b"junk", "does not hold a blend"),
        ("members/lightgbm-0", b"junk", "does not hold a blend"),
        ("members/catboost-0", b"junk", "does not hold a blend"),
    ],
)
def test_odd_files_are_refused_in_a_sentence(tmp_path: Path, file: str, written: bytes, said: str) -> None:
    learner = learner_of("two classes")
    fit_all(learner, range(6))
    network = blend_of(learner)
    network.record.weights = dict.fromkeys(network.record.members, 1 / 3)
    OPTIONS.save(network, tmp_path)
    (tmp_path / file).write_bytes(written)
    with pytest.raises(CheckpointError, match=said):
        OPTIONS.load(tmp_path, HEADS["two classes"])


@pytest.mark.parametrize(
    ("key", "tensor"),
    [
        ("record", None),
        ("forest/0", torch.zeros(3, dtype=torch.uint8)),
        ("linear/x", torch.zeros(3, dtype=torch.uint8)),
        ("linear/0", torch.zeros(3)),
        ("linear/0", torch.zeros(3, dtype=torch.uint8)),
        ("forest/answers", torch.zeros(3)),
    ],
)
def test_an_odd_state_is_refused_with_a_value_error(key: str, tensor: torch.Tensor | None) -> None:
    learner = learner_of("two classes")
    fit_all(learner, range(3))
    state = dict(learner.network.state_dict())
    state[key] = tensor  # type: ignore[assignment]
    if tensor is None:
        del state[key]
    with pytest.raises(ValueError, match=r"."):
        learner_of("two classes").network.load_state_dict(state)


def test_weights_minimise_the_loss_as_a_search_by_hand_does() -> None:
    random = np.random.default_rng(3)
    labels = random.integers(0, 2, 300)
    answers = np.stack(
        [to_answers(random.normal(size=(300, 2)) + 2 * spread * np.eye(2)[labels]) for spread in (0.5, 1)]
    )
    chosen = choose_weights(answers, labels, None, Objective("cross_entropy"), rounds=25)
    losses = [log_loss(labels, np.tensordot([share, 1 - share], answers, 1)) for share in np.linspace(0, 1, 26)]
    found = loss_of(np.tensordot(chosen, answers, 1), labels, None, Objective("cross_entropy"))
    assert found == pytest.approx(min(losses), abs=2e-3)


def test_probabilities_become_logits_and_return() -> None:
    logits = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(to_answers(to_logits(to_answers(logits))), to_answers(logits))


def test_the_number_of_folds_follows_from_the_rows() -> None:
    assert [Auto().folds_for(rows) for rows in (3, 10_000, 10_001)] == [5, 5, 1]
    policy = Auto().policy(TrainPolicy(length=Interval(9, "epochs")), num_rows=500)
    assert policy.length == Interval(15, "steps")
    assert policy.evaluate_every == Interval(5, "steps")


def test_weights_of_rows_and_classes_multiply() -> None:
    batch = {"label": np.array([0, 1]), "weight": np.array([2.0, 3.0])}
    objective = Objective("cross_entropy", class_weights=(1.0, 4.0))
    assert members.row_weights(batch, objective).tolist() == [2.0, 12.0]  # type: ignore[union-attr]
