"""Tiny models: the same bytes each time, and torch's generator left alone."""

from pathlib import Path

import pytest
import torch

from burnish.testing.tiny_torch import FAMILIES, tiny_model


@pytest.mark.parametrize("architecture", sorted(FAMILIES))
def test_the_same_arguments_give_the_same_bytes(architecture: str, tmp_path: Path) -> None:
    first = tiny_model(tmp_path / "a", architecture=architecture)
    second = tiny_model(tmp_path / "b", architecture=architecture)
    names = {path.name for path in first.iterdir()}
    assert names == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


def test_another_seed_gives_other_weights(tmp_path: Path) -> None:
    first, second = (tiny_model(tmp_path / str(seed), seed=seed) / "model.safetensors" for seed in (0, 1))
    assert first.read_bytes() != second.read_bytes()


def test_the_callers_generator_is_left_as_it_was(tmp_path: Path) -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    tiny_model(tmp_path)
    assert torch.equal(torch.random.get_rng_state(), before)
