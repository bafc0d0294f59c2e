"""The injector counts what it says, ends what it should, and is in no process that did not ask for it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.faults import Fault, read_trace
from tests.harness.fork_server import searching_root

SCRIPT = """
import os, shutil, sys
from pathlib import Path

def main(argv):
    root = Path(argv[0])
    (root / "a").write_bytes(b"0123456789")
    (root / "b").write_text("0123456789")
    with open(root / "a", "rb") as file:
        os.fsync(file.fileno())
    os.replace(root / "a", root / "c")
    (root / "b").unlink()
    (root / "d").mkdir()
    shutil.rmtree(root / "d")
    (root / "done").touch()
    return 3
"""


def run(root: Path, *options: str) -> int:
    (root / "some_program.py").write_text(SCRIPT)
    (root / "work").mkdir()
    command = [sys.executable, "-m", "tests.harness.faults", *options, "--", "some_program", str(root / "work")]
    return subprocess.run(command, cwd=root, env=searching_root(), capture_output=True, check=False).returncode


def test_without_a_fault_it_only_counts(tmp_path: Path) -> None:
    assert run(tmp_path, "--trace", str(tmp_path / "trace")) == 3
    points = [(point.kind, point.number, Path(point.path).name) for point in read_trace(tmp_path / "trace")]
    assert points == [
        ("open", 1, "a"),
        ("write", 1, "a"),
        ("open", 2, "b"),
        ("write", 2, "b"),
        ("fsync", 1, "a"),
        ("replace", 1, "c"),
        ("unlink", 1, "b"),
        ("rmtree", 1, "d"),
    ]


@pytest.mark.parametrize(
    ("fault", "left"),
    [
        ("write:1", {"a": ""}),
        ("write:1:within", {"a": "01234"}),
        ("write:2:within", {"a": "0123456789", "b": "01234"}),
        ("write:2:after", {"a": "0123456789", "b": "0123456789"}),
        ("replace:1:before", {"a": "0123456789", "b": "0123456789"}),
        ("replace:1:after", {"c": "0123456789", "b": "0123456789"}),
    ],
)
def test_it_kills_before_within_or_after_the_call(tmp_path: Path, fault: str, left: dict[str, str]) -> None:
    assert run(tmp_path, "--kill-at", fault) == -signal.SIGKILL
    assert {path.name: path.read_text() for path in (tmp_path / "work").iterdir()} == left


def test_a_full_disk_is_an_error_of_the_system(tmp_path: Path) -> None:
    assert run(tmp_path, "--full-at", "fsync:1") == 1
    assert {path.name for path in (tmp_path / "work").iterdir()} == {"a", "b"}


@pytest.mark.parametrize("text", ["fsync", "fsync:0", "fsync:x", "fsink:1", "fsync:1:late", "fsync:1:within"])
def test_a_fault_that_cannot_be_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=f"got {text}"):
        Fault.parse(text)


def test_production_code_has_no_hook() -> None:
    code = "import burnish.run.worker, sys; print([m for m in sys.modules if 'testing' in m or 'harness' in m])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
