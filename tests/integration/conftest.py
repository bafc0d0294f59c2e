"""One tiny model for all tests that train."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.testing.tiny_torch import tiny_model
from tests.project import BAD, GOOD, PLAIN


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a two-layer BERT that knows the words of the tests."""
    return tiny_model(tmp_path_factory.mktemp("models") / "bert", texts=(" ".join((*GOOD, *BAD, *PLAIN)),))


@pytest.fixture(autouse=True, scope="module")
def _tiny_numbers() -> Iterator[None]:
    """Put back what training in this process has turned off: numbers too small for other tests to be without."""
    yield
    import torch

    torch.set_flush_denormal(False)
