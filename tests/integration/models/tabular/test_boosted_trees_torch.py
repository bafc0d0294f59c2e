"""Boosted trees behind the face of a network: against LightGBM itself, and grown on after a stop."""

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import torch

from burnish.engine.grower_torch import BoostingLearner
from burnish.engine.infer_torch import Autocast
from burnish.engine.snapshot_torch import read_learner, read_weights, snapshot
from burnish.errors import CheckpointError, ConfigError
from burnish.models.tabular.models import Gbdt, NoAssets
from burnish.spec.experiment import TrainPolicy
from burnish.spec.interval import Interval
from burnish.spec.values import HeadSpec, Objective, TableInputs

CPU = Autocast(torch.device("cpu"))
INPUTS = TableInputs(("a", "b"), ((0.0, 1.0),) * 2, ("c",), (9,))
OPTIONS = Gbdt(learning_rate=0.3, leaves=6, least_rows=5)
HEADS = {
    "two classes": HeadSpec("tabular", 2, Objective("cross_entropy"), inputs=INPUTS),
    "three classes": HeadSpec("tabular", 3, Objective("cross_entropy", class_weights=(1.0, 2.0, 3.0)), inputs=INPUTS),
    "numbers": HeadSpec("tabular", 1, Objective("mean_squared_error"), inputs=INPUTS),
    "counts": HeadSpec("tabular", 1, Objective("poisson"), inputs=INPUTS),
    "amounts": HeadSpec("tabular", 1, Objective("gamma"), inputs=INPUTS),
    "high quantile": HeadSpec("tabular", 1, Objective("quantile", quantile=0.9), inputs=INPUTS),
}


def rows(name: str, *, count: int = 400) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    numbers, categories = random.normal(size=(count, 2)).astype(np.float32), random.integers(0, 9, (count, 1))
    value = np.exp(numbers[:, 0] * numbers[:, 1] / 2 + np.sin(categories[:, 0]) + 0.1 * random.normal(size=count))
    label = {"two classes": value > 1, "three classes": np.digitize(value, [0.7, 1.4]), "counts": value.round()}
    weight = random.uniform(0.5, 2, count).astype(np.float32)
    found = np.asarray(label.get(name, value))
    label_type = np.int64 if "classes" in name else np.float32
    return {"numbers": numbers, "categories": categories, "label": found.astype(label_type), "weight": weight}


def grower(name: str) -> BoostingLearner:
    torch.set_num_threads(1)
    network = OPTIONS.network(HEADS[name], NoAssets())
    return learner_of(network, rows(name))


def learner_of(network: Any, batch: dict[str, np.ndarray]) -> BoostingLearner:
    size = len(batch["label"])
    return BoostingLearner(
        network, lambda _: batch, num_rows=size, seed=0, precision=CPU, learning_rate=OPTIONS.learning_rate
    )


def grown(pupil: BoostingLearner, steps: range) -> list[float]:
    return [pupil.advance(step, 1.0).result.loss for step in steps]


@pytest.mark.parametrize("name", HEADS)
def test_trees_that_were_written_and_read_grow_on_to_the_same_bits(name: str, tmp_path: Path) -> None:
    whole, first, second = grower(name), grower(name), grower(name)
    losses = grown(whole, range(12))
    begun = grown(first, range(5))
    snapshot(first).write(tmp_path)
    read_learner(second, tmp_path)
    assert begun + grown(second, range(5, 12)) == losses
    assert _trees(whole) == _trees(second)
    assert np.array_equal(whole.infer(rows(name)), second.infer(rows(name)))
    assert losses[-1] < losses[0]


def _trees(pupil: BoostingLearner) -> str:
    text: str = pupil.network.text  # type: ignore[assignment]  # torch takes attributes for modules
    return text[text.index("Tree=0") : text.index("end of trees")]


@pytest.mark.parametrize("name", HEADS)
def test_saved_trees_answer_with_the_same_bits(name: str, tmp_path: Path) -> None:
    pupil = grower(name)
    grown(pupil, range(3))
    logits = pupil.infer(rows(name))
    assert logits.shape == (400, HEADS[name].size)
    network: Any = pupil.network
    OPTIONS.save(network, tmp_path)
    back = learner_of(OPTIONS.load(tmp_path, HEADS[name]), rows(name))
    assert np.array_equal(back.infer(rows(name)), logits)
    other = HeadSpec("tabular", HEADS[name].size, HEADS[name].objective, inputs=TableInputs(("a", "z")))
    with pytest.raises(CheckpointError, match="fed otherwise"):
        OPTIONS.load(tmp_path, other)


def test_probabilities_are_lightgbms_own() -> None:
    pupil, given = grower("two classes"), rows("two classes")
    grown(pupil, range(10))
    table = np.concatenate([given["numbers"], given["categories"]], axis=1)
    options = {"learning_rate": 0.3, "num_leaves": 6, "min_data_in_leaf": 5, "verbosity": -1, "objective": "binary"}
    data = lightgbm.Dataset(table, given["label"], weight=given["weight"], categorical_feature=[2])
    expected = lightgbm.train(options, data, 10).predict(table)
    ours = torch.softmax(torch.tensor(pupil.infer(given)), dim=1)[:, 1].numpy()
    np.testing.assert_allclose(ours, expected, rtol=1e-4)


def test_only_the_weights_can_be_put_back(tmp_path: Path) -> None:
    pupil = grower("numbers")
    grown(pupil, range(3))
    snapshot(pupil).write(tmp_path)
    early = pupil.infer(rows("numbers"))
    grown(pupil, range(3, 6))
    read_weights(pupil, tmp_path)
    assert np.array_equal(pupil.infer(rows("numbers")), early)


def test_before_the_first_round_every_row_is_alike() -> None:
    assert not grower("three classes").infer(rows("three classes")).any()


def test_torn_trees_are_refused(tmp_path: Path) -> None:
    pupil = grower("numbers")
    network: Any = pupil.network
    grown(pupil, range(1))
    OPTIONS.save(network, tmp_path)
    (tmp_path / "trees.txt").write_text("no trees at all")
    with pytest.raises(CheckpointError, match=r"trees\.txt does not hold boosted trees"):
        OPTIONS.load(tmp_path, HEADS["numbers"])


@pytest.mark.parametrize(
    ("objective", "words"),
    [(Objective("focal"), "the loss focal"), (Objective("cross_entropy", label_smoothing=0.1), "label smoothing")],
    ids=["focal", "smoothing"],
)
def test_a_loss_that_trees_do_not_know_is_refused(objective: Objective, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        OPTIONS.network(HeadSpec("tabular", 2, objective, inputs=INPUTS), NoAssets())


def test_a_step_is_a_round_and_the_models_own_options_say_how_many() -> None:
    model = Gbdt(rounds=70, evaluate_every=7, patience=3)
    assert model.is_grown
    policy = model.policy(TrainPolicy(length=Interval(9, "epochs"), clip=None), num_rows=100)
    assert (policy.length, policy.evaluate_every, policy.patience) == (Interval(70, "steps"), Interval(7, "steps"), 3)
    assert policy.clip is None


def test_rows_that_weigh_nothing_leave_no_trace_in_the_trees() -> None:
    given = rows("numbers")
    given["weight"][::2] = 0
    kept = {name: values[given["weight"] > 0] for name, values in given.items()}
    texts = []
    for batch in (given, kept):
        network = OPTIONS.network(HEADS["numbers"], NoAssets())
        pupil = learner_of(network, batch)
        grown(pupil, range(3))
        texts.append(_trees(pupil))
    assert texts[0] == texts[1]
