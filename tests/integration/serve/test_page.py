"""The page at / asks a real server from a real browser: a model of texts and one of a table."""

import ast
import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.harness.server import RunningServer
from tests.integration.serve.pages import answered, running_browser

PAGE = Path(__file__).parents[3] / "src" / "burnish" / "serve" / "page"
HOSTILE = "a <img src=x onerror=alert(1)> 'good' \"film\" $HOME `id` \\ 🎬"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as started:
        yield started


def predicted(server: RunningServer, model: str, row: dict[str, object]) -> dict[str, object]:
    answer = httpx.post(f"{server.url}/v1/models/{model}:predict", json=[row], timeout=30).json()
    return answer["predictions"][0]


def percents(answer: dict[str, object]) -> dict[str, str]:
    return {name: f"{100 * share:.1f}%" for name, share in answer["probabilities"].items()}  # type: ignore[attr-defined]


def test_a_text_is_classified_and_explained(server: RunningServer, browser: Browser) -> None:
    with answered(browser, f"{server.url}/#texts") as shown:
        shown.fill("text", "a good warm film")
        with shown.page.expect_response(lambda answer: ":predict" in answer.url):
            shown.page.keyboard.press("Control+Enter")
        expect(shown.page.locator("#raw pre")).to_contain_text("confidence")
        assert shown.bars == percents(predicted(server, "texts", {"text": "a good warm film"}))
        assert set(shown.explain()) == {"a", "good", "warm", "film"}
        assert shown.page.locator("#why .words span").all_inner_texts() == ["a", "good", "warm", "film"]


def test_whatever_is_written_is_shown_as_text_and_copied_as_it_is(
    server: RunningServer, browser: Browser, tmp_path: Path
) -> None:
    expected = predicted(server, "texts", {"text": HOSTILE})
    with answered(browser, f"{server.url}/#texts") as shown:
        shown.fill("text", HOSTILE)
        shown.predict()
        assert shown.bars == percents(expected)
        shown.explain()
        assert shown.page.locator("#why img").count() == 0
        copied = {}
        for language in ("curl", "Python"):
            shown.page.get_by_role("button", name=f"Copy as {language}").click()
            expect(shown.page.locator("#copied")).to_have_text("copied")
            copied[language] = shown.page.evaluate("navigator.clipboard.readText()")
    (tmp_path / "ask.py").write_text(copied["Python"], encoding="utf-8")
    printed = subprocess.run([sys.executable, tmp_path / "ask.py"], check=True, capture_output=True, text=True).stdout
    assert ast.literal_eval(printed) == [expected]
    if shutil.which("curl"):
        printed = subprocess.run(["sh", "-c", copied["curl"]], check=True, capture_output=True, text=True).stdout
        assert json.loads(printed)["predictions"] == [expected]


def test_a_table_is_answered_while_its_sliders_move(server: RunningServer, browser: Browser) -> None:
    with answered(browser, server.url) as shown:
        shown.page.get_by_label("Model").select_option("rides")
        expect(shown.page.locator("#title")).to_have_text("rides")
        shown.page.get_by_role("button", name="Example 2").click()
        with shown.page.expect_response(lambda answer: ":predict" in answer.url):
            shown.page.get_by_label("cash", exact=True).select_option("false")
        with shown.page.expect_response(lambda answer: ":predict" in answer.url):
            shown.page.get_by_label("fare, slider").fill("50")
        assert shown.page.get_by_label("fare", exact=True).input_value() == "50"
        row = {"fare": 50, "miles": 5.4, "company": "Red", "cash": False}
        expected = percents(predicted(server, "rides", row))
        expect(shown.page.locator("#answer .amount").first).to_have_text(max(expected.values()))
        assert shown.bars == expected
        assert set(shown.explain()) == set(row)
        assert "3.48 to 59.3 in training" in shown.page.locator("#fields").inner_text()


def test_a_file_is_answered_in_chunks_and_its_bad_rows_are_listed(
    server: RunningServer, browser: Browser, tmp_path: Path
) -> None:
    rows = [[str(number), f"{number / 10}", 'Blue, "the"\nfirst', "yes"] for number in range(450)]
    rows[3][1], rows[301][1] = "far", "near"
    with (tmp_path / "rides.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["id", "fare", "company", "cash"], *rows])
    with answered(browser, f"{server.url}/#rides") as shown:
        shown.page.get_by_label("Choose a CSV file").set_input_files(tmp_path / "rides.csv")
        expect(shown.page.locator("#file-said")).to_have_text("450 rows answered, 2 of them bad")
        bad = shown.page.locator("#bad li").all_inner_texts()
        assert [re.sub(";.*", "", each) for each in bad] == [
            "row 4: fare: 'far' is not a number",
            "row 302: fare: 'near' is not a number",
        ]
        with shown.page.expect_download() as download:
            shown.page.get_by_role("link", name="Download rides.predictions.csv").click()
        with download.value.path().open(newline="") as stream:
            answers = list(csv.DictReader(stream))
    assert [[each[name] for name in ("id", "fare", "company", "cash")] for each in answers] == rows
    assert [number for number, each in enumerate(answers) if each["error"]] == [3, 301]
    last = predicted(server, "rides", {"fare": 44.9, "company": 'Blue, "the"\nfirst', "cash": "yes"})
    assert answers[-1]["predicted"] == last["predicted"]
    assert float(answers[-1]["confidence"]) == pytest.approx(last["confidence"])


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(";", "cp1252"), ("\t", "utf-16"), ("|", "utf-8-sig"), (",", "cp1252")]
)
def test_a_file_is_read_with_its_own_delimiter_and_encoding(
    server: RunningServer, browser: Browser, tmp_path: Path, delimiter: str, encoding: str
) -> None:
    company = f'Grün{delimiter} "the",; first'
    rows = [[str(number), f"{number}.5", company, "yes"] for number in range(5)]
    with (tmp_path / "rides.csv").open("w", newline="", encoding=encoding) as stream:
        csv.writer(stream, delimiter=delimiter).writerows([["id", "fare", "company", "cash"], *rows])
    with answered(browser, f"{server.url}/#rides") as shown:
        shown.page.get_by_label("Choose a CSV file").set_input_files(tmp_path / "rides.csv")
        expect(shown.page.locator("#file-said")).to_have_text("5 rows answered")
        with shown.page.expect_download() as download:
            shown.page.get_by_role("link", name="Download rides.predictions.csv").click()
        with download.value.path().open(newline="", encoding="utf-8") as stream:
            answers = list(csv.DictReader(stream, delimiter=delimiter))
    assert [[each[name] for name in ("id", "fare", "company", "cash")] for each in answers] == rows
    last = predicted(server, "rides", {"fare": 4.5, "company": company, "cash": "yes"})
    assert float(answers[-1]["confidence"]) == pytest.approx(last["confidence"])


@pytest.mark.parametrize(
    ("said", "shares", "chosen"),
    [
        ("", {"a": 0.1, "b": 0.1}, []),
        ("a;b", {"a": 0.9, "b": 0.8, "c": 0.1}, ["a", "b"]),
        ("art; music;b", {"art; music": 0.9, "b": 0.8}, ["art; music", "b"]),
        ("a;b", {"a": 0.9, "b": 0.8, "a;b": 0.1}, ["a", "b"]),
        ("a;b", {"a": 0.9, "b": 0.2, "a;b": 0.6}, ["a;b"]),
        ("b;1", {"b": 0.9, "1": 0.8}, ["b", "1"]),
    ],
)
def test_labels_may_hold_what_joins_them(
    server: RunningServer, browser: Browser, said: str, shares: dict[str, float], chosen: list[str]
) -> None:
    with answered(browser, f"{server.url}/#texts") as shown:
        found = shown.page.evaluate(
            "async ([answer, names]) => (await import('/page/answers.js')).labelsOf(answer, names)",
            [{"predicted": said, "probabilities": shares}, list(shares)],
        )
    assert found == chosen


def test_the_page_runs_only_its_own_scripts_and_writes_no_markup(server: RunningServer) -> None:
    answer = httpx.get(server.url, timeout=30)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'" in policy
    assert "unsafe" not in policy
    scripts = [path.read_text(encoding="utf-8") for path in PAGE.glob("*.js")]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", "".join(scripts))
    assert not re.search(r"https?://", answer.text + "".join(scripts))
