"""Storage against servers that others wrote: gcp-storage-emulator for gs://, moto for s3://."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import s3

ROOT = Path(__file__).parents[3]
IS_FULL = os.environ.get("BURNISH_CLOUD") == "full"
SCRIPT = """
import os, sys
from pathlib import Path
from burnish.storage.mirror import Mirror
from burnish.storage.remote import Folder
from burnish.storage.spool import Spool, view

address, root = sys.argv[1], Path(sys.argv[2])
first = Spool(root / "a", Folder(address))
with first.held(tell=print) as (lease, uploaded):
    (first.path / "checkpoints" / "step-1").mkdir(parents=True)
    (first.path / "plan.yaml").write_text("plan")
    (first.path / "checkpoints/step-1/weights").write_bytes(os.urandom(40 << 20))
    (first.path / "checkpoints/step-1/MANIFEST.json").write_text("{}")
    mirror = Mirror(first.path, first.remote, uploaded, remember=lambda now: first.remember(lease.owner, now))
    mirror.publish()
    (first.path / "plan.yaml").unlink()
    mirror.publish()
    (first.path / "plan.yaml").write_text("plan again")
    mirror.publish()
    lease.beat(is_released=True)
second = Spool(root / "b", Folder(address))
with second.held(tell=print):
    for name in ("plan.yaml", "checkpoints/step-1/weights"):
        assert (second.path / name).read_bytes() == (first.path / name).read_bytes(), name
assert (view(address, root / "views") / "plan.yaml").read_text() == "plan again"
print("alike")
"""


@pytest.fixture
def gcs() -> Iterator[str]:
    server = pytest.importorskip("gcp_storage_emulator.server")
    pytest.importorskip("gcsfs")
    emulator = server.create_server("127.0.0.1", 0, in_memory=True, default_bucket="tank")
    emulator.start()
    host, port = emulator._api._httpd.socket.getsockname()
    yield f"http://{host}:{port}"
    emulator.stop()


def test_gs_on_the_emulator(gcs: str, tmp_path: Path) -> None:
    assert _run(sys.executable, "gs://tank/runs/one", tmp_path, STORAGE_EMULATOR_HOST=gcs).endswith("alike\n")


@pytest.mark.skipif(not IS_FULL, reason="make cloud installs moto and sets BURNISH_CLOUD=full")
def test_s3_on_moto(tmp_path: Path) -> None:
    with s3.moto() as variables:
        said = _run(str(s3.PYTHON), "s3://tank/runs/one", tmp_path, **variables)
        assert said.endswith("alike\n")


def _run(python: str, address: str, root: Path, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables}
    result = subprocess.run(
        [python, "-c", SCRIPT, address, str(root)], env=environment, capture_output=True, text=True, timeout=200
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
