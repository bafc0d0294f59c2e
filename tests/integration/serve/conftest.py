from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.server import RunningServer, make_artifacts, running_server


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory, interpreter: Path) -> Path:
    return make_artifacts(tmp_path_factory.mktemp("served"), interpreter)


@pytest.fixture(scope="session")
def server(artifacts: Path) -> Iterator[RunningServer]:
    words = ("texts", "rides", "--access-log", "--deadline", "30")  # however busy the machine is
    with running_server(*words, directory=artifacts, log=artifacts / "server.log") as running:
        yield running
