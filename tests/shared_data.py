"""Finds the real data sets that some tests read, if this machine has them."""

import os
from pathlib import Path

import pytest


def shared_data(*parts: str) -> Path:
    """Give a path inside the shared data sets, or skip the test."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("BURNISH_SHARED_DATA", beside)).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the shared data sets are not here: no {'/'.join(parts)}; set BURNISH_SHARED_DATA")
    return path
