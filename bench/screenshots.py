"""Takes the pictures of the documentation from real runs: `python -m bench.screenshots [--work DIR]`.

It trains, tunes and serves in a folder (a temporary one, or DIR, where finished runs are used again), looks at report,
page, board and study with Chromium, and records a terminal as an SVG that moves.
"""

import argparse
import base64
import html
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
TUTORIAL = ROOT / "docs" / "tutorials" / "from-csv-to-a-page.md"
LONGEST_PAUSE, LAST_PAUSE = 0.9, 6.0
COLUMNS, ROWS, LINE, CHARACTER = 100, 24, 18, 7.8
START_SECONDS = 300
RECORDED = (
    "burnish new rides.csv --target tip",
    'burnish train rides.yaml train.length="5 epochs" --dir runs/rides',
    """burnish predict runs/rides --row '{"miles": 9.5, "hour": 18, "payment": "card"}'""",
)
FURTHER = {
    "runs/trees": "burnish train rides.yaml model=gbdt --dir runs/trees --quiet",
    "runs/demo": "burnish train demo/reviews --dir runs/demo --quiet",
    "studies/rides": "burnish tune rides.yaml model=gbdt --trials 8 --dir studies/rides --quiet",
}
"""What is trained once in the folder, and by which command."""


@dataclass(frozen=True)
class Typed:
    """A line of a terminal, and when it appeared."""

    seconds: float
    text: str


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="a folder to keep, whose finished runs are used again")
    asked = parser.parse_args()
    with TemporaryDirectory() as made:
        work = asked.work or Path(made)
        make_table(work)
        (PICTURES / "terminal.svg").write_text(draw_terminal(record(work)), encoding="utf-8")
        for place, command in FURTHER.items():
            if not (work / place / "report.html").exists():
                subprocess.run(_words(command), cwd=work, check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            take(browser, work)
            browser.close()


def make_table(work: Path) -> None:
    """Write the file of the tutorial, by the tutorial's own lines."""
    found = re.search(r"```python\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    subprocess.run([sys.executable, "-c", found[1]], cwd=work, check=True)


def record(work: Path) -> list[Typed]:
    """Run the commands as if for the first time, and note what they print and when."""
    (work / "rides.yaml").unlink(missing_ok=True)
    shutil.rmtree(work / "runs/rides", ignore_errors=True)
    lines: list[Typed] = []
    now = 0.0
    for command in RECORDED:
        lines.append(Typed(now, f"$ {command}"))
        began = time.monotonic()
        process = subprocess.Popen(
            _words(command), cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None
        lines += [
            Typed(now + time.monotonic() - began, line.rstrip().replace(str(work), "~")) for line in process.stdout
        ]
        assert process.wait() == 0, f"{command} failed:\n" + "\n".join(line.text for line in lines)
        now += time.monotonic() - began
    return lines


def draw_terminal(lines: Sequence[Typed]) -> str:
    """Draw lines as an SVG in which they appear and scroll as they did, long waits cut short."""
    rows = [Typed(each.seconds, part) for each in lines for part in _wrap(each.text)]
    width, height = round(COLUMNS * CHARACTER) + 40, ROWS * LINE + 40
    shown, moments = 0.0, []
    for before, row in zip([rows[0], *rows], rows, strict=False):
        shown += min(max(row.seconds - before.seconds, 0.05), LONGEST_PAUSE)
        moments.append(shown)
    total = shown + LAST_PAUSE
    moves = "@media(prefers-reduced-motion:no-preference)"
    style = [
        "text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#d4d4d4;white-space:pre}text.typed{fill:#7ee787}",
        f"{moves}{{text{{opacity:0}}}}",
    ]
    scrolls = []
    for number, moment in enumerate(moments):
        hidden, seen = f"{moment / total:.2%}", f"{moment / total + 0.0001:.2%}"
        style.append(f"@keyframes k{number}{{0%,{hidden}{{opacity:0}}{seen},100%{{opacity:1}}}}")
        style.append(f"{moves}{{#l{number}{{animation:k{number} {total:.1f}s infinite}}}}")
        scrolls.append(f"{hidden}{{transform:translateY({-LINE * max(0, number + 1 - ROWS)}px)}}")
    style.append(f"g{{transform:translateY({-LINE * max(0, len(rows) - ROWS)}px)}}")
    style.append(f"@keyframes scroll{{0%{{transform:none}}{''.join(scrolls)}}}")
    style.append(f"{moves}{{g{{animation:scroll {total:.1f}s infinite step-end}}}}")
    texts = [_text(number, row.text) for number, row in enumerate(rows)]
    size = f'viewBox="0 0 {width} {height}" role="img" aria-label="A terminal: a table is learned and a row predicted"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    back = f'<rect width="{width}" height="{height}" rx="8" fill="#1e1e1e"/>'
    return "\n".join([head, f"<style>{''.join(style)}</style>", back, "<g>", *texts, "</g>", "</svg>"]) + "\n"


def _text(number: int, text: str) -> str:
    kind = ' class="typed"' if text.startswith("$ ") else ""
    return f'<text id="l{number}"{kind} x="20" y="{32 + number * LINE}">{html.escape(text)}</text>'


def _wrap(text: str) -> list[str]:
    return [text[start : start + COLUMNS] for start in range(0, len(text), COLUMNS)] or [""]


def take(browser: Browser, work: Path) -> None:
    """Look at each page, and keep what is seen."""
    _picture(browser, (work / "runs/demo/report.html").as_uri(), "report")
    _picture(browser, (work / "studies/rides/report.html").as_uri(), "study")
    with serving(work, "burnish ui --port 8766", 8766) as address:
        _picture(browser, address, "board")
    with serving(work, "burnish serve runs/demo --port 8767", 8767) as address:
        _picture(browser, address, "page", wait="#answer .bars li")


def _picture(browser: Browser, address: str, name: str, *, wait: str = "body") -> None:
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    page.goto(address)
    page.wait_for_selector(wait, timeout=START_SECONDS * 1000)
    page.wait_for_load_state("networkidle")
    taken = page.context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": 80})
    (PICTURES / f"{name}.webp").write_bytes(base64.b64decode(taken["data"]))
    page.close()


@contextmanager
def serving(work: Path, command: str, port: int) -> Iterator[str]:
    """Run a server until the pictures are taken."""
    server = subprocess.Popen(_words(command), cwd=work, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(START_SECONDS)


def _wait_for(address: str, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urlopen(address, timeout=30):
                return
        except (URLError, TimeoutError):
            time.sleep(0.5)
    raise SystemExit(f"nothing answers at {address}")


def _words(command: str) -> list[str]:
    return [sys.executable, "-m", *shlex.split(command)]


if __name__ == "__main__":
    main()
