"""A secret in every place where a user may put one is found in nothing that is written, printed or rendered."""

import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

pytest.importorskip("google.cloud.aiplatform_v1", reason="the extra `vertex` brings it")
pytest.importorskip("gcp_storage_emulator", reason="the storage of the loop")

from burnish.cli.main import run
from burnish.storage.remote import Folder
from tests.harness.cloud import BUCKET, Cloud, loopback_cloud
from tests.harness.server import TABLE, write_rides

MARK = "s3cret"
VARIABLES = {
    "SLACK_WEBHOOK_URL": f"http://PLACE/services/{MARK}-slack",
    "HOOK": f"http://PLACE/hook?token={MARK}-hook",
    "HOOK_KEY": f"{MARK}-signs",
    "APPRISE_URLS": f"json://me:{MARK}-apprise@PLACE",
    "JOB_TOKEN": f"{MARK}-job",
    "HF_TOKEN": f"{MARK}-hub",
    "WANDB_API_KEY": f"{MARK}-wandb",
    "AWS_SECRET_ACCESS_KEY": f"{MARK}-aws",
    "BURNISH_API_KEY": f"{MARK}-serve",
}
NOTIFY = """\
notify:
  - {type: slack, on: [start, best, end, failure]}
  - {type: webhook, url: "${env:HOOK}", key: "${env:HOOK_KEY}", on: [start, end, failure]}
  - {type: webhook, url: "file:hook.txt", on: [end]}
  - {type: apprise, on: [end]}
"""
LAUNCH = f"""\
launch:
  bucket: {BUCKET}
  image: IMAGE
  env: {{WRITTEN: {MARK}-file, JOB_TOKEN: null}}
"""
REFUSED = [
    ["name=${env:JOB_TOKEN}"],
    ["notify=[{type: slack, url: http://hooks/s3cret-literal}]"],
    ["notify=[{type: webhook, key: s3cret-literal}]"],
    ["data.train=https://me:s3cret-login@127.0.0.1:9/a.csv"],
    ["launch.env=s3cret-odd"],
    ["launch.env.A={a: s3cret-odd}"],
    ["launch.env.A=s3cret-odd", "launch.machine=n1"],
]


class Refuser(BaseHTTPRequestHandler):
    """Refuses every message for good, so that nobody tries again and the refusal is noted."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_error(400)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def place() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refuser) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def cloud(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("burnish.commands.elsewhere.launching._POLL_SECONDS", 0.3)
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value.replace("PLACE", place))
    with loopback_cloud(tmp_path / "cloud") as cloud:
        write_rides(Path("rides.csv"), 100)
        Path("rides.yaml").write_text(f"{TABLE}{NOTIFY}")
        Path("hook.txt").write_text(f"http://{place}/{MARK}-in-a-file\n")
        image = f"{cloud.registry}/team/burnish:1"  # type: ignore[attr-defined]  # the fixture sets it
        Path("launch.yaml").write_text(LAUNCH.replace("IMAGE", image))
        yield cloud


@pytest.mark.timeout(900)
def test_a_secret_is_written_printed_and_rendered_nowhere(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    there = ["--on", "vertex", "-l", "launch.yaml", "-l", f"env.FLAG={MARK}-flag"]
    assert run(["config", "show", "rides.yaml"]) == 0
    assert run(["train", "rides.yaml", "--dir", "here"]) == 0
    assert run(["train", "rides.yaml", "data.train=none.csv", "--dir", "broken"]) != 0
    assert run(["train", "rides.yaml", *there, "--dry-run"]) == 0
    assert run(["package", "rides.yaml", "-l", "launch.yaml", "--out", "packed"]) == 0
    for words in REFUSED:
        assert run(["train", "rides.yaml", *words, *there, "--dry-run"]) == 2, words
    assert run(["train", "rides.yaml", *there, "--yes"]) == 0
    name = next(iter(cloud.jobs.values())).body["displayName"]
    assert run(["jobs", "show", name, "--json"]) == 0
    assert run(["jobs", "ls"]) == 0
    assert run(["doctor", "--on", "vertex", "-l", "launch.yaml"]) == 0
    said = capfd.readouterr()
    assert MARK not in said.out + said.err
    known = {Path("hook.txt"), Path("launch.yaml")}  # where the user wrote them
    files = [each for each in Path().rglob("*") if each.is_file() and each not in known]
    assert [str(each) for each in files if MARK.encode() in each.read_bytes()] == []
    bucket = Folder(f"gs://{BUCKET}")
    objects = bucket.listing()
    assert len(objects) > 20
    assert [each for each in objects if MARK.encode() in bucket.read(each)] == []
    assert MARK not in json.dumps(cloud.entries)
    sent = [body for _, path, body in cloud.requests if path.endswith("customJobs")]
    assert MARK in json.dumps(sent)  # the service alone is told
    assert os.environ["JOB_TOKEN"] in json.dumps(sent)
