"""When memory runs out, a step is done again in smaller pieces, and nothing else changes."""

import json
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from burnish.engine.evaluate import Fitting, infer_all, plainly
from burnish.engine.infer_torch import Autocast
from burnish.engine.learner_torch import Learner
from burnish.engine.memory_torch import Memory, cut_to_fit, is_out_of_memory
from burnish.engine.recovery import BadStep
from burnish.errors import BurnishError
from burnish.models.transformers.dropout_torch import use_lean_dropout
from burnish.spec.values import Objective, RandomKey

CPU = Autocast(torch.device("cpu"))
WORDS = "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes"


class Tight(nn.Module):
    """Runs out of memory with more than `room` examples."""

    def __init__(self, room: int, error: type[Exception], dropout: float = 0.0) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 3))
        self.room = room
        self.error = error
        self.seen: list[int] = []

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        self.seen.append(len(batch["x"]))
        logits = self.layers(batch["x"])
        if len(batch["x"]) > self.room:
            raise self.error(WORDS)
        return logits


def learner(room: int, *, memory: Memory | None = None, dropout: float = 0.0, error: type = RuntimeError) -> Learner:
    torch.manual_seed(0)
    net = Tight(room, error, dropout)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    objective = Objective("cross_entropy", class_weights=(1.0, 5.0, 0.2))
    return Learner(net, optimizer, objective, precision=CPU, seed=7, memory=memory)


def batch(count: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(count)
    x = random.normal(size=(count, 6)).astype(np.float32)
    return {"x": x, "label": random.integers(0, 3, count), "row": np.arange(count)}


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, torch.OutOfMemoryError])
def test_the_gradient_is_that_of_the_whole_batch(error: type[Exception]) -> None:
    whole, tight = learner(99), learner(3, error=error)
    given = [batch(11), batch(7)]
    one, many = (pupil.step(given, step=0, factor=1.0) for pupil in (whole, tight))
    assert many.loss == pytest.approx(one.loss, abs=1e-6)
    assert many.gradient_norm == pytest.approx(one.gradient_norm, abs=1e-6)
    assert (many.examples, many.tokens) == (one.examples, one.tokens)
    for mine, theirs in zip(whole.network.parameters(), tight.network.parameters(), strict=True):
        assert torch.allclose(mine.grad, theirs.grad, atol=1e-6)  # type: ignore[arg-type]


def test_it_is_recorded_and_later_batches_are_cut_without_trying() -> None:
    told: list[tuple[int, int]] = []
    pupil = learner(4, memory=Memory(record=lambda step, size: told.append((step, size))))
    for step in range(3):
        pupil.step([batch(8)], step=step, factor=1.0)
    assert told == [(0, 48)]
    assert pupil.network.seen == [8, 4, 4, 4, 4, 4, 4]


def test_what_is_dropped_does_not_depend_on_how_a_batch_is_cut() -> None:
    given = {**batch(11), "example": np.arange(50, 61)}
    parts = [{name: each[:4] for name, each in given.items()}, {name: each[4:] for name, each in given.items()}]
    whole, tight, apart = (learner(room, dropout=0.5) for room in (99, 2, 99))
    for pupil in (whole, tight, apart):
        use_lean_dropout(pupil.network)
    cuts = zip((whole, tight, apart), ([given], [given], parts), strict=True)
    losses = [pupil.step(cut, step=3, factor=1.0).loss for pupil, cut in cuts]
    assert losses == pytest.approx([losses[0]] * 3, abs=1e-6)
    for mine, *others in zip(*(pupil.network.parameters() for pupil in (whole, tight, apart)), strict=True):
        for other in others:
            assert torch.allclose(mine.grad, other.grad, atol=1e-6)


def test_a_run_resumed_from_before_it_or_after_it_comes_to_the_same_bits() -> None:
    told: list[tuple[int, int]] = []
    whole = learner(4, memory=Memory(record=lambda step, size: told.append((step, size))), dropout=0.5)
    sizes = [4, 3, 8, 12, 8]
    for step, count in enumerate(sizes):
        whole.step([batch(count)], step=step, factor=1.0)
    assert told == [(2, 48), (3, 36)]
    # This one has all the memory in the world and must split all the same, from the same step on.
    again = learner(99, memory=Memory(tuple(told)), dropout=0.5)
    for step, count in enumerate(sizes):
        again.step([batch(count)], step=step, factor=1.0)
    for mine, theirs in zip(whole.network.parameters(), again.network.parameters(), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, torch.OutOfMemoryError])
def test_answers_that_do_not_fit_are_given_in_pieces_and_it_is_recorded(error: type[Exception]) -> None:
    told: list[tuple[int, int]] = []
    memory = Memory(record=lambda step, size: told.append((step, size)))
    whole, tight = learner(99), learner(3, error=error)
    plan = [np.arange(11), np.arange(11, 13)]
    given = batch(13)

    def answers(pupil: Learner, fitting: Fitting) -> dict[str, np.ndarray]:
        draw = RandomKey(seed=0, epoch=0, is_training=False)
        return infer_all(
            pupil.infer, lambda i, _: {k: v[i] for k, v in given.items()}, plan, draws=[draw], fitting=fitting
        )

    cut = answers(tight, partial(memory.answer, step=7))
    assert cut["logits"] == pytest.approx(answers(whole, plainly)["logits"], abs=1e-6)
    assert cut["row"].tolist() == list(range(13))
    assert told == [(7, 66), (7, 36), (7, 30)]
    assert tight.network.seen[-5:] == [3, 3, 3, 2, 2]
    # Resumed with all the memory in the world, it cuts the same from that step on, and not before.
    again = learner(99)
    assert answers(again, partial(Memory(tuple(told)).answer, step=7))["logits"].tobytes() == cut["logits"].tobytes()
    assert again.network.seen == [3, 3, 3, 2, 2]
    answers(again, partial(Memory(tuple(told)).answer, step=6))
    assert again.network.seen[-2:] == [11, 2]


def test_a_single_example_that_does_not_fit_is_refused() -> None:
    with pytest.raises(BurnishError, match=r"a single example does not fit into memory in step 3"):
        learner(0).step([batch(4)], step=2, factor=1.0)


def test_other_errors_are_not_taken_for_it() -> None:
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_out_of_memory(ValueError(WORDS))


def test_pieces_hold_every_example_once() -> None:
    pieces = cut_to_fit([batch(13), batch(2)], limit=20)
    assert [row for piece in pieces for row in piece["row"]] == [*range(13), 0, 1]
    assert all(piece["x"].size < 20 for piece in pieces)


def test_a_bad_step_changes_no_weight() -> None:
    pupil = learner(99)
    before = [parameter.detach().clone() for parameter in pupil.network.parameters()]
    given = {**batch(4), "x": np.full((4, 6), np.nan, dtype=np.float32)}
    with pytest.raises(BadStep) as caught:
        pupil.step([given], step=5, factor=1.0)
    assert (caught.value.step, caught.value.rows) == (6, (0, 1, 2, 3))
    for was, now in zip(before, pupil.network.parameters(), strict=True):
        assert torch.equal(was, now)


LIMITED = """
import json, resource
import numpy as np, torch
from torch import nn
from burnish.engine.infer_torch import Autocast
from burnish.engine.learner_torch import Learner
from burnish.engine.memory_torch import Memory
from burnish.spec.values import Objective

class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 3).double()
    def forward(self, batch):
        return self.first(batch["x"].double().repeat(1, 1, 30_000).view(len(batch["x"]), -1, 6)).tanh().mean(dim=1)

def take_step():
    torch.manual_seed(0)
    net, told = Wide(), []
    pupil = Learner(net, torch.optim.SGD(net.parameters(), lr=0.1), Objective("cross_entropy"),
                    precision=Autocast(torch.device("cpu")), seed=0,
                    memory=Memory(record=lambda step, size: told.append(size)))
    result = pupil.step([batch(32)], step=0, factor=1.0)
    return {"loss": result.loss, "norm": result.gradient_norm, "told": told}
def batch(count):
    random = np.random.default_rng(count)
    return {"x": random.normal(size=(count, 1, 6)).astype(np.float32), "label": random.integers(0, 3, count)}
torch.set_num_threads(1)
free = take_step()
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (48 << 20), -1))
print(json.dumps([free, take_step()]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux only")
def test_under_a_real_limit_of_memory_the_step_comes_to_the_same_numbers() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    free, tight = json.loads(done.stdout)
    assert free["told"] == []
    assert tight["told"]
    assert tight["loss"] == pytest.approx(free["loss"], abs=1e-6)
    assert tight["norm"] == pytest.approx(free["norm"], abs=1e-6)
