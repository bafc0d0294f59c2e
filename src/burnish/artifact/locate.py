"""Finds the artifact that a user means: its own folder, or the run that made it."""

from pathlib import Path
from typing import Literal

from burnish.durable import read_json
from burnish.errors import CheckpointError
from burnish.storage.address import read_address
from burnish.storage.manifest import NAME, fault

Engine = Literal["torch", "onnx", "onnx-int8"]
"""What computes the answers: torch, or a graph that was exported."""
EngineChoice = Literal["torch", "onnx", "onnx-int8", "auto"]
"""`auto` is the fastest on this machine whose score was proved to be as good."""


def find_artifact(target: str) -> Path:
    """Give the artifact's folder; say what is there when it is none."""
    address = read_address(target)
    path = (best_run(Path(target)) or Path(target)) if address is None else _stage(address)
    for folder in (path, path / "artifact"):
        if (folder / NAME).is_file() and (folder / "experiment.yaml").is_file():
            return folder
    if (path / "plan.yaml").is_file():
        raise CheckpointError(
            f"{path} is a run without an artifact yet; finish it with `burnish resume {path}`, "
            f"or score what it has with `burnish evaluate {path} --checkpoint last`"
        )
    raise CheckpointError(f"{path} is neither a run nor an artifact; `burnish runs ls` lists runs")


def best_run(study: Path) -> Path | None:
    """Find the run in a study that its table calls the best; None if this is no study, or no trial has ended."""
    try:
        document = read_json(study / "study.json")
    except (OSError, ValueError):
        return None
    name = document.get("best_run") if isinstance(document, dict) else None
    # A table that somebody else wrote must not lead out of its own folder.
    return study / name if isinstance(name, str) and Path(name).name == name and name not in ("", "..") else None


def _stage(address: str) -> Path:
    """Bring an artifact here, also that of a run, and verify every file of it."""
    from burnish.data.cache.staged import stage_folder_at  # nobody whose files are local waits for it
    from burnish.storage.remote import Folder, keep_trying

    there = keep_trying(Folder(address).listing)
    inside = next((each for each in ("", "artifact") if f"{each}/{NAME}".lstrip("/") in there), None)
    if inside is None:
        what = "a run without an artifact yet" if "plan.yaml" in there else "neither a run nor an artifact"
        raise CheckpointError(f"{address} is {what}; `burnish runs ls {address.rpartition('/')[0]}` lists runs there")
    folder = stage_folder_at(address, inside=inside)
    wrong = fault(folder)
    if wrong is not None:
        raise CheckpointError(f"{address} cannot be used: {wrong}; copy the artifact there again")
    return folder
