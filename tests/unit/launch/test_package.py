"""What an sdist and a wheel of Burnish ask for, and a project of the user's as an sdist of its own."""

import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from io import BytesIO
from pathlib import Path

import pytest

from burnish.commands.elsewhere.launching import Order, _make_packages, make_job, note_extras, preview
from burnish.config import load
from burnish.errors import LaunchError
from burnish.launch.image import build_command, image_extras, pack, write_dockerfile
from burnish.launch.options import read_launcher
from burnish.launch.package import burnish_wheel, expand, find_extras, project_distribution, source_distribution
from burnish.spec.launcher import JobSpec, Launcher

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
OPTIONS = ("bucket=b", "image=team/burnish:1", "project=p")


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("mine/pyproject.toml", "mine/src/mine/__init__.py", "loose.py", "rides.csv"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("")
    return Path("mine")


def test_the_wheel_brings_the_extras_that_an_image_asks_for() -> None:
    with zipfile.ZipFile(BytesIO(burnish_wheel()[1])) as archive:
        metadata = message_from_bytes(archive.read(next(each for each in archive.namelist() if "METADATA" in each)))
    assert {"gcp", "serve", "tensorboard"} <= set(metadata.get_all("Provides-Extra", []))
    needed = {each.replace('"', "'") for each in metadata.get_all("Requires-Dist", [])}
    assert {f"{each}; extra == 'gcp'" for each in PROJECT["optional-dependencies"]["gcp"]} <= needed


def test_an_sdist_asks_for_all_that_a_job_in_a_bucket_imports() -> None:
    with tarfile.open(fileobj=BytesIO(source_distribution(["mine==1"], extras=["gcp", "tensorboard"])[1])) as archive:
        setup = archive.extractfile(next(each for each in archive.getnames() if each.endswith("setup.py")))
        assert setup is not None
        text = setup.read().decode()
    extras = PROJECT["optional-dependencies"]
    for each in (*PROJECT["dependencies"], *extras["gcp"], *extras["tensorboard"], "mine==1"):
        assert f"'{each}'" in text
    assert "extra ==" not in text


TEXTS = """\
task: text_classification
data: {type: hub, name: imdb}
model: {name: distilbert-base-uncased, lora: {rank: 4}}
"""
TREES = "task: {type: tabular, target: tip}\ndata: {train: rides.csv}\nmodel: gbdt\n"


@pytest.mark.parametrize(
    ("text", "extras"),
    [
        (TEXTS, {"hub", "lora", "baselines"}),
        (TREES, {"trees", "baselines"}),
        (TREES.replace("rides.csv", "gs://box/rides.csv"), {"trees", "baselines", "gcp"}),
        (TREES.replace("rides.csv", "s3://box/rides.csv"), {"trees", "baselines", "s3"}),
        (TREES.replace("rides.csv", "rides.tfrecord"), {"trees", "baselines", "tfrecord"}),
        (TREES + "track: [tensorboard, mlflow]\n", {"trees", "baselines", "tensorboard", "mlflow"}),
        (TREES + "metrics: [{type: sklearn, name: r2_score}]\n", {"trees", "baselines"}),
        ("task: masked_lm\ndata: {train: texts.txt}\nmodel: {name: x}\n", set()),
    ],
)
def test_the_extras_of_an_experiment_follow_from_it(mine: Path, text: str, extras: set[str]) -> None:
    Path("a.yaml").write_text(text)
    assert set(find_extras(load("a.yaml").experiment)) - {"tensorboard"} == extras - {"tensorboard"}
    assert extras <= set(find_extras(load("a.yaml").experiment))


def test_image_package_and_job_have_the_same_extras(mine: Path) -> None:
    Path("a.yaml").write_text(TREES)
    order = Order("train", ["--dir", "outputs/run"], load("a.yaml"))
    container, package = (read_launcher("vertex", [*OPTIONS, f"route={each}"]) for each in ("container", "package"))
    job = make_job(order, container)
    assert {"gcp", "trees", "baselines"} <= set(job.extras)  # its folder is in a bucket
    (note,) = note_extras(container, job)
    assert "the extras baselines, trees" in note
    assert "--for EXPERIMENT" in note
    assert note_extras(package, make_job(order, package)) == []

    pack(job, expand(job.files, inputs=job.inputs).files, Path("out"))
    (line,) = (each for each in Path("out/Dockerfile").read_text().splitlines() if each.startswith("ARG EXTRAS="))
    assert set(line.removeprefix("ARG EXTRAS=").split(",")) == {*image_extras(), *job.extras}

    sent = make_packages(package, make_job(order, package))
    assert all(each in sent for each in PROJECT["optional-dependencies"]["trees"])


def make_packages(launcher: Launcher, job: JobSpec) -> str:
    """Submit a job by the route `package` as far as its folder goes; give what its sdist installs."""
    (content,) = [content for name, content in _make_packages(launcher, job.extras) if name.startswith("burnish")]
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        setup = archive.extractfile(next(each for each in archive.getnames() if each.endswith("setup.py")))
        assert setup is not None
        return setup.read().decode()


def test_what_an_image_is_built_of_stands_in_its_command() -> None:
    command = build_command("docker", "a:1", Path("x"), base="b", torch_index="https://wheels/cpu", extras=["hub"])
    assert command[:2] == ["docker", "build"]
    for each in ("BASE=b", "TORCH_INDEX=https://wheels/cpu", "EXTRAS=gcp,hub,serve,tensorboard"):
        assert command[command.index(each) - 1] == "--build-arg"
    assert "--build-arg" not in build_command("docker", "a:1", Path("x"), base=None)


def test_a_dockerfile_keeps_the_extras_of_every_image() -> None:
    assert set(image_extras()) == {"gcp", "serve", "tensorboard"}
    assert "ARG EXTRAS=gcp,hub,serve,tensorboard\n" in write_dockerfile(["hub", "gcp"])


def test_a_project_travels_as_an_sdist_of_its_own_by_the_route_package(mine: Path) -> None:
    options = [*OPTIONS, "files=[mine, loose.py]"]
    order = Order("predict", ["rides.csv"])
    container, package = (read_launcher("vertex", [*options, f"route={route}"]) for route in ("container", "package"))
    sent = preview(package, make_job(order, package))
    assert {each.rpartition("/")[2] for each in sent["uploads"] if "/packages/" in each} > {"mine.tar.gz"}
    assert not any("files/mine/" in each for each in sent["uploads"])
    assert any(each.endswith("files/loose.py") for each in sent["uploads"])
    uris = sent["request"]["body"]["jobSpec"]["workerPoolSpecs"][0]["pythonPackageSpec"]["packageUris"]
    assert [each.rpartition("/")[2] for each in uris][-1] == "mine.tar.gz"
    assert any("files/mine/" in each for each in preview(container, make_job(order, container))["uploads"])


def test_the_sdist_of_a_project_holds_its_files_and_the_folder_one_stands_in_is_one(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, content = project_distribution("mine")
    monkeypatch.chdir(mine)
    assert project_distribution(".")[0] == name == "mine.tar.gz"
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        assert archive.getnames() == ["mine/pyproject.toml", "mine/src/mine/__init__.py"]
    with pytest.raises(LaunchError, match="outside of"):
        project_distribution("..")
