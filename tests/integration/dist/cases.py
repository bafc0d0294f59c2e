"""Computations that must not show how many processes share them; run as a module, one rank of several."""

import sys
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from burnish.dist import gradients_torch
from burnish.dist.world import World, world_from_environment
from burnish.engine.evaluate import infer_all
from burnish.engine.infer_torch import Inference, Autocast
from burnish.engine.learner_torch import Learner
from burnish.engine.memory_torch import Memory
from burnish.errors import BurnishError
from burnish.spec.values import RandomKey, Objective, Profile
from burnish.tasks.text_classification.decoder import decode

CPU = Autocast(torch.device("cpu"))
OBJECTIVES = {
    "plain": (Objective("cross_entropy"), "classes"),
    "weighted": (Objective("cross_entropy", class_weights=(1.0, 5.0, 0.2), label_smoothing=0.1), "classes"),
    "focal": (Objective("focal", class_weights=(1.0, 2.0, 3.0)), "classes"),
    "sets": (Objective("binary_cross_entropy", class_weights=(1.0, 4.0, 0.5)), "sets"),
    "numbers": (Objective("mean_squared_error"), "numbers"),
}
SIZES = (12, 11, 1)
"""Even, odd, and one example, so that a second process has none."""
CUTS = (1, 3)
BUCKETS = (40, 10_000)
"""Bytes: nearly every parameter alone and the table by its rows, or everything together."""
FEATURES = 23
PLANS = {"several batches": 4, "one batch": FEATURES}


class Net(nn.Module):
    """Two layers, one of which nobody uses."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, size))
        self.unused = nn.Linear(3, 3)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.layers(batch["x"])


def compute(world: World) -> dict[str, np.ndarray]:
    """Give every figure by a name, the same names on every rank."""
    found: dict[str, np.ndarray] = {}
    for name in OBJECTIVES:
        for size in SIZES:
            for cut in CUTS:
                found |= {f"{name}/{size}/{cut}/{key}": value for key, value in step(world, name, size, cut).items()}
    for size in BUCKETS:
        found |= {f"{size}/{key}": value for key, value in several_steps(world, bucket_bytes=size).items()}
    for name, examples in PLANS.items():
        found |= {f"{name}/{key}": value for key, value in evaluation(world, examples).items()}
    return found


def step(world: World, name: str, size: int, cut: int) -> dict[str, np.ndarray]:
    """Learn from this rank's share of one global batch, in `cut` micro-batches."""
    objective, kind = OBJECTIVES[name]
    learner = new_learner(objective, 1 if kind == "numbers" else 3, world)
    whole = batch(size, kind)
    parts = np.array_split(np.arange(size)[world.rank :: world.size], cut)
    batches = [{key: values[part] for key, values in whole.items()} for part in parts if len(part)]
    result = learner.step(batches, step=0, factor=1.0)
    gradients = [p.grad for p in learner.network.parameters() if p.grad is not None]
    return {
        "loss": np.array(result.loss),
        "norm": np.array(result.gradient_norm),
        "counts": np.array([result.examples, result.tokens, len(gradients)]),
        "gradient": torch.cat([gradient.reshape(-1) for gradient in gradients]).numpy(),
    }


def new_learner(objective: Objective, size: int, world: World) -> Learner:
    torch.manual_seed(0)
    net = Net(size)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=0.5)
    return Learner(net, optimizer, objective, precision=CPU, seed=7, clip=None, world=world)


def batch(count: int, kind: str) -> dict[str, np.ndarray]:
    random = np.random.default_rng(count)
    label = {
        "classes": lambda: random.integers(0, 3, count),
        "numbers": lambda: random.normal(size=count),
        "sets": lambda: random.integers(0, 2, (count, 3)).astype(np.float32),
    }[kind]()
    mask = random.integers(0, 2, (count, 4))
    return {"x": random.normal(size=(count, 6)).astype(np.float32), "attention_mask": mask, "label": label}


class Heads(nn.Module):
    """A table of which few rows are used, a head for each step, and memory that one process lacks, on the way back."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.table = nn.Embedding(64, 8)
        self.heads = nn.ModuleList(nn.Linear(8, 4) for _ in range(3))
        self.last = nn.Linear(4, 3)
        self.chosen, self.world, self.lacks = 0, world, ""
        self.sent_early: Callable[[], int] = int
        self.activation: Callable[[], torch.Tensor | None] = lambda: None

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        hidden = self.table(batch["x"][:, :2].abs().mul(10).long().clamp(max=63)).mean(dim=1)
        hidden.register_hook(self._fail_once)
        self.activation = weakref.ref(hidden)
        logits: torch.Tensor = self.last(self.heads[self.chosen](hidden))
        return logits

    def _fail_once(self, gradient: torch.Tensor) -> torch.Tensor:
        self.num_early = self.sent_early()
        if self.lacks == "memory":
            self.lacks = ""
            raise MemoryError
        return gradient

    def send(self, parameters: Sequence[nn.Parameter]) -> "tuple[dist.Work | None, torch.Tensor]":
        """Send gradients; where memory is short there is none for it, until the activations are gone."""
        if self.lacks == "memory to send" and self.activation() is not None:
            raise torch.OutOfMemoryError
        self.lacks = ""
        return SEND(parameters)


STEPS = {"first head": 0, "late head": 1, "the same": 1, "lacks memory": 1, "lacks memory to send": 1, "first again": 0}
SEND = gradients_torch._send


def several_steps(world: World, *, bucket_bytes: int) -> dict[str, np.ndarray]:
    """Take steps that use other parts of a network than the ones before, and run out of memory on the way back."""
    with patch.object(gradients_torch, "_BUCKET_BYTES", bucket_bytes):
        torch.manual_seed(0)
        net = Heads(world)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=0.5)
        learner = Learner(net, optimizer, OBJECTIVES["plain"][0], precision=CPU, seed=7, world=world)
    if isinstance(learner._sums, gradients_torch.GradientSum):
        sums = learner._sums
        net.sent_early = lambda: sums._num_sent
    found = {}
    for number, (name, head) in enumerate(STEPS.items()):
        is_last = world.rank == world.size - 1
        net.chosen, net.lacks = head, name.removeprefix("lacks ") if is_last and name.startswith("lacks") else ""
        whole = batch(13 + number, "classes")
        parts = np.array_split(np.arange(13 + number)[world.rank :: world.size], 2)
        with patch.object(gradients_torch, "_send", net.send):
            given = [{key: each[part] for key, each in whole.items()} for part in parts]
            loss = learner.step(given, step=number, factor=1)
        gradients = [torch.full((1,), torch.nan) if p.grad is None else p.grad.flatten() for p in net.parameters()]
        weights = [p.detach().flatten() for p in net.parameters()]
        found |= {f"{name}/loss": np.array(loss.loss), f"{name}/gradients": torch.cat(gradients).numpy()}
        found |= {f"{name}/weights": torch.cat(weights).numpy(), f"{name}/early": np.array(net.num_early)}
    return found


def evaluation(world: World, examples: int) -> dict[str, np.ndarray]:
    """Predict windows of rows, from two views, and pool them to rows."""
    random = np.random.default_rng(3)
    x = random.normal(size=(FEATURES, 6)).astype(np.float32)
    rows = np.sort(random.integers(0, 9, FEATURES))
    torch.manual_seed(1)
    inference = Inference(Net(3), CPU)
    order = random.permutation(FEATURES)
    outputs = infer_all(
        inference.infer,
        lambda indices, draw: {"x": x[indices] + draw.view, "row": rows[indices], "label": rows[indices] % 3},
        [order[start : start + examples] for start in range(0, FEATURES, examples)],
        draws=[RandomKey(seed=0, epoch=0, is_training=False, view=view) for view in range(2)],
        world=world,
    )
    assert len(set(outputs["part"].tolist())) == 2 * FEATURES
    outcome = decode(outputs, Profile("multiclass", ("a", "b", "c")), pool="mean", threshold=0.5)
    return {"rows": outcome.rows, "outputs": outcome.outputs, "truth": outcome.truth}


def memory(world: World, *, room: int) -> dict[str, np.ndarray]:
    """Answer eight examples where only rank 1 lacks memory, and tell what was answered in one piece, and recorded."""
    told: list[tuple[int, int]] = []
    seen: list[int] = []

    def infer(batch: dict[str, np.ndarray]) -> np.ndarray:
        seen.append(len(batch["x"]))
        if world.rank == 1 and len(batch["x"]) > room:
            raise MemoryError
        return batch["x"]

    kept = Memory(record=lambda step, size: told.append((step, size)), world=world)
    try:
        answers = kept.answer(infer, lambda infer: infer(batch(8, "classes")), step=5)
    except BurnishError as error:
        return {"error": np.array(str(error)), "seen": np.array(seen)}
    return {"answers": answers, "seen": np.array(seen), "told": np.array(told)}


def main(folder: Path) -> None:
    """Write what this rank found, and what the ranks could tell one another."""
    torch.set_num_threads(1)
    world = world_from_environment()
    told = world.gather({"rank": world.rank, "ids": np.arange(world.rank * 5, dtype=np.int32), "words": ["é"]})
    extra = {"sum": np.array(world.sum([1.0, world.rank + 0.1])), "ids": told[1]["ids"]}
    assert [each["rank"] for each in told] == [0, 1]
    assert [each["words"] for each in told] == [["é"], ["é"]]
    world.barrier()
    extra |= {f"room {room}/{name}": value for room in (3, 0) for name, value in memory(world, room=room).items()}
    np.savez(folder / f"rank{world.rank}.npz", **{f"extra/{k}": v for k, v in extra.items()}, **compute(world))
    world.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
