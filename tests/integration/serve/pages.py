"""The page of a server in a real browser."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[3]
SLOWEST = 20_000
"""How many milliseconds a page may take on a busy machine."""


@dataclass(frozen=True)
class Shown:
    """A page, and what one does on it."""

    page: Page
    faults: list[str]
    """What the browser complained about: errors of scripts, and what the policy of the page blocked."""

    def fill(self, name: str, text: str) -> None:
        self.page.get_by_label(name, exact=True).fill(text)

    def predict(self) -> None:
        """Ask, and wait until the answer is there."""
        with self.page.expect_response(lambda answer: ":predict" in answer.url):
            self.page.get_by_role("button", name="Predict").click()
        expect(self.page.locator("#result.busy")).to_have_count(0)

    @property
    def headline(self) -> str:
        return self.page.locator("#headline").inner_text()

    @property
    def bars(self) -> dict[str, str]:
        items = self.page.locator("#answer .bars li")
        names, amounts = (items.locator(part).all_inner_texts() for part in (".name", ".amount"))
        return dict(zip(names, amounts, strict=True))

    def explain(self) -> list[str]:
        """Ask why; give the names of what was left out, the most influential first."""
        self.page.get_by_role("button", name="Why?").click()
        expect(self.page.locator("#why h3")).to_contain_text("Leave-one-out: how the answer changes without this")
        return self.page.locator("#why .bars .name").all_inner_texts()


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Start Chromium, or skip where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium is installed, which shows the page")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, url: str, *, color: str = "light", width: int = 1200) -> Iterator[Shown]:
    """Open the page and wait for the answer to its first example."""
    size = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=color, permissions=["clipboard-read", "clipboard-write"])  # type: ignore[arg-type]  # as it is
    context.set_default_timeout(SLOWEST)
    shown = Shown(context.new_page(), [])
    shown.page.on("pageerror", lambda error: shown.faults.append(str(error)))
    shown.page.on("console", lambda said: shown.faults.append(said.text) if said.type == "error" else None)
    shown.page.goto(url)
    yield shown
    context.close()


@contextmanager
def answered(browser: Browser, url: str, *, color: str = "light", width: int = 1200) -> Iterator[Shown]:
    """Open the page, and wait for the answer to its first example."""
    with opened(browser, url, color=color, width=width) as shown:
        expect(shown.page.locator("#raw pre")).to_contain_text("predicted", timeout=SLOWEST)
        yield shown
        assert shown.faults == []


def find_axe() -> Path:
    """Find axe-core, which judges accessibility, or skip where nobody has installed it."""
    path = Path(os.environ.get("BURNISH_AXE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
    if not path.is_file():
        pytest.skip("axe-core is not installed; `make serve-proof` installs it, or BURNISH_AXE names its axe.min.js")
    return path


def serious_violations(shown: Shown, axe: Path) -> list[str]:
    """Judge the page as it is now."""
    shown.page.evaluate(axe.read_text(encoding="utf-8") + "\n;0")
    found = shown.page.evaluate("() => axe.run()")
    assert len(found["passes"]) > len(found["violations"]), "the page was not looked at"
    return [
        f"{each['id']}: {each['help']}: {[node['html'] for node in each['nodes']]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
