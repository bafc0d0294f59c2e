"""The commands of the page about serving work as they are written."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.harness.server import RunningServer

PAGE = Path(__file__).parents[3] / "docs/how-to/serve-a-model.md"
COMMANDS = re.findall(r"^\$ (curl .*)$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_documented_command_is_answered(server: RunningServer, command: str) -> None:
    asked = command.replace("localhost:8080", f"127.0.0.1:{server.port}").replace("curl ", "curl --fail ", 1)
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
