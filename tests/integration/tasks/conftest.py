"""What the exams of all tasks share: one server of workers, and tiny models of every family, each made once."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from burnish.testing.tiny_torch import tiny_model
from tests.harness.fork_server import ForkServer, fork_server
from tests.project import BAD, GOOD, PLAIN


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    with fork_server() as started:
        yield started


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the folder of a two-layer model of a family, which knows the words of the tests."""

    @cache
    def made(architecture: str) -> Path:
        texts = (" ".join((*GOOD, *BAD, *PLAIN, ".")),)
        folder = tiny_model(tmp_path_factory.mktemp("tiny") / architecture, architecture=architecture, texts=texts)
        if architecture == "xlnet":
            _give_mask(folder / "tokenizer_config.json")
        return folder

    return made


def _give_mask(path: Path) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | {"mask_token": "<unk>"}))
