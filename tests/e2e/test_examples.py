"""What the pages of `examples` show is typed into a shell, in a copy of the folder, from top to bottom.

In `make test` a command that trains also gets `-c shrunk.yaml`, where the folder has that file; nothing else differs.
`make examples` types the pages as they are. A server that a page starts listens on a free port.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.quick_cli import quick_cli
from tests.test_docs import EXAMPLE_PAGES, ROOT, blocks_of, name_of, typed_lines

IS_FULL = os.environ.get("BURNISH_EXAMPLES") == "full"
COMMAND_SECONDS = 3600 if IS_FULL else 300
TRAINING = re.compile(r"^(\w+=\S+ )*(burnish (train|tune|prepare) |\S+\.sh\b)")
PORT = re.compile(r"\b(localhost|127\.0\.0\.1):8080\b")
MAX_BYTES = 100_000
INSTALL_ASIDE = {"PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}
"""`pip install .` goes into a folder of the test, without a network; the zero is pip's way to say yes to a `no-`."""
EXAMPLES = ROOT / "examples"
FOLDERS = sorted(page.parent for page in EXAMPLE_PAGES if page.parent != EXAMPLES)


@dataclass(frozen=True)
class Shell:
    """Where commands are typed."""

    folder: Path
    variables: dict[str, str]
    port: int

    def words(self, line: str) -> str:
        """Write a line as it is typed here."""
        is_shrunk = not IS_FULL and TRAINING.match(line) and (self.folder / "shrunk.yaml").exists()
        return PORT.sub(rf"\1:{self.port}", line) + (" -c shrunk.yaml" if is_shrunk else "")

    def type(self, line: str) -> "subprocess.CompletedProcess[str]":
        command = ["bash", "-c", self.words(line)]
        options = {"cwd": self.folder, "env": self.variables, "capture_output": True, "text": True}
        return subprocess.run(command, **options, timeout=COMMAND_SECONDS)

    @contextmanager
    def serve(self, line: str) -> Iterator[None]:
        """Start a server and leave it running; at the end it must stop in order."""
        with (self.folder / "server.txt").open("w+") as said:
            options = {"cwd": self.folder, "env": self.variables, "stdout": said, "stderr": said}
            server = subprocess.Popen(["bash", "-c", f"exec {self.words(line)}"], **options)
            try:
                self._wait_for(server)
                yield
            finally:
                server.send_signal(signal.SIGTERM)
                code = server.wait(timeout=COMMAND_SECONDS)
            assert code == 0, (self.folder / "server.txt").read_text()

    def _wait_for(self, server: "subprocess.Popen[bytes]") -> None:
        end = time.monotonic() + COMMAND_SECONDS
        while server.poll() is None and time.monotonic() < end:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/ready").close()
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.05)
            else:
                return
        raise AssertionError((self.folder / "server.txt").read_text())


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the folder of the commands: real ones in full, and such as start at once otherwise."""
    if IS_FULL:
        yield Path(sys.executable).parent
        return
    with quick_cli(tmp_path_factory.mktemp("quick")) as folder:
        yield folder


@dataclass(frozen=True)
class ShellIn:
    """Copies an example and opens a shell in the copy."""

    commands: Path
    root: Path

    def __call__(self, name: str, **variables: str) -> Shell:
        folder = self.root / name
        shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("__pycache__", "runs", "data"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        modules = self.root / "installed"
        paths = (str(self.commands), str(Path(sys.executable).parent), os.environ["PATH"])
        ours = {
            "PATH": os.pathsep.join(paths),
            "PYTHONPATH": os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(modules)))),
            "PIP_TARGET": str(modules),
            **INSTALL_ASIDE,
            "AIP_HTTP_PORT": str(port),
            "BURNISH_STATE": str(self.root / "state"),
        }
        return Shell(folder, {**os.environ, **ours, **variables}, port)


@pytest.fixture
def shell_in(commands: Path, tmp_path: Path) -> ShellIn:
    return ShellIn(commands, tmp_path)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
@pytest.mark.timeout(4 * COMMAND_SECONDS)
def test_what_its_page_shows_runs_from_top_to_bottom(folder: Path, shell_in: ShellIn) -> None:
    shell = shell_in(folder.name)
    type_page(folder / "README.md", shell)
    made = shell.folder / "data"
    assert sum(each.stat().st_size for each in made.rglob("*") if each.is_file()) <= MAX_BYTES
    if folder.name == "language_modeling":
        compare_sizes(shell.folder)


def type_page(page: Path, shell: Shell) -> None:
    with ExitStack() as servers:
        for block in blocks_of(page):
            if block.language != "console" or block.is_skipped or (block.is_long and not IS_FULL):
                continue
            for line, answer in typed_lines(block.text):
                if line.startswith("burnish serve "):
                    servers.close()
                    servers.enter_context(shell.serve(line))
                    continue
                done = shell.type(line)
                said = f"{block.place}: {line}\n{done.stdout}{done.stderr}"
                assert (done.returncode != 0) == answer.startswith("error:"), said
                if answer.startswith("error:"):
                    assert answer in done.stderr, said


def compare_sizes(folder: Path) -> None:
    """A model from random weights is compared with one that was pretrained, so both must be of one size."""
    models = (
        folder / "runs/tiny" / name / "artifact/model/config.json" for name in ("from-random-0", "from-pretrained-0")
    )
    random_config, pretrained_config = (json.loads(model.read_text()) for model in models)
    for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "hidden_dropout_prob"):
        assert random_config[name] == pretrained_config[name], name


def test_every_folder_has_a_page_that_the_first_page_leads_to() -> None:
    first = (EXAMPLES / "README.md").read_text()
    folders = {each.name for each in EXAMPLES.iterdir() if each.is_dir() and each.name != "__pycache__"}
    assert {folder.name for folder in FOLDERS} == folders
    assert [name for name in sorted(folders) if f"]({name}/README.md)" not in first] == []


def test_it_is_small_enough_to_be_copied() -> None:
    for folder in FOLDERS:
        names = subprocess.run(["git", "ls-files", "-z"], cwd=folder, capture_output=True, text=True).stdout
        kept = [folder / name for name in names.split("\0") if name and (folder / name).exists()]
        assert sum(each.stat().st_size for each in kept) <= MAX_BYTES, name_of(folder)


SCRIPTS = sorted(EXAMPLES.rglob("*.sh"))


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_a_script_stops_at_its_first_error(script: Path) -> None:
    assert "set -euo pipefail" in script.read_text()
    assert os.access(script, os.X_OK)


def test_scripts_please_shellcheck() -> None:
    paths = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    program = shutil.which("shellcheck", path=paths)
    if program is None:
        pytest.skip("there is no shellcheck; the extra `dev` brings it")
    done = subprocess.run([program, "--external-sources", *SCRIPTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_another_table_needs_only_another_metadata_file(shell_in: ShellIn) -> None:
    files = {"GCS_TAXI_TRAIN_SMALL": "flats.csv", "GCS_TAXI_EVAL_SMALL": "more.csv"}
    shell = shell_in("taxi", METADATA="flats.yaml", **files)
    rows = [f"{size},{'NS'[size % 2]},{'yes' if 50 < size < 110 else 'no'}" for size in range(15, 180)]
    for at, name in enumerate(files.values()):
        (shell.folder / name).write_text("\n".join(["size,side,let", *rows[at::2]]) + "\n")
    metadata = "name: flats\ntask:\n  target: let\n  columns: {size: number, side: category}\n"
    (shell.folder / "flats.yaml").write_text(metadata)
    done = shell.type("./scripts/train-local.sh")
    assert done.returncode == 0, done.stderr
    done = shell.type('burnish predict runs/flats --row \'{"size": 80, "side": "N"}\' --json')
    assert set(json.loads(done.stdout)["predictions"][0]["probabilities"]) == {"no", "yes"}


def test_what_lies_there_is_not_downloaded_again_and_both_sizes_are_kept_apart(shell_in: ShellIn) -> None:
    shell = shell_in("taxi")
    for size in ("small", "big"):
        (shell.folder / "data" / size).mkdir(parents=True)
        for part in ("train", "eval"):
            (shell.folder / "data" / size / f"taxi_trips_{part}.csv").write_text("tip\n1\n")
    line = "source ./download-taxi.sh data small && source ./download-taxi.sh data big && env | grep GCS_TAXI | sort"
    done = shell.type(line)
    assert done.stdout.split() == [
        f"GCS_TAXI_{part}_{size}=data/{size.lower()}/taxi_trips_{part.lower()}.csv"
        for part in ("EVAL", "TRAIN")
        for size in ("BIG", "SMALL")
    ], done.stderr
