"""The image of the Dockerfile, built by buildah: its commands, and a job and an endpoint that run in it."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.images import BASE, ROOT, Images, explain_absence, images_in

pytest.importorskip("google.cloud.aiplatform_v1", reason="the extra `vertex` brings it")
pytest.importorskip("gcp_storage_emulator", reason="the storage of the loop")
pytest.importorskip("gcsfs", reason="the extra `gcp` brings it")

from burnish.cli.main import run
from burnish.launch.transfer import download
from burnish.storage import manifest
from tests.harness.cloud import BUCKET, loopback_cloud
from tests.harness.server import TABLE, write_rides

IMAGE = "localhost/team/burnish:1"
FUNCTION = "def a_mile(fare, miles):\n    return fare / miles\n"
COLUMN = "derived: {rate: {function: 'features:a_mile', inputs: {fare: number, miles: number}}}"

pytestmark = [
    pytest.mark.skipif(os.environ.get("BURNISH_CLOUD") != "full", reason="make cloud sets BURNISH_CLOUD=full"),
    pytest.mark.skipif(explain_absence() is not None, reason=explain_absence() or "all is there"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Images]:
    with images_in(tmp_path_factory.mktemp("images")) as images:
        yield images


def test_the_image_of_the_repository_is_its_command_and_has_a_user(images: Images) -> None:
    images.buildah("build", "--tag", "localhost/burnish:root", "--build-arg", f"BASE={BASE}", str(ROOT))
    config = json.loads(images.buildah("inspect", "--type", "image", "localhost/burnish:root"))["OCIv1"]["config"]
    version, user, found = (
        subprocess.check_output(images.command("localhost/burnish:root", words, {}), text=True)
        for words in ([*config["Entrypoint"], "--version"], ["id", "-u"], ["sh", "-c", "ls; burnish doctor --json"])
    )
    assert version.startswith("burnish ")
    assert user == "1000\n"
    assert "pyproject.toml" not in found
    assert config["Cmd"] == ["--help"]


def test_the_user_of_the_image_can_write_runs_and_the_health_check_runs(images: Images) -> None:
    script = "touch /work/a && mkdir -p /work/runs ~/.local/state && python -m burnish.serve.healthcheck && echo whole"
    images.buildah("build", "--tag", "localhost/burnish:root", "--build-arg", f"BASE={BASE}", str(ROOT))
    command = images.command("localhost/burnish:root", ["sh", "-c", script], {})
    assert subprocess.check_output(command, text=True) == "whole\n"


def test_a_job_is_trained_and_served_in_the_image_that_the_command_builds(
    images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("burnish.commands.elsewhere.launching._POLL_SECONDS", 0.3)
    write_rides(Path("rides.csv"), 200)
    Path("features.py").write_text(FUNCTION)
    Path("rides.yaml").write_text(TABLE.replace("kind: binary", f"kind: binary, {COLUMN}"))
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{images.tool}{os.pathsep}{os.environ['PATH']}")
        assert run(["image", "build", IMAGE, "--tool", "buildah", "--base", BASE, "--file", "features.py"]) == 0
    built = capfd.readouterr()
    assert "does not provide the extra" not in built.out + built.err
    with loopback_cloud(tmp_path / "cloud") as cloud:
        cloud.in_image = lambda words, told: images.command(IMAGE, words, told)
        launch = ["-l", f"bucket={BUCKET}", "-l", f"image={cloud.registry}/team/burnish:1", "--yes"]  # type: ignore[attr-defined]  # the loop's own
        code = run(["train", "rides.yaml", "--on", "vertex", *launch])
        said = capfd.readouterr()
        assert code == 0, said.out + said.err
        assert "/work/outputs/run" in said.out
        root = next(iter(cloud.jobs.values())).body["jobSpec"]["baseOutputDirectory"]["outputUriPrefix"]
        download(f"{root}/outputs/run", Path("fetched"))
        assert manifest.fault(Path("fetched/artifact")) is None
        up = ["deploy", "up", "fetched", "--require", "validation/accuracy >= 0.01", *launch]
        assert run(up) == 5
        assert "add --trust-code" in capfd.readouterr().err
        assert run([*up, "--trust-code"]) == 0
        endpoint = capfd.readouterr().out.splitlines()[-1]
        ride = {"fare": 30.0, "miles": 9.0, "company": "Blue", "cash": "no"}
        assert run(["deploy", "predict", endpoint, "--row", json.dumps(ride), *launch[:-1]]) == 0
        assert '"predicted"' in capfd.readouterr().out
        assert run(["deploy", "down", endpoint, *launch]) == 0
