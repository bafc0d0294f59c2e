import os
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with the file that holds what it should be; BURNISH_UPDATE_GOLDEN=1 writes the file."""

    def compare(name: str, text: str) -> None:
        path = HERE / f"{name}.txt"
        text = text.replace(Path.cwd().as_uri(), "file:///here")  # a folder of its own for each test
        if os.environ.get("BURNISH_UPDATE_GOLDEN") == "1":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture(autouse=True)
def _plain_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the checks of experiments leave models to the hub: which of them a machine holds is no part of a page."""
    monkeypatch.setattr("burnish.models.transformers.models_here.is_offline", lambda: False)
    monkeypatch.setattr("burnish.models.transformers.models_here.find_models_here", list)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine take its time: that a start lasts is told by the clock, and no page here is about it."""
    monkeypatch.setattr("burnish.cli.console.STARTING_SECONDS", 3600.0)
