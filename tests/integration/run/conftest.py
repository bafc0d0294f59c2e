"""Runs of these tests are trained by forks, those apart that are about a process: what it costs and what ends it."""

import pytest

FRESH = ("test_train", "test_drill", "test_forecast")


@pytest.fixture(autouse=True, scope="module")
def _workers(request: pytest.FixtureRequest) -> None:
    if request.path.stem not in FRESH:
        request.getfixturevalue("quick_workers")
