"""A format of one's own is read by `predict --format` and by content type."""

import subprocess
import sys
from pathlib import Path

import httpx

from tests.harness.server import running_server

PIPES = """
from burnish.spec.component import Component

class Pipes(Component):
    content_type: str = "text/x-pipes"

    def decode(self, payload):
        return [{"text": text} for text in payload.decode().strip().split("|")]

    def encode(self, answers):
        return "|".join(each["predicted"] for each in answers).encode()
"""


def test_a_format_of_ones_own(artifacts: Path, tmp_path: Path) -> None:
    (artifacts / "pipes.py").write_text(PIPES)
    command = [sys.executable, "-m", "burnish", "predict", "texts", "--format"]
    payload = b"a good film|a dull plot"
    done = subprocess.run([*command, "pipes:Pipes"], cwd=artifacts, input=payload, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert set(done.stdout.split(b"|")) <= {b"pos", b"neg"}
    words = ("texts", "--format", "pipes:Pipes")
    with running_server(*words, directory=artifacts, log=tmp_path / "log") as running:
        for content, status in ((payload, 200), (b"\xff", 400)):
            answer = httpx.post(f"{running.url}/v1/predict", content=content, headers={"content-type": "text/x-pipes"})
            assert answer.status_code == status
        assert "Pipes: UnicodeDecodeError" in answer.json()["error"]
        good = httpx.post(f"{running.url}/v1/predict", content=payload, headers={"content-type": "text/x-pipes"})
        assert (good.content, good.headers["content-type"]) == (done.stdout, "text/x-pipes")
    done = subprocess.run([*command, "jsonll"], cwd=artifacts, input=payload, capture_output=True, text=False)
    assert (done.returncode, b"There are json, " in done.stderr) == (2, True)
