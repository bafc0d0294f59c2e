"""One tiny model for all tests that train."""

from pathlib import Path

import pytest

from burnish.testing.tiny_torch import tiny_model
from tests.project import BAD, GOOD, PLAIN


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a two-layer BERT that knows the words of the tests."""
    return tiny_model(tmp_path_factory.mktemp("models") / "bert", texts=(" ".join((*GOOD, *BAD, *PLAIN)),))
