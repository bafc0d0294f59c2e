"""Tiny models, made once for all tests of a session."""

from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.spec.values import HeadSpec, Objective
from burnish.testing.tiny_torch import tiny_model


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Give the folder of a tiny model of an architecture."""
    root = tmp_path_factory.mktemp("tiny")
    made: dict[str, str] = {}

    def folder(architecture: str) -> str:
        if architecture not in made:
            made[architecture] = str(tiny_model(Path(root, architecture), architecture=architecture))
        return made[architecture]

    return folder


@pytest.fixture
def head() -> HeadSpec:
    return HeadSpec("sequence_classification", 3, Objective("cross_entropy"), ("bad", "fair", "good"))
