"""Several losses over one batch, each divided by what it counts itself, however the batch is cut."""

import numpy as np
import pytest
import torch
from torch import nn

from burnish.engine.evaluate import infer_all
from burnish.engine.infer_torch import Autocast
from burnish.engine.learner_torch import Learner
from burnish.engine.losses_torch import Losses
from burnish.spec.values import HeadSpec, Objective, RandomKey, Term

CPU = Autocast(torch.device("cpu"))
HEAD = HeadSpec("any", 4, Objective("cross_entropy"), terms=(Term("pair", "order", Objective("cross_entropy"), 0.5),))


class Places(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.out, self.pair = nn.Embedding(20, 8), nn.Linear(8, 4), nn.Linear(8, 2)

    def forward(self, batch):
        hidden = self.embed(batch["input_ids"])
        return {"logits": self.out(hidden[batch["scored"]]), "pair": self.pair(hidden[:, 0])}


def batch(*, n=6, length=5, seed=0):
    random = np.random.default_rng(seed)
    return {
        "input_ids": random.integers(0, 20, (n, length)),
        "scored": random.random((n, length)) < 0.4,
        "label": random.integers(0, 4, (n, length)),
        "order": random.integers(0, 2, n),
        "row": np.arange(n),
        "at_word": np.tile(np.arange(length), (n, 1)),
    }


def learner():
    network = Places()
    return Learner(network, torch.optim.SGD(network.parameters(), lr=0.0), HEAD, precision=CPU, seed=0, clip=None)


def cut(whole, *edges):
    pieces = zip((0, *edges), (*edges, None), strict=True)
    return [{name: array[start:end] for name, array in whole.items()} for start, end in pieces]


def test_each_term_is_a_mean_over_what_it_counts():
    whole = batch()
    pupil = learner()
    tensors = {name: torch.tensor(array) for name, array in whole.items()}
    with torch.no_grad():
        given = pupil.network(tensors)
    places = nn.functional.cross_entropy(given["logits"], tensors["label"][tensors["scored"]])
    pairs = nn.functional.cross_entropy(given["pair"], tensors["order"])
    assert pupil.step([whole], step=0, factor=1.0).loss == pytest.approx(float(places + 0.5 * pairs), rel=1e-6)


@pytest.mark.parametrize("edges", [(3,), (1, 2, 5)])
def test_no_way_of_cutting_shows_in_loss_or_gradient(edges):
    found = []
    for pieces in (cut(batch()), cut(batch(), *edges)):
        pupil = learner()
        loss = pupil.step(pieces, step=0, factor=1.0).loss
        found.append((loss, torch.cat([p.grad.flatten() for p in pupil.network.parameters()])))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6)
    torch.testing.assert_close(found[0][1], found[1][1], rtol=1e-6, atol=1e-6)


def test_a_batch_without_a_label_adds_nothing_to_its_term():
    whole = batch()
    alone = {name: array for name, array in whole.items() if name != "order"}
    tensors = {name: torch.tensor(array) for name, array in alone.items()}
    with torch.no_grad():
        places = nn.functional.cross_entropy(Places()(tensors)["logits"], tensors["label"][tensors["scored"]])
    assert learner().step([alone], step=0, factor=1.0).loss == pytest.approx(float(places), rel=1e-6)


def test_a_process_without_a_share_of_a_batch_adds_a_zero_for_every_term():
    losses = Losses(HEAD.objective, HEAD.terms, CPU.device)
    assert losses.added([]) == [0.0, 0.0]
    assert losses.added([[1.0, 2.0], [3.0, 0.0]]) == [4.0, 2.0]


def test_answers_at_places_come_back_beside_their_rows_and_places():
    whole, pupil = batch(), learner()
    plan = [np.array([4, 0, 2]), np.array([1, 3, 5])]
    draws = [RandomKey(0, 0, is_training=False)]
    given = infer_all(pupil.infer, lambda at, _: {name: array[at] for name, array in whole.items()}, plan, draws=draws)
    order = np.lexsort((given["at_word"], given["row"]))
    rows, words = np.nonzero(whole["scored"])
    np.testing.assert_array_equal(given["row"][order], rows)
    np.testing.assert_array_equal(given["at_word"][order], words)
    np.testing.assert_array_equal(given["label"][order], whole["label"][whole["scored"]])
    np.testing.assert_allclose(given["logits"][order], pupil.infer(whole), rtol=1e-5, atol=1e-6)


def test_the_others_of_a_batch_are_the_wrong_answers():
    class Identity(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, batch):
            return batch["vectors"] * self.scale

    random = np.random.default_rng(0)
    vectors = random.normal(size=(5, 8)).astype(np.float32)
    network = Identity()
    head = HeadSpec("embedding", 8, Objective("in_batch"))
    pupil = Learner(network, torch.optim.SGD(network.parameters(), lr=0.0), head, precision=CPU, seed=0, clip=None)
    scores = vectors[:, :4] @ vectors[:, 4:].T
    wanted = np.mean([np.log(np.exp(row - row[at]).sum()) for at, row in enumerate(scores)])
    found = pupil.step([{"vectors": vectors, "label": np.zeros(5, dtype=np.int64)}], step=0, factor=1.0).loss
    assert found == pytest.approx(float(wanted), rel=1e-5)


def test_what_is_a_loss_already_is_averaged_over_what_counts():
    head = HeadSpec("any", 4, Objective("cross_entropy"), terms=(Term("found", "real", Objective("mean"), 2.0),))

    class Given(Places):
        def forward(self, batch):
            return {**super().forward(batch), "found": self.embed(batch["input_ids"]).sum(-1) ** 2}

    network = Given()
    pupil = Learner(network, torch.optim.SGD(network.parameters(), lr=0.0), head, precision=CPU, seed=0, clip=None)
    whole = {**batch(), "real": (np.arange(30).reshape(6, 5) % 3 > 0).astype(np.int64)}
    tensors = {name: torch.tensor(array) for name, array in whole.items()}
    with torch.no_grad():
        given = network(tensors)
    places = nn.functional.cross_entropy(given["logits"], tensors["label"][tensors["scored"]])
    wanted = float(places + 2.0 * given["found"][tensors["real"] == 1].mean())
    assert pupil.step([whole], step=0, factor=1.0).loss == pytest.approx(wanted, rel=1e-6)
    halves = pupil.step(cut(whole, 2), step=0, factor=1.0).loss
    assert halves == pytest.approx(wanted, rel=1e-6)


def test_a_batch_meets_the_losses_of_its_group_alone() -> None:
    parts = (
        HeadSpec("any", 2, Objective("cross_entropy"), weight=2.0),
        HeadSpec("any", 1, Objective("mean_squared_error")),
    )
    losses = Losses(Objective("cross_entropy"), (), CPU.device, parts=parts)
    classes = {"label": torch.tensor([0, 1, 1]), "group": torch.tensor([0, 0, 0])}
    numbers = {"label": torch.tensor([0.5, 1.0]), "group": torch.tensor([1, 1])}
    assert [losses.weights(batch) for batch in (classes, numbers)] == [[3.0, 0.0], [0.0, 2.0]]
    assert losses.added([]) == [0.0, 0.0]  # a process without a share agrees on how many sums there are
    logits = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 2.0]])
    ours = losses.total(logits, classes, weights=losses.weights(classes))
    torch.testing.assert_close(ours, 2 * torch.nn.functional.cross_entropy(logits, classes["label"]))
    said = torch.tensor([[0.0], [3.0]])
    ours = losses.total(said, numbers, weights=losses.weights(numbers))
    torch.testing.assert_close(ours, torch.nn.functional.mse_loss(said[:, 0], numbers["label"]))
