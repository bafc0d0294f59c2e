"""`burnish doctor`: one screen about a machine, also where torch is broken; the network is used on demand only."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from burnish.commands import doctor
from burnish.commands.doctor import diagnose
from burnish.extras import EXTRAS

ROOT = Path(__file__).parents[3]
LINES, COLUMNS = 50, 120


def burnish(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "burnish", *words]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)


def test_it_is_one_screen_with_what_a_run_would_take() -> None:
    answer = burnish("doctor")
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    for word in ("burnish ", "python ", "torch ", "processor ", "cache ", "precision", "attention", "threads"):
        assert word in answer.stdout


def test_a_broken_torch_is_named_and_the_rest_still_told(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libgomp.so.1: cannot open shared object file')")
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    answer = burnish("doctor", "--json", PYTHONPATH=path)
    assert answer.returncode == 1
    told = json.loads(answer.stdout)
    assert told["faults"] == ["torch cannot be used: OSError: libgomp.so.1: cannot open shared object file"]
    assert told["choices"] == {}
    assert told["machine"]["memory"]


def test_a_torch_that_kills_its_process_kills_not_the_doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT / "src")]))
    assert diagnose().faults == ("torch cannot be used: its process ended with -4",)


def test_packages_of_an_extra_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=2.0", "no-such-package>=1; extra == 'hub'", "rich>=13; sys_platform != 'x' and extra == 'hub'"]
    monkeypatch.setattr(doctor, "requires", lambda _: lines)
    found = diagnose()
    assert [each.missing for each in found.extras if each.name == "hub"] == [("no-such-package",)]
    assert "no-such-package" not in found.versions
    assert found.versions["numpy"][0].isdigit()


def test_every_extra_is_described_and_the_readme_says_the_same() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {*EXTRAS} == {*extras} - {"all", "demo", "dev"}
    readme = (ROOT / "README.md").read_text()
    assert [name for name, brings in EXTRAS.items() if f"| `{name}` | {brings} |" not in readme] == []


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Run a hub on this machine, and list what it is asked for."""
    asked: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name is the library's
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(doctor, "_choices", lambda: ({}, None))
    yield asked
    server.shutdown()
    server.server_close()


def test_the_hub_is_asked_only_on_demand(hub: list[str]) -> None:
    assert "hub" not in diagnose().machine
    assert hub == []
    assert diagnose(asks_hub=True).machine["hub"].endswith(" answers")
    assert hub == ["/api/models?limit=1"]


def test_a_hub_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(doctor, "_choices", lambda: ({}, None))
    assert "http://127.0.0.1:9 cannot be reached: " in diagnose(asks_hub=True).machine["hub"]
