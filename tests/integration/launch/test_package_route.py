"""The package route as the service's executor does it: pip installs what was uploaded, and Python runs the module."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("google.cloud.aiplatform_v1", reason="the extra `vertex` brings it")
pytest.importorskip("gcp_storage_emulator", reason="the storage of the loop")
pytest.importorskip("gcsfs", reason="the extra `gcp` brings it")

from burnish.cli.main import run
from tests.harness.cloud import BUCKET, Cloud, loopback_cloud
from tests.harness.server import TABLE, write_rides

pytestmark = pytest.mark.skipif(os.environ.get("BURNISH_CLOUD") != "full", reason="make cloud sets BURNISH_CLOUD=full")
PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "ridelib"
version = "1.0"
dependencies = ["numpy>=2"]
"""
FUNCTION = "def a_mile(fare, miles):\n    return fare / miles\n"
COLUMN = "derived: {rate: {function: 'ridelib.columns:a_mile', inputs: {fare: number, miles: number}}}"
PACKAGE = Path(__file__).parents[3] / "src" / "burnish"


class Executor:
    """Installs into new environments that look into the packages of this one, and remembers them."""

    def __init__(self) -> None:
        self.interpreters: list[Path] = []

    def install(self, sdists: list[Path], folder: Path) -> Path:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        python = folder / "bin" / "python"
        Path(self.ask(python, "import sysconfig; print(sysconfig.get_path('purelib'))"), "other.pth").write_text(
            f"{sysconfig.get_path('purelib')}\n"
        )
        for sdist in sdists:
            self.pip(python, "install", "--no-deps", str(sdist))
        self.interpreters.append(python)
        return python

    def pip(self, python: Path, *words: str) -> str:
        options = ("--no-index", "--no-build-isolation")
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--python", python, *words, *options], capture_output=True, text=True
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def ask(self, python: Path, program: str) -> str:
        return subprocess.check_output([python, "-c", program], text=True).strip()


@pytest.fixture(scope="module")
def executor() -> Executor:
    return Executor()


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory, executor: Executor) -> Iterator[Cloud]:
    folder = tmp_path_factory.mktemp("package")
    with pytest.MonkeyPatch.context() as patch, loopback_cloud(folder) as cloud:
        patch.chdir(folder)
        patch.setattr("burnish.commands.elsewhere.launching._POLL_SECONDS", 0.3)
        cloud.install = executor.install
        Path("lib/ridelib").mkdir(parents=True)
        Path("lib/pyproject.toml").write_text(PROJECT)
        Path("lib/ridelib/__init__.py").write_text("")
        Path("lib/ridelib/columns.py").write_text(FUNCTION)
        Path("needed.txt").write_text("pyyaml>=6.0.1\n")
        write_rides(Path("rides.csv"), 200)
        Path("rides.yaml").write_text(TABLE.replace("kind: binary", f"kind: binary, {COLUMN}"))
        patch.syspath_prepend("lib")
        yield cloud


def test_pip_installs_burnish_and_the_users_project_and_the_job_runs(
    cloud: Cloud, executor: Executor, capfd: pytest.CaptureFixture[str]
) -> None:
    options = ("route=package", "files=[lib]", "requirements=needed.txt", f"bucket={BUCKET}")
    launch = [word for each in (*options, f"image={cloud.registry}/team/burnish:1") for word in ("-l", each)]
    code = run(["train", "rides.yaml", "--on", "vertex", *launch, "--yes"])
    said = capfd.readouterr()
    assert code == 0, said.out + said.err
    assert "artifact/MANIFEST.json" in said.out
    (python,) = executor.interpreters
    places = executor.ask(python, "import burnish, ridelib; print(burnish.__file__, ridelib.__file__)").split()
    assert all(str(cloud.folder) in place for place in places), places
    installed = Path(places[0]).parent
    names, ours = (
        {each.relative_to(root) for each in root.rglob("*") if each.is_file() and "__pycache__" not in each.parts}
        for root in (installed, PACKAGE)
    )
    assert names == ours
    needs = "from importlib.metadata import requires; print(*requires('{}'), sep='|')"
    needed = set(executor.ask(python, needs.format("burnish")).split("|"))
    assert {"gcsfs>=2024.12", "pyyaml>=6.0.1", "torch>=2.6"} <= needed
    assert not any(each.startswith("tensorboard") for each in needed), "no tracker of the experiment needs it"
    assert executor.ask(python, needs.format("ridelib")) == "numpy>=2"
    (sdists,) = cloud.folder.glob("job-*-packages")
    for each in sdists.iterdir():  # with all that they require, which is here
        assert "Would install" in executor.pip(
            python, "install", "--dry-run", "--force-reinstall", "--no-deps", str(each)
        )
        assert "Would install" in executor.pip(python, "install", "--dry-run", str(each))
