"""What the tests of runs share."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The folder of a model that has a config and no weights."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "max_position_embeddings": 64}))
    return folder
