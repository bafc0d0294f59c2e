"""What is written is one moment, comes back bit for bit, and no damage to it goes unseen."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from burnish.engine import snapshot_torch
from burnish.engine.infer_torch import Autocast
from burnish.engine.learner_torch import Learner
from burnish.engine.progress import TrainingProgress
from burnish.engine.snapshot_torch import read_learner, snapshot
from burnish.engine.state import TrainState
from burnish.errors import CheckpointError
from burnish.optim.optimizers import Sgd
from burnish.registry import default_registry
from burnish.spec.experiment import Ema
from burnish.spec.values import Objective
from burnish.storage.checkpoints import CheckpointStore

FIXTURE = Path(__file__).parents[2] / "fixtures" / "checkpoint-v1"
FILES = ["weights.safetensors", "optimizer.safetensors", "averages.safetensors", "optimizer.json", "state.json"]


class Net(nn.Module):
    """Two layers that share one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return self.second(torch.tanh(self.first(batch["x"])))


def learner() -> Learner:
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    cpu = Autocast(torch.device("cpu"))
    return Learner(net, optimizer, Objective("cross_entropy"), precision=cpu, seed=7, ema=Ema(decay=0.9))


def step(pupil: Learner, number: int) -> None:
    random = np.random.default_rng(number)
    x = random.normal(size=(6, 4)).astype(np.float32)
    pupil.step([{"x": x, "label": random.integers(0, 4, 6)}], step=number, factor=1.0)


def tensors(pupil: Learner) -> list[Tensor]:
    state = [values[name] for values in pupil.optimizer.state.values() for name in sorted(values)]
    return [*pupil.network.parameters(), *pupil.average_tensors(), *state]


def numbered(pupil: Learner) -> None:
    """Give every tensor values that anyone can write down."""
    with torch.no_grad():
        for number, tensor in enumerate(tensors(pupil)):
            tensor.copy_(torch.arange(tensor.numel()).view(tensor.shape) / 8 + number)


def store(root: Path, told: list[str]) -> CheckpointStore:
    return CheckpointStore(root, root.parent / "quarantine", tell=told.append)


def save(root: Path, *steps: int) -> None:
    pupil = learner()
    for number in steps:
        step(pupil, number)
        state = {"train": TrainState(TrainingProgress(number)).to_json(), "cursor": {"epoch": 0, "batch": number}}
        store(root, []).save(number, state, snapshot(pupil).write)


def test_training_on_does_not_change_what_was_taken(tmp_path: Path) -> None:
    pupil = learner()
    step(pupil, 0)
    snapshot(pupil).write(tmp_path)
    taken = snapshot(pupil)
    step(pupil, 1)
    (tmp_path / "later").mkdir()
    taken.write(tmp_path / "later")
    for path in (tmp_path / "later").iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


def test_without_memory_for_a_copy_the_same_files_are_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pupil = learner()
    step(pupil, 0)
    snapshot(pupil).write(tmp_path)

    def fail(_tensors: object) -> object:
        raise MemoryError

    monkeypatch.setattr(snapshot_torch, "_copied", fail)
    taken = snapshot(pupil)
    assert not taken.is_copy
    (tmp_path / "in-place").mkdir()
    taken.write(tmp_path / "in-place")
    for path in (tmp_path / "in-place").iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


def test_its_size_is_known_before_it_is_written(tmp_path: Path) -> None:
    pupil = learner()
    step(pupil, 0)
    taken = snapshot(pupil)
    taken.write(tmp_path)
    written = sum(path.stat().st_size for path in tmp_path.glob("*.safetensors"))
    assert taken.num_bytes <= written <= taken.num_bytes + 4096


def test_a_folder_that_cannot_be_written_to_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file") as caught:
        snapshot(learner()).write(tmp_path / "nowhere")
    assert caught.value.errno == 2


def test_a_checkpoint_of_format_1_comes_back_to_the_exact_tensors(tmp_path: Path) -> None:
    shutil.copytree(FIXTURE, tmp_path / "checkpoints")
    found = store(tmp_path / "checkpoints", []).newest()
    assert found is not None
    loaded, expected = learner(), learner()
    step(expected, 0)
    numbered(expected)
    read_learner(loaded, found.path)
    for mine, theirs in zip(tensors(loaded), tensors(expected), strict=True):
        assert torch.equal(mine, theirs)
    saved = found.state()
    assert TrainState.from_json(saved["train"]) == TrainState(TrainingProgress(3, 0.25, 24, 0.5), 0.75, 2, 3, 1)
    assert saved["cursor"] == {"epoch": 0, "batch": 3}


def harms(path: Path) -> dict[str, bytes]:
    content = path.read_bytes()
    middle = len(content) // 2
    flipped = {f"flip {at}": content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in (0, middle)}
    last = content[:-1] + bytes([content[-1] ^ 1])
    cut = {"cut": content[:-1], "half": content[:middle], "empty": b""}
    return {**flipped, **cut, "flip last": last, "longer": content + b"0"}


@pytest.mark.parametrize("name", [*FILES, "MANIFEST.json"])
def test_any_damage_to_any_file_is_found_told_and_the_one_before_is_used(tmp_path: Path, name: str) -> None:
    save(tmp_path / "whole", 1, 2)
    path = tmp_path / "whole" / "step-00000002" / name
    for harm, content in harms(path).items():
        root = tmp_path / harm / "checkpoints"
        shutil.copytree(tmp_path / "whole", root)
        (root / "step-00000002" / name).write_bytes(content)
        told: list[str] = []
        found = store(root, told).newest()
        assert found is not None, harm
        assert found.step == 1, harm
        assert "step-00000002 is damaged" in told[0], harm
        assert (tmp_path / harm / "quarantine" / "step-00000002" / "REASON.txt").exists()


def test_damage_to_all_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "checkpoints", 1, 2)
    for folder in (tmp_path / "checkpoints").iterdir():
        (folder / "optimizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match="none of the 2 checkpoints"):
        store(tmp_path / "checkpoints", []).newest()


def test_state_of_weights_that_were_grouped_otherwise_is_refused(tmp_path: Path) -> None:
    pupil = learner()
    step(pupil, 0)
    snapshot(pupil).write(tmp_path)
    other = learner()
    first, *rest = other.network.parameters()
    other.optimizer = torch.optim.AdamW([{"params": [first]}, {"params": rest}], lr=0.01)
    with pytest.raises(CheckpointError, match="weights that were grouped otherwise"):
        read_learner(other, tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"param_groups": [', '"param_groups": [7, '),
        ('"params": [0, 1, 2]', '"params": null'),
        ('"params": [0, 1, 2]', '"params": [2, 1, 0]'),
        ('"lr": 0.01', '"lr": "much"'),
        ('"betas": [0.9, 0.999]', '"betas": [0.9]'),
        ('"eps": 1e-08', '"epsilon": 1e-08'),
        ('"state": {}', '"state": {"0": {"what": 1}}'),
        ('"state": {}', '"state": {"99": {}}'),
        ('"state": {}', '"state": [1]'),
    ],
)
def test_numbers_of_another_optimizer_are_refused_before_torch_takes_them(tmp_path: Path, old: str, new: str) -> None:
    pupil = learner()
    step(pupil, 0)
    snapshot(pupil).write(tmp_path)
    numbers = (tmp_path / "optimizer.json").read_text()
    assert old in numbers
    (tmp_path / "optimizer.json").write_text(numbers.replace(old, new))
    with pytest.raises(CheckpointError):
        read_learner(learner(), tmp_path)


@pytest.mark.parametrize("change", [("0/exp_avg", None), ("0/exp_avg", (4,)), ("1/step", (4,)), ("x", (1,))], ids=str)
def test_tensors_of_another_optimizer_are_refused(tmp_path: Path, change: tuple[str, tuple[int, ...] | None]) -> None:
    pupil = learner()
    step(pupil, 0)
    snapshot(pupil).write(tmp_path)
    name, shape = change
    held = load_file(tmp_path / "optimizer.safetensors")
    held.pop(name, None)
    save_file({**held, **({name: torch.zeros(shape)} if shape else {})}, tmp_path / "optimizer.safetensors")
    with pytest.raises(CheckpointError):
        read_learner(learner(), tmp_path)


OPTIMIZERS = [
    *((each.name, {}) for each in default_registry().names("optimizers") if each.name not in ("split", "torch")),
    ("adafactor", {"relative_step": False, "scale_parameter": False}),
    ("adafactor", {"warmup_init": True, "beta1": 0.9}),
    ("rmsprop", {"momentum": 0.9, "centered": True}),
    *(("torch", {"name": name}) for name in ("Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "Rprop")),
    ("torch", {"name": "Adam", "options": {"amsgrad": "true", "betas": ["0.8", "0.9"]}}),
    ("torch", {"name": "Muon", "vectors": Sgd(momentum=0.5)}),
]


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=lambda each: str(each)[:60])
def test_every_optimizer_knows_its_own_state(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    def pupil() -> Learner:
        torch.manual_seed(0)
        net = Net()
        cpu = Autocast(torch.device("cpu"))
        groups = [{"params": [*net.parameters()], "lr": 0.01, "weight_decay": 0.0}]
        optimizer = default_registry().load("optimizers", name)(**options).build(net, groups)
        return Learner(net, optimizer, Objective("cross_entropy"), precision=cpu, seed=7, ema=None)

    first, second = pupil(), pupil()
    for number in (0, 1):
        step(first, number)
    snapshot(first).write(tmp_path)
    read_learner(second, tmp_path)
    step(first, 2)
    step(second, 2)
    assert first.optimizer.state_dict()["state"]
    mine, theirs = ([each for each in tensors(pupil) if isinstance(each, Tensor)] for pupil in (first, second))
    assert all(map(torch.equal, mine, theirs))


def test_a_bug_of_ours_is_not_taken_for_a_checkpoint_that_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pupil = learner()
    snapshot(pupil).write(tmp_path)

    def bug(numbers: object) -> None:
        raise TypeError("an argument too many")

    monkeypatch.setattr(pupil, "take_numbers", bug)
    with pytest.raises(TypeError, match="an argument too many"):
        read_learner(pupil, tmp_path)
