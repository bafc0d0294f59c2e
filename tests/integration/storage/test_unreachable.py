"""A bucket or a server that is not there: refused soon, in one sentence, with no log of a library."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import s3

ROOT = Path(__file__).parents[3]
MOST_SECONDS = 10.0
START_SECONDS = 10.0
"""For the start of Python and its imports on a busy machine."""
TRY = """
import sys, time
from pathlib import Path
from burnish.errors import StorageError
from burnish.storage.remote import Folder, keep_trying
began = time.monotonic()
folder = Folder(sys.argv[1])
try:
    keep_trying({"listing": folder.listing, "read": folder.read, "probe": folder.probe}[sys.argv[2]])
except StorageError as error:
    print(f"{time.monotonic() - began:.2f}\\n{error}")
"""


@pytest.fixture
def silent() -> Iterator[str]:
    """Accept connections and never answer."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


NO_HOST = "http://no-such-host.invalid"


def _try(python: str, address: str, work: str, **variables: str) -> str:
    """Touch an address in a process of its own; give the sentence that refuses it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables}
    result = subprocess.run(
        [python, "-c", TRY, address, work], env=environment, capture_output=True, text=True, timeout=200
    )
    assert result.stderr == ""
    seconds, sentence = result.stdout.splitlines()
    assert float(seconds) <= MOST_SECONDS
    return sentence


@pytest.mark.parametrize("work", ["listing", "read", "probe"])
def test_a_bucket_that_never_answers_is_refused_within_seconds(silent: str, work: str) -> None:
    pytest.importorskip("gcsfs")
    sentence = _try(sys.executable, "gs://tank/runs/one", work, STORAGE_EMULATOR_HOST=silent)
    assert sentence.startswith("gs://tank gave no answer within")
    assert f"STORAGE_EMULATOR_HOST, which is {silent}" in sentence


def test_the_reason_is_in_the_sentence(closed: str) -> None:
    pytest.importorskip("gcsfs")
    assert "Cannot connect" in _try(sys.executable, "gs://tank/a", "listing", STORAGE_EMULATOR_HOST=closed)
    sentence = _try(sys.executable, "gs://tank/a", "listing", STORAGE_EMULATOR_HOST=NO_HOST)
    assert "Cannot connect to host no-such-host.invalid" in sentence


def test_a_machine_without_credentials_and_metadata_server_is_told_how_to_log_in(
    tmp_path: Path, closed: str, silent: str
) -> None:
    pytest.importorskip("gcsfs")
    variables = {"HOME": str(tmp_path), "GCE_METADATA_HOST": silent.removeprefix("http://")}
    sentence = _try(sys.executable, "gs://tank/a", "listing", **variables, FSSPEC_GS_ENDPOINT_URL=closed)
    assert "gcloud auth application-default login" in sentence
    assert "unavailable metadata server" in sentence
    assert "NO_GCE_CHECK=true" in sentence


@pytest.mark.parametrize("work", ["listing", "read"])
def test_a_web_server_that_never_answers_is_refused_within_seconds(silent: str, work: str) -> None:
    assert "no answer within" in _try(sys.executable, f"{silent}/data.csv", work)


def test_a_closed_web_server_is_refused_at_once(closed: str) -> None:
    assert "could not be reached" in _try(sys.executable, f"{closed}/data.csv", "read")


def test_train_into_an_address_without_a_network_is_refused_soon(tmp_path: Path, silent: str) -> None:
    pytest.importorskip("gcsfs")
    (tmp_path / "rides.csv").write_text("distance,tip\n" + "".join(f"{n},{n % 2}\n" for n in range(40)))
    (tmp_path / "rides.yaml").write_text(
        "task: {type: tabular, target: tip, kind: binary}\ndata: {train: rides.csv}\nmodel: deep\n"
    )
    variables = {"STORAGE_EMULATOR_HOST": silent, "PYTHONPATH": str(ROOT / "src"), "BURNISH_STATE": str(tmp_path / "s")}
    began = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-m", "burnish", "train", "rides.yaml", "--dir", "gs://tank/runs/one"],
        cwd=tmp_path,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert time.monotonic() - began <= MOST_SECONDS + START_SECONDS
    assert result.returncode == 9, result.stderr
    assert "error: gs://tank gave no answer within" in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(
    os.environ.get("BURNISH_CLOUD") != "full", reason="make cloud installs s3fs and sets BURNISH_CLOUD=full"
)
@pytest.mark.parametrize("place", ["silent", "closed", "nowhere"])
def test_an_s3_endpoint_that_is_not_there_is_refused_within_seconds(place: str, silent: str, closed: str) -> None:
    endpoint = {"silent": silent, "closed": closed, "nowhere": NO_HOST}[place]
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}
    assert "AWS_ENDPOINT_URL" in _try(str(s3.PYTHON), "s3://tank/a", "listing", AWS_ENDPOINT_URL=endpoint, **keys)
