"""Networks over a table in a learner: they learn, go on after a stop with the same bits, and see no micro-batches."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from burnish.engine.infer_torch import Autocast
from burnish.engine.learner_torch import Learner
from burnish.engine.snapshot_torch import read_learner, snapshot
from burnish.models.tabular.models import Linear, NoAssets, TabM, WideDeep
from burnish.optim.optimizers import AdaGrad, AdamW, Ftrl, Split
from burnish.spec.experiment import Ema
from burnish.spec.values import HeadSpec, Objective, TableInputs

EDGES = ((-1.5, -0.7, 0.0, 0.7, 1.5),) * 2
HEAD = HeadSpec("tabular", 2, Objective("cross_entropy"), inputs=TableInputs(("a", "b"), EDGES, ("c",), (6,), 20))
FAST = AdamW(learning_rate=0.02)
RUNS = {
    "wide_deep": (WideDeep(hidden=(16,)), Split(wide=Ftrl(l1=1e-4), deep=FAST)),
    "wide_deep by adagrad": (WideDeep(hidden=(16,), batch_norm=True), Split(wide=AdaGrad(), deep=FAST)),
    "linear": (Linear(), Ftrl()),
    "tab_m": (TabM(hidden=(32,), members=8), FAST),
}


def learner(name: str, **options: Any) -> Learner:
    model, optimizer = RUNS[name]
    torch.manual_seed(0)
    network = model.model_copy(update=options).network(HEAD, NoAssets())
    groups = network.parameter_groups(learning_rate=optimizer.learning_rate, weight_decay=optimizer.weight_decay)
    cpu = Autocast(torch.device("cpu"))
    return Learner(network, optimizer.build(network, groups), HEAD.objective, precision=cpu, seed=1, ema=Ema(decay=0.8))


def batch(seed: int, *, count: int = 64) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    numbers, category = random.normal(size=(count, 2)).astype(np.float32), random.integers(0, 6, (count, 1))
    label = (np.abs(numbers[:, 0]) > 0.7).astype(np.int64) ^ (category[:, 0] == 2)
    wide = np.concatenate([category + 1, (np.abs(numbers[:, :1]) > 0.7) * 6 + category + 7], axis=1)
    weight = random.uniform(0.5, 1.5, count).astype(np.float32)
    return {"numbers": numbers, "categories": category, "wide": wide, "label": label, "weight": weight}


def train(pupil: Learner, steps: range) -> list[float]:
    return [pupil.step([batch(step)], step=step, factor=1 / (1 + step / 100)).loss for step in steps]


@pytest.mark.parametrize("name", RUNS)
def test_what_was_written_and_read_goes_on_to_the_same_bits(name: str, tmp_path: Path) -> None:
    whole, first, second = learner(name), learner(name), learner(name)
    losses = train(whole, range(7))
    begun = train(first, range(4))
    snapshot(first).write(tmp_path)
    read_learner(second, tmp_path)
    assert begun + train(second, range(4, 7)) == losses
    for key, value in whole.network.state_dict().items():
        assert torch.equal(value, second.network.state_dict()[key]), key
    for mine, theirs in zip(whole.average_tensors(), second.average_tensors(), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("name", ["wide_deep", "linear", "tab_m"])
def test_a_step_is_the_same_however_the_batch_is_cut(name: str) -> None:
    options = {} if name == "linear" else {"dropout": 0.0}
    whole, pieces, given = learner(name, **options), learner(name, **options), batch(3)
    parts = [{key: value[part] for key, value in given.items()} for part in (slice(0, 10), slice(10, 64))]
    one, many = whole.step([given], step=0, factor=1.0), pieces.step(parts, step=0, factor=1.0)
    assert many.loss == pytest.approx(one.loss, abs=1e-6)
    for mine, theirs in zip(whole.network.parameters(), pieces.network.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", RUNS)
def test_it_learns_what_was_hidden_in_the_table(name: str) -> None:
    pupil, unseen = learner(name), batch(10_000, count=500)
    train(pupil, range(150))
    logits = pupil.infer(unseen)
    votes = logits.mean(axis=1) if logits.ndim == 3 else logits
    assert np.mean(votes.argmax(axis=1) == unseen["label"]) > 0.93
