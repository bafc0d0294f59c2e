"""Finds the artifact that a user means: its own folder, or the run that made it."""

from pathlib import Path
from typing import Literal

from burnish.errors import CheckpointError
from burnish.storage.manifest import NAME

Engine = Literal["torch", "onnx", "onnx-int8"]
"""What computes the answers: torch, or a graph that was exported."""
EngineChoice = Literal["torch", "onnx", "onnx-int8", "auto"]
"""`auto` is the fastest on this machine whose score was proved to be as good."""


def find_artifact(target: str) -> Path:
    """Give the artifact's folder; say what is there when it is none."""
    path = Path(target)
    for folder in (path, path / "artifact"):
        if (folder / NAME).is_file() and (folder / "experiment.yaml").is_file():
            return folder
    if (path / "plan.yaml").is_file():
        raise CheckpointError(
            f"{path} is a run without an artifact yet; finish it with `burnish resume {path}`, "
            f"or score what it has with `burnish evaluate {path} --checkpoint last`"
        )
    raise CheckpointError(f"{path} is neither a run nor an artifact; `burnish runs ls` lists runs")
