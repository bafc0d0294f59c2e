"""The board and a run's report in a real browser, for everyone: sorted, filtered, kept up to date, compared, read."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from burnish.tuning.record import EndedLeg, StudyRecord, Trial
from tests.harness.board import running_board
from tests.integration.serve.pages import SLOWEST, Shown, find_axe, opened, running_browser, serious_violations
from tests.unit.commands.run_maker import STORY, finish, make_run, predict

pytestmark = pytest.mark.skipif(
    os.environ.get("BURNISH_SERVE") != "full", reason="drives a browser; `make serve-proof` runs it"
)
TRUTH = ["neg", "pos"] * 20
LOOKS = [("light", 1200), ("dark", 1200), ("light", 360)]
PHONE = 390
SMALLEST_LETTER = """() => Math.min(...[...document.querySelectorAll("svg text")].map((text) => {
  const picture = text.ownerSVGElement, seen = picture.getBoundingClientRect().width;
  return seen ? parseFloat(getComputedStyle(text).fontSize) * seen / picture.viewBox.baseVal.width : Infinity;
}))"""
"""How many pixels high the smallest letter of a chart is as it is seen."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as started:
        yield started


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for number, (name, wrong, accuracy) in enumerate([("base", 2, 0.8), ("fast", 14, 0.65), ("wide", 4, 0.9)]):
        run = make_run(tmp_path / name, rate=(1 + number) * 1e-5, started=1_700_000_000.0 - 5000 * number)
        finish(run, accuracy=accuracy, baselines={"majority": 0.5})
        flipped = ["pos" if label == "neg" else "neg" for label in TRUTH[:wrong]]
        predict(run, flipped + TRUTH[wrong:], TRUTH)
    make_run(tmp_path / "none", rate=9e-5, story=STORY[:2])
    return tmp_path


@pytest.fixture
def board(runs: Path) -> Iterator[str]:
    with running_board(runs) as url:
        yield url


def names(shown: Shown) -> list[str]:
    return shown.page.locator("#rows tr:visible td:nth-child(2) a").all_inner_texts()


def test_runs_are_sorted_both_ways_and_those_without_a_score_are_last(board: str, browser: Browser) -> None:
    with opened(browser, board) as shown:
        assert set(names(shown)) == {"base", "fast", "wide", "none"}
        head = shown.page.locator("th", has_text="Test")
        for expected, order in (("wide base fast none", "descending"), ("fast base wide none", "ascending")):
            head.get_by_role("button").click()
            assert names(shown) == expected.split()
            assert head.get_attribute("aria-sort") == order
        shown.page.get_by_role("button", name="Started", exact=True).click()
        assert names(shown)[0] in ("base", "none")
        assert shown.page.locator("th[aria-sort]").count() == 1


def test_a_filter_hides_what_it_does_not_name_and_counts(board: str, browser: Browser) -> None:
    with opened(browser, board) as shown:
        expect(shown.page.locator("#count")).to_have_text("4 runs")
        shown.page.get_by_label("Filter runs").fill("FINISHED")
        assert set(names(shown)) == {"base", "fast", "wide"}
        expect(shown.page.locator("#count")).to_have_text("3 of 4 runs")
        shown.page.get_by_label("Filter runs").fill("wi")
        assert names(shown) == ["wide"]


def test_a_new_run_appears_and_what_was_chosen_and_sorted_stays(board: str, runs: Path, browser: Browser) -> None:
    with opened(browser, board) as shown:
        shown.page.get_by_role("button", name="Test", exact=True).click()
        shown.page.get_by_label("compare base").check()
        shown.page.get_by_label("compare base").focus()
        finish(make_run(runs / "best", rate=8e-5), accuracy=0.99)
        expect(shown.page.locator("#count")).to_have_text("5 runs", timeout=SLOWEST)
        assert names(shown) == ["best", "wide", "base", "fast", "none"]
        expect(shown.page.get_by_label("compare base")).to_be_checked()
        expect(shown.page.get_by_label("compare base")).to_be_focused()
        compare = shown.page.get_by_role("button", name="Compare selected")
        expect(compare).to_be_disabled()
        shown.page.get_by_label("compare fast").check()
        compare.click()
        expect(shown.page.locator("header")).to_contain_text("base is better by 30.0 points")
        assert shown.faults == []


def test_a_board_whose_server_has_stopped_says_so(runs: Path, browser: Browser) -> None:
    with running_board(runs) as url, opened(browser, url) as shown:
        expect(shown.page.locator("#count")).to_have_text("4 runs")
    with opened(browser, "about:blank") as shown, running_board(runs) as url:
        shown.page.goto(url)
        shown.page.route("**/rows", lambda route: route.abort())
        expect(shown.page.locator("#count")).to_contain_text("the server has stopped", timeout=SLOWEST)


@pytest.mark.parametrize(("color", "width"), LOOKS)
@pytest.mark.parametrize("path", ["/", "/run?name=base", "/compare?name=base&name=fast"])
def test_everyone_can_read_it(board: str, browser: Browser, path: str, color: str, width: int) -> None:
    axe = find_axe()
    with opened(browser, board + path, color=color, width=width) as shown:
        expect(shown.page.locator("h1")).to_be_visible()
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
        assert serious_violations(shown, axe) == []
        assert shown.faults == []


@pytest.mark.parametrize("path", ["/run?name=base", "/compare?name=base&name=fast", "/study?name=search"])
def test_charts_can_be_read_on_a_phone(board: str, runs: Path, browser: Browser, path: str) -> None:
    record = StudyRecord(runs / "search")
    record.begin({"experiment": {}, "space": {}, "seed": 0, "metric": None, "starts": [], "evaluations": 1})
    record.score_name = "validation/accuracy"
    for number, score in enumerate((0.5, 0.7, 0.6)):
        record.add_trial(Trial(number, {}, {"optimizer.learning_rate": 0.1}, f"trial-{number:04d}"))
        record.add_end(EndedLeg(number, None, "finished", score))
    with opened(browser, board + path, width=PHONE) as shown:
        assert 10 <= shown.page.evaluate(SMALLEST_LETTER) < 20
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= PHONE


def test_on_a_phone_scores_are_seen_first_and_settings_are_whole_words(board: str, browser: Browser) -> None:
    with opened(browser, board, width=PHONE) as shown:
        cell = shown.page.locator("tr[data-name=base] td").nth(2)
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= PHONE
        expect(cell).to_contain_text("accuracy")
    with opened(browser, board + "/run?name=base", width=PHONE) as shown:
        value = shown.page.locator(".settings td", has_text="text_classification").first
        assert value.evaluate("cell => cell.getClientRects().length && cell.clientHeight") < 40, "one line"
