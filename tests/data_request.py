"""A data request for tests, as a run would make it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Asked:
    """Hold what a source asks of the run."""

    seed: int = 0
    stratify: str | None = None
    columns: tuple[str, ...] = ()
    quarantine: Path | None = None
