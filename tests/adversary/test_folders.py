"""Artifacts, checkpoints, run directories and prepared folders with something hostile in one of their files."""

import io
import json
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from burnish.commands import train as train_command
from burnish.commands.prepare import prepare
from burnish.run import worker
from burnish.storage import manifest
from tests.adversary.conftest import ROW
from tests.adversary.judge import IS_FULL, Canary, judge
from tests.adversary.mutate import mutate_bytes, mutate_document, mutate_lines
from tests.adversary.seeds import Seeds, seeds

pytestmark = pytest.mark.timeout(3600 if IS_FULL else 300)

ARTIFACT = ("MANIFEST.json", "experiment.yaml", "profile.json", "golden.json", "model/shape.json")
CHECKPOINT = ("MANIFEST.json", "state.json", "optimizer.json", "data.json", "plan.yaml", "profile.json")
RUN = ("plan.yaml", "profile.json", "scores.json", "exit.json", "insights.json")


@pytest.fixture
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a worker run here: a new process for each of thousands of cases would take days."""

    def run_worker(argv: Sequence[str], *, on_line: Callable[[str], None], start: object) -> int:
        said = io.StringIO()
        with redirect_stdout(said):
            code = worker.main(list(argv[1:]))
        for line in said.getvalue().splitlines(keepends=True):
            on_line(line)
        return code

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr(train_command, "run_worker", run_worker)
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def spoil(path: Path, draw: Random) -> None:
    """Mutate a file by what it is."""
    content = path.read_bytes()
    if path.suffix in (".json", ".yaml"):
        read: Callable[[bytes], Any] = json.loads if path.suffix == ".json" else yaml.safe_load
        path.write_bytes(mutate_document(read(content), draw))
    elif path.suffix == ".jsonl" and draw.random() < 0.9:
        path.write_bytes(b"".join(mutate_lines(content.splitlines(keepends=True), draw)))
    elif path.suffix == ".safetensors" and draw.random() < 0.7:
        end = 8 + int.from_bytes(content[:8], "little")
        header = mutate_document(json.loads(content[8:end]), draw)
        path.write_bytes(len(header).to_bytes(8, "little") + header + content[end:])
    else:
        path.write_bytes(mutate_bytes(content, draw))


def sign(folder: Path, spoiled: Path, draw: Random) -> None:
    """Write a manifest that vouches for the spoiled file; a spoiled manifest only loses its own digest."""
    if spoiled.name != manifest.NAME:
        facts = json.loads((folder / manifest.NAME).read_text())
        manifest.commit(folder, {name: value for name, value in facts.items() if name not in ("files", "digest")})
    elif draw.random() < 0.8:
        spoiled.write_bytes(spoiled.read_bytes().replace(b'"digest"', b'"unread"'))


@pytest.mark.parametrize("name", [*ARTIFACT, "model/model.safetensors"])
@seeds(few=12, full=1_500)
def test_artifacts(copy: Callable[[str], Path], canary: Canary, name: str, seeds: Seeds) -> None:
    @seeds.each(name)
    def case(draw: Random) -> None:
        artifact = copy("artifact")
        spoil(artifact / name, draw)
        sign(artifact, artifact / name, draw)
        judge(["predict", artifact, "--row", ROW], keeps=[artifact], canary=canary)


@pytest.mark.parametrize("name", [*CHECKPOINT, "weights.safetensors", "optimizer.safetensors"])
@pytest.mark.usefixtures("_in_this_process")
@seeds(few=5, full=500)
def test_checkpoints(copy: Callable[[], Path], canary: Canary, name: str, seeds: Seeds) -> None:
    @seeds.each(name)
    def case(draw: Random) -> None:
        run = copy()
        earlier, newest = sorted((run / "checkpoints").iterdir())
        if draw.random() < 0.5:  # from the earlier one, there are steps left to train
            shutil.rmtree(newest)
            newest = earlier
        spoil(newest / name, draw)
        sign(newest, newest / name, draw)
        kept = [run / "checkpoints", run / "quarantine"]
        judge(["evaluate", run, "--checkpoint", "last"], keeps=kept, canary=canary)
        (run / "exit.json").unlink()  # as after a kill
        judge(["resume", run, "--quiet"], canary=canary)  # which may save over the spoiled one


@pytest.mark.parametrize("name", RUN)
@pytest.mark.usefixtures("_in_this_process")
@seeds(few=5, full=600)
def test_run_directories(original: Path, copy: Callable[[], Path], canary: Canary, name: str, seeds: Seeds) -> None:
    @seeds.each(name)
    def case(draw: Random) -> None:
        run = copy()
        spoil(run / name, draw)
        for argv in (["runs", "ls", run.parent], ["runs", "show", run], ["runs", "compare", run, original]):
            judge(argv, keeps=[run], canary=canary)
        if name != "plan.yaml":
            judge(["resume", run, "--quiet"], keeps=[run / "checkpoints", run / "artifact"], canary=canary)


@pytest.mark.usefixtures("_in_this_process")
@seeds(few=10, full=1_500)
def test_events(copy: Callable[[], Path], canary: Canary, seeds: Seeds) -> None:
    @seeds.each("events")
    def case(draw: Random) -> None:
        run = copy()
        spoil(run / "events.jsonl", draw)
        readers = (["ls", run.parent], ["show", run], ["tail", run], ["tail", "--json", run])
        for argv in (*(["runs", *words] for words in readers), ["evaluate", run, "--checkpoint", "best"]):
            judge(argv, keeps=[run], canary=canary)
        (run / "exit.json").unlink()  # as after a kill: what is left of the run is done again, its report too
        shutil.rmtree(max((run / "checkpoints").iterdir()))
        judge(["resume", run, "--quiet"], keeps=[run / "checkpoints"], canary=canary)


@pytest.fixture(scope="session")
def prepared(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of prepared data of the original's experiment."""
    folder = tmp_path_factory.mktemp("prepared") / "data"
    prepare(str(original.parent / "config.yaml"), out=folder)
    return folder


@pytest.mark.usefixtures("_in_this_process")
@seeds(few=10, full=1_000)
def test_prepared_folders(original: Path, prepared: Path, tmp_path: Path, canary: Canary, seeds: Seeds) -> None:
    @seeds.each("prepared")
    def case(draw: Random) -> None:
        folder, run = tmp_path / "data", tmp_path / "run"
        for place in (folder, run):
            shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(prepared, folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        spoiled = folder / manifest.NAME if draw.random() < 0.5 else draw.choice(files)
        spoil(spoiled, draw)
        sign(folder, spoiled, draw)
        source = f"data={{type: prepared, dir: {folder}}}"
        config = original.parent / "config.yaml"
        judge(["train", config, source, "train.length=1 step", "--dir", run, "--quiet"], keeps=[folder], canary=canary)


def _file(name: str, **facts: Any) -> dict[str, Any]:
    return {name: {"bytes": 0, "sha256": "0" * 64, **facts}}


@pytest.mark.parametrize("where", ["artifact", "checkpoints/step-00000008"])
@pytest.mark.parametrize(
    "files",
    [
        {},
        None,
        [],
        _file("../rows.csv"),
        _file("/etc/passwd"),
        _file("link"),
        _file("a\0b"),
        _file("x" * 5_000),
        _file("\ud800"),
        _file("a\nb"),
        _file("profile.json", bytes=float("nan")),
        _file("profile.json", bytes="7"),
        _file("profile.json", bytes=True),
        _file("profile.json", bytes=10**400),
        _file("profile.json", sha256=["x"]),
    ],
    ids=str,
)
def test_manifests_that_must_not_verify(copy: Callable[[], Path], where: str, files: Any) -> None:
    run = copy()
    (run / where / "link").symlink_to("/etc/hostname")
    content = json.loads((run / where / manifest.NAME).read_text())
    content.pop("digest")
    (run / where / manifest.NAME).write_text(json.dumps({**content, "files": files}))
    argv = ["predict", run, "--row", ROW] if where == "artifact" else ["evaluate", run, "--checkpoint", "last"]
    assert judge(argv, keeps=[run]).code == 5


def test_a_file_that_is_read_must_be_listed(copy: Callable[[], Path]) -> None:
    artifact = copy() / "artifact"
    content = json.loads((artifact / manifest.NAME).read_text())
    del content["files"]["golden.json"], content["digest"]
    (artifact / manifest.NAME).write_text(json.dumps(content))
    assert "does not list golden.json" in judge(["predict", artifact, "--row", ROW]).err


def test_an_artifact_without_golden_rows_proves_nothing(copy: Callable[[], Path]) -> None:
    artifact = copy() / "artifact"
    (artifact / "golden.json").write_text('{"rows": [], "outputs": []}')
    sign(artifact, artifact / "golden.json", Random(0))
    assert judge(["predict", artifact, "--row", ROW]).code == 7
