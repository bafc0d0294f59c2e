"""Steps that do not depend on how a batch is cut, and learners that can be put back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from burnish.dist.world import Solo
from burnish.engine.infer_torch import Autocast, PrecisionName
from burnish.engine.learner_torch import Clipping, Learner
from burnish.engine.losses_torch import Loss
from burnish.engine.memory_torch import Memory
from burnish.engine.snapshot_torch import read_learner, snapshot
from burnish.spec.experiment import Ema
from burnish.spec.values import Objective

CPU = Autocast(torch.device("cpu"))


class Net(nn.Module):
    """Two layers with dropout."""

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, size))

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.layers(batch["x"])


def learner(
    objective: Objective,
    *,
    size: int = 3,
    dropout: float = 0.0,
    ema: float | None = None,
    precision: Autocast = CPU,
) -> Learner:
    torch.manual_seed(0)
    net = Net(size, dropout)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    return Learner(net, optimizer, objective, precision=precision, seed=7, ema=ema and Ema(decay=ema))


def batch(count: int, *, kind: str = "classes") -> dict[str, np.ndarray]:
    random = np.random.default_rng(count)
    label = {
        "classes": lambda: random.integers(0, 3, count),
        "numbers": lambda: random.normal(size=count),
        "sets": lambda: random.integers(0, 2, (count, 3)).astype(np.float32),
        "amounts": lambda: random.gamma(2.0, size=count),
    }[kind]()
    return {"x": random.normal(size=(count, 6)).astype(np.float32), "label": label, "row": np.arange(count)}


def weighted(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    return {**given, "weight": random.uniform(0, 3, len(given["row"])).astype(np.float32)}


def cut(whole: dict[str, np.ndarray], parts: int) -> list[dict[str, np.ndarray]]:
    pieces = np.array_split(np.arange(len(whole["row"])), parts)
    return [{name: values[piece] for name, values in whole.items()} for piece in pieces]


OBJECTIVES = {
    "plain": (Objective("cross_entropy"), "classes", 3),
    "weighted and smoothed": (
        Objective("cross_entropy", class_weights=(1.0, 5.0, 0.2), label_smoothing=0.1),
        "classes",
        3,
    ),
    "focal": (Objective("focal", class_weights=(1.0, 2.0, 3.0)), "classes", 3),
    "numbers": (Objective("mean_squared_error"), "numbers", 1),
    "sets": (Objective("binary_cross_entropy"), "sets", 3),
    "counts": (Objective("poisson"), "amounts", 1),
    "amounts": (Objective("gamma"), "amounts", 1),
    "high quantile": (Objective("quantile", quantile=0.9), "numbers", 1),
}


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("parts", [2, 3, 4])
@pytest.mark.parametrize("has_weights", [False, True])
def test_one_gradient_however_a_batch_is_cut(name: str, parts: int, has_weights: bool) -> None:
    objective, kind, size = OBJECTIVES[name]
    whole, pieces = learner(objective, size=size), learner(objective, size=size)
    given = weighted(batch(11, kind=kind)) if has_weights else batch(11, kind=kind)
    one = whole.step([given], step=0, factor=1.0)
    many = pieces.step(cut(given, parts), step=0, factor=1.0)
    assert many.loss == pytest.approx(one.loss, abs=1e-6)
    assert many.gradient_norm == pytest.approx(one.gradient_norm, abs=1e-6)
    assert many.examples == one.examples == 11
    for mine, theirs in zip(whole.network.parameters(), pieces.network.parameters(), strict=True):
        assert torch.allclose(mine.grad, theirs.grad, atol=1e-6)  # type: ignore[arg-type]


def test_weighted_cross_entropy_is_torchs_own_mean() -> None:
    objective = OBJECTIVES["weighted and smoothed"][0]
    logits, labels = torch.randn(9, 3), torch.randint(0, 3, (9,))
    loss = Loss(objective, CPU.device)
    expected = nn.functional.cross_entropy(logits, labels, torch.tensor([1.0, 5.0, 0.2]), label_smoothing=0.1)
    assert torch.allclose(loss.sum(logits, labels) / loss.weight(labels), expected)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_row_that_weighs_two_counts_as_two_rows(name: str) -> None:
    objective, kind, size = OBJECTIVES[name]
    labels, logits = torch.tensor(batch(4, kind=kind)["label"]), torch.randn(4, size)
    loss, twice = Loss(objective, CPU.device), torch.tensor([0, 1, 1, 2, 3])
    weights = torch.tensor([1.0, 2.0, 1.0, 1.0])
    assert torch.allclose(loss.sum(logits, labels, weights), loss.sum(logits[twice], labels[twice]))
    assert torch.allclose(loss.weight(labels, weights), loss.weight(labels[twice]))


@pytest.mark.parametrize("name", ["plain", "weighted and smoothed", "numbers", "counts"])
def test_a_step_with_a_row_that_weighs_two_is_one_with_two_rows(name: str) -> None:
    objective, kind, size = OBJECTIVES[name]
    given = batch(5, kind=kind)
    twice = {column: values[[0, 1, 1, 2, 3, 4]] for column, values in given.items()}
    heavy = {**given, "weight": np.array([1, 2, 1, 1, 1], np.float32)}
    one, two = learner(objective, size=size), learner(objective, size=size)
    one_loss, two_loss = (each.step([rows], step=0, factor=1.0).loss for each, rows in ((one, heavy), (two, twice)))
    assert one_loss == pytest.approx(two_loss, abs=1e-6)
    for mine, theirs in zip(one.network.parameters(), two.network.parameters(), strict=True):
        assert torch.allclose(mine.grad, theirs.grad, atol=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_loss_of_an_ensemble_is_the_mean_of_its_members(name: str) -> None:
    objective, kind, size = OBJECTIVES[name]
    given = weighted(batch(6, kind=kind))
    labels, weights, logits = torch.tensor(given["label"]), torch.tensor(given["weight"]), torch.randn(6, 5, size)
    loss = Loss(objective, CPU.device)
    alone = torch.stack([loss.sum(logits[:, member], labels, weights) for member in range(5)])
    assert torch.allclose(loss.sum(logits, labels, weights), alone.mean())


@pytest.mark.parametrize(
    ("objective", "best"),
    [
        (Objective("poisson"), lambda amounts: np.log(amounts.mean())),
        (Objective("gamma"), lambda amounts: np.log(amounts.mean())),
        (Objective("quantile", quantile=0.8), lambda amounts: np.quantile(amounts, 0.8, method="inverted_cdf")),
        (Objective("mean_squared_error"), np.mean),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_constant_that_loses_least_is_the_one_the_objective_is_for(objective: Objective, best: Any) -> None:
    amounts = np.random.default_rng(0).gamma(2.0, size=101)
    tries = torch.linspace(-1, 6, 7001)
    loss = Loss(objective, CPU.device)
    labels = torch.tensor(amounts)
    losses = [float(loss.sum(constant.expand(101, 1), labels)) for constant in tries]
    assert float(tries[int(np.argmin(losses))]) == pytest.approx(best(amounts), abs=2e-3)


def test_focal_loss_with_no_focus_is_cross_entropy() -> None:
    logits, labels = torch.randn(9, 3), torch.randint(0, 3, (9,))
    focal = Loss(Objective("focal", gamma=0.0), CPU.device)
    assert torch.allclose(focal.sum(logits, labels), nn.functional.cross_entropy(logits, labels, reduction="sum"))


def train(pupil: Learner, steps: range) -> list[float]:
    return [pupil.step(cut(batch(10 + step), 2), step=step, factor=1 / (step + 1)).loss for step in steps]


@pytest.mark.parametrize("ema", [None, 0.9])
@pytest.mark.parametrize("name", ["fp32", "bf16", "fp16"])
def test_a_learner_that_was_written_and_read_goes_on_to_the_same_bits(
    tmp_path: Path, ema: float | None, name: PrecisionName
) -> None:
    objective = Objective("cross_entropy")
    precision = Autocast(torch.device("cpu"), name)
    whole = learner(objective, dropout=0.5, ema=ema, precision=precision)
    losses = train(whole, range(8))
    first = learner(objective, dropout=0.5, ema=ema, precision=precision)
    begun = train(first, range(5))
    snapshot(first).write(tmp_path)
    second = learner(objective, dropout=0.5, ema=ema, precision=precision)
    torch.manual_seed(12345)  # whatever else drew numbers meanwhile must not matter
    read_learner(second, tmp_path)
    assert begun + train(second, range(5, 8)) == losses
    for mine, theirs in zip(whole.network.parameters(), second.network.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    for mine, theirs in zip(whole.average_tensors(), second.average_tensors(), strict=True):
        assert torch.equal(mine, theirs)


def test_dropout_differs_from_step_to_step() -> None:
    pupil = learner(Objective("cross_entropy"), dropout=0.5)
    given = batch(10)
    losses = {pupil.step([given], step=step, factor=0.0).loss for step in range(4)}
    assert len(losses) == 4


def test_averaged_weights_stand_in_for_a_while_and_follow_the_formula() -> None:
    pupil = learner(Objective("cross_entropy"), ema=0.9)
    start = [parameter.detach().clone() for parameter in pupil.network.parameters()]
    train(pupil, range(1))
    now = [parameter.detach().clone() for parameter in pupil.network.parameters()]
    with pupil.averaged():
        inside = [parameter.detach().clone() for parameter in pupil.network.parameters()]
    for before, after, average, kept in zip(start, now, inside, pupil.network.parameters(), strict=True):
        assert torch.allclose(average, 0.9 * before + 0.1 * after, atol=1e-6)
        assert torch.equal(kept, after)


@pytest.mark.parametrize(
    ("ema", "decays"),
    [
        (Ema(decay=0.5), [0.5] * 4),
        (Ema(decay=0.5, start_step=2), [0.0, 0.5, 0.5, 0.5]),
        (Ema(decay=0.25, dynamic=True), [2 / 11, 0.25, 0.25, 0.25]),
        (Ema(decay=0.99, start_step=2, dynamic=True), [0.0, 1 / 10, 2 / 11, 3 / 12]),
    ],
)
def test_an_average_starts_late_and_forgets_faster_at_first(ema: Ema, decays: list[float]) -> None:
    pupil = learner(Objective("cross_entropy"))
    pupil = Learner(pupil.network, pupil.optimizer, Objective("cross_entropy"), precision=CPU, seed=7, ema=ema)
    expected = [each.detach().clone() for each in pupil.network.parameters()]
    for step, decay in enumerate(decays):
        train(pupil, range(step, step + 1))
        expected = [decay * a + (1 - decay) * b for a, b in zip(expected, pupil.network.parameters(), strict=True)]
    for average, wanted in zip(pupil.average_tensors(), expected, strict=True):
        torch.testing.assert_close(average, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "clip", [Clipping(0.1), Clipping(None, value=0.02), Clipping(None, 0.05), Clipping(0.03, 0.05, 0.02)]
)
def test_gradients_are_clipped_as_torch_does_and_the_norm_is_told_as_it_was(clip: Clipping) -> None:
    pupil, plain = learner(Objective("cross_entropy")), learner(Objective("cross_entropy"))
    pupil = Learner(pupil.network, pupil.optimizer, Objective("cross_entropy"), precision=CPU, seed=7, clip=clip)
    told = pupil.step([batch(9)], step=0, factor=0.0).gradient_norm
    loss = nn.functional.cross_entropy(
        plain.network({"x": torch.tensor(batch(9)["x"])}), torch.tensor(batch(9)["label"])
    )
    loss.backward()
    expected = [*plain.network.parameters()]
    assert told == pytest.approx(float(nn.utils.get_total_norm([each.grad for each in expected])), rel=1e-5)
    if clip.value is not None:
        nn.utils.clip_grad_value_(expected, clip.value)
    for each in expected if clip.tensor_norm is not None else ():
        nn.utils.clip_grad_norm_(each, clip.tensor_norm)
    if clip.norm is not None:
        nn.utils.clip_grad_norm_(expected, clip.norm)
    for mine, theirs in zip(pupil.network.parameters(), expected, strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-8)


def test_the_factor_scales_the_rate() -> None:
    pupil = learner(Objective("cross_entropy"))
    pupil.step([batch(4)], step=0, factor=0.25)
    assert pupil.learning_rate == 0.0025


def test_dropout_is_on_from_the_first_step_also_where_weights_were_loaded() -> None:
    torch.manual_seed(0)
    network = Net(3, dropout=0.5)
    network.layers.eval()  # as transformers leaves what it has loaded
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    pupil = Learner(network, optimizer, Objective("cross_entropy"), precision=CPU, seed=7)
    losses = {pupil.step([batch(10)], step=step, factor=0.0).loss for step in range(4)}
    assert len(losses) == 4


def nothing(count: int = 4) -> dict[str, np.ndarray]:
    return {**batch(count), "weight": np.zeros(count, np.float32)}


@pytest.mark.parametrize("precision", [CPU, Autocast(torch.device("cpu"), "bf16")])
def test_a_batch_that_weighs_nothing_is_a_step_that_changes_nothing(precision: Autocast) -> None:
    pupil, other = (learner(Objective("cross_entropy"), dropout=0.3, ema=0.9, precision=precision) for _ in range(2))
    for number, given in enumerate([batch(6), batch(9)]):
        other.step([given], step=2 * number, factor=1.0)
        pupil.step([given], step=2 * number, factor=1.0)
        empty = pupil.step(cut(nothing(), 2), step=2 * number + 1, factor=0.5)
        assert (empty.loss, empty.gradient_norm, empty.examples, empty.is_empty) == (0.0, 0.0, 4, True)
    for ours, theirs in zip(everything(pupil), everything(other), strict=True):
        assert torch.equal(ours, theirs)


def everything(pupil: Learner) -> list[torch.Tensor]:
    state = [values[name] for values in pupil.optimizer.state.values() for name in sorted(values)]
    return [*pupil.network.parameters(), *pupil.average_tensors(), *state]


def test_a_share_that_weighs_nothing_still_takes_part_in_the_step_of_all_processes() -> None:
    class Two(Solo):
        """A peer whose share of the batch weighs 3 and whose loss and gradient are added elsewhere."""

        def sum(self, values: Sequence[float]) -> list[float]:
            return [value + 3.0 for value in values] if len(values) == 1 else list(values)

    torch.manual_seed(0)
    net = Net(3, 0.0)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    pupil = Learner(net, optimizer, Objective("cross_entropy"), precision=CPU, seed=7, world=Two(), memory=Memory())
    assert not pupil.step([nothing()], step=0, factor=1.0).is_empty
    assert optimizer.state


def test_masked_texts_without_a_place_to_guess_are_a_step_that_changes_nothing() -> None:
    pupil = learner(Objective("cross_entropy"))
    given = {**batch(4), "label": np.full((4, 5), -100), "scored": np.zeros((4, 5), bool)}
    before = [tensor.clone() for tensor in everything(pupil)]
    assert pupil.step([given], step=0, factor=1.0).is_empty
    assert all(torch.equal(*pair) for pair in zip(before, everything(pupil), strict=True))
