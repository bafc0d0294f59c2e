"""The scripts of the examples that train in the cloud and in buckets, against a cloud on this machine."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("google.cloud.aiplatform_v1", reason="the extra `vertex` brings it")
pytest.importorskip("gcp_storage_emulator", reason="the storage of the loop")
os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
pytest.importorskip("gcsfs", reason="the extra `gcp` brings it")

from burnish.launch.transfer import download
from tests.harness.cloud import BUCKET, Cloud, loopback_cloud
from tests.unit.notify.conftest import Inbox, inbox  # noqa: F401  # a fixture

EXAMPLES = Path(__file__).parents[3] / "examples"
RUNS_ON = "; the dry runs of the same scripts are in tests/e2e/test_examples.py"

pytestmark = pytest.mark.skipif(
    os.environ.get("BURNISH_CLOUD") != "full", reason=f"make cloud sets BURNISH_CLOUD=full{RUNS_ON}"
)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with loopback_cloud(tmp_path_factory.mktemp("cloud")) as cloud:
        yield cloud


def run_in(folder: Path, line: str, cloud: Cloud, **variables: str) -> str:
    """Type a line in an example; data and a layer that shrinks it are there."""
    commands = folder.parent / "bin"
    commands.mkdir(exist_ok=True)
    burnish = commands / "burnish"
    burnish.write_text(f'#!/bin/sh\nexec {sys.executable} -m burnish "$@"\n')
    burnish.chmod(0o755)
    ours = {
        "PATH": f"{commands}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "BUCKET_NAME": BUCKET,
        "IMAGE": f"{cloud.registry}/team/burnish:1",  # type: ignore[attr-defined]  # the loop's own
    }
    environment = {**os.environ, **ours, **variables}
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path: Path, cloud: Cloud) -> Path:
    for name in ("imdb_bert", "taxi", "long_documents"):
        folder = tmp_path / name
        shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("__pycache__", "runs", "data"))
        run_in(folder, "python make_data.py", cloud)
    return tmp_path


@pytest.mark.parametrize("route", ["container", "package"])
def test_reviews_are_trained_by_either_route(route: str, copy: Path, cloud: Cloud) -> None:
    line = f"MACHINE=cpu ./scripts/train-cloud.sh -c offline.yaml -c shrunk.yaml -l route={route} --yes"
    said = run_in(copy / "imdb_bert", line, cloud)
    assert "artifact/MANIFEST.json" in said
    pool = [*cloud.jobs.values()][-1].body["jobSpec"]["workerPoolSpecs"][0]
    assert ("containerSpec" in pool) == (route == "container")


def test_rides_are_trained_with_a_function_of_ones_own(copy: Path, cloud: Cloud) -> None:
    said = run_in(copy / "taxi", "./scripts/train-cloud.sh -c shrunk.yaml --yes", cloud)
    assert "artifact/MANIFEST.json" in said


def test_the_service_searches_what_was_imported(copy: Path, cloud: Cloud) -> None:
    said = run_in(copy / "taxi", "./scripts/train-hptuning.sh -c shrunk.yaml --yes", cloud)
    job = [*cloud.jobs.values()][-1]
    assert job.body["studySpec"]["medianAutomatedStoppingSpec"] is not None
    assert [trial["code"] for trial in job.trials] == [0, 0]
    assert "outputs/2/run/artifact/MANIFEST.json" in said


def test_documents_go_from_bucket_to_bucket_with_word_in_slack(copy: Path, cloud: Cloud, inbox: Inbox) -> None:  # noqa: F811
    folder = copy / "long_documents"
    run_in(folder, f"burnish cp data gs://{BUCKET}/reviews", cloud)
    line = "./bin/run_local.sh -c offline.yaml -c shrunk.yaml -c slack.yaml"
    places = {"DATA": f"gs://{BUCKET}/reviews", "OUTPUT": f"gs://{BUCKET}/runs/long"}
    run_in(folder, line, cloud, SLACK_WEBHOOK_URL=inbox.url, **places)
    download(f"gs://{BUCKET}/runs/long", copy / "fetched")
    assert list((copy / "fetched" / "tensorboard").rglob("events.out.tfevents.*"))
    assert (copy / "fetched" / "artifact" / "MANIFEST.json").is_file()
    assert any(b"finished" in body for _, body in inbox.requests)


def test_documents_are_trained_as_a_job(copy: Path, cloud: Cloud, inbox: Inbox) -> None:  # noqa: F811
    image, tag = f"{cloud.registry}/team/burnish", "1"  # type: ignore[attr-defined]  # the loop's own
    line = f"./bin/submit-aiplatform.sh {image} {tag} standard_p100 data {BUCKET} -c offline.yaml -c shrunk.yaml --yes"
    more = "-c slack.yaml -l env.SLACK_WEBHOOK_URL=null"
    said = run_in(copy / "long_documents", f"{line} {more}", cloud, SLACK_WEBHOOK_URL=inbox.url)
    assert "artifact/MANIFEST.json" in said
    assert inbox.url not in said
    assert any(b"finished" in body for _, body in inbox.requests)
