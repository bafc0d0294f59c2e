"""The page for every kind of answer, and for everyone: with a keyboard, a screen reader, a phone, at night, refused."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan
from tests.harness.fork_server import fork_server
from tests.harness.served_tasks import TOPICS, train_tasks
from tests.harness.server import RunningServer, running_server
from tests.integration.serve.pages import answered, find_axe, opened, running_browser, serious_violations
from tests.integration.tasks.several import several
from tests.project import BAD, GOOD

pytestmark = pytest.mark.skipif(
    os.environ.get("BURNISH_SERVE") != "full", reason="trains a model of every task; `make serve-proof` runs it"
)
TASKS = (
    *("tags", "questions", "choices", "masked", "search", "alike", "price", "summary", "topics", "mixed"),
    *("several.mood", "several.tag"),
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tasks")
    with fork_server() as workers:
        train_tasks(root, workers)
        run = RunDirectory(root / "several")
        settle_plan(run, several(root / "sets", root / "model"))
        assert workers.start(run.path, output=root / "several.log").wait() == 0
    return root


@pytest.fixture(scope="module")
def tasks(trained: Path) -> Iterator[RunningServer]:
    names = dict.fromkeys(name.partition(".")[0] for name in TASKS)
    with running_server(*names, "--deadline", "30", directory=trained, log=trained / "server.log") as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as started:
        yield started


def test_tags_are_marked_in_the_sentence_with_a_legend(tasks: RunningServer, browser: Browser) -> None:
    with answered(browser, f"{tasks.url}/#tags") as shown:
        shown.fill("words", "🎬 🎬 the good story is dull")
        shown.predict()
        marks = shown.page.locator("#answer .passage mark")
        assert marks.all_inner_texts() == ["good NICE", "dull POOR"]
        assert shown.page.locator("#answer .legend mark").all_inner_texts() == ["NICE (1)", "POOR (1)"]
        left_out = shown.explain()
        assert "story" in left_out
        assert not {"good", "dull"} <= set(left_out)


def test_an_answer_is_marked_in_its_context_with_the_next_best(tasks: RunningServer, browser: Browser) -> None:
    with answered(browser, f"{tasks.url}/#questions") as shown:
        shown.fill("context", "🎬 with 🎬 the plot warm a cast is")
        shown.predict()
        best, share = next(iter(shown.bars.items()))
        assert shown.headline == f"{best} {share}"
        assert shown.page.locator("#answer .passage mark").all_inner_texts() == [best]
        assert not {*best.split()} & {*shown.explain()}


def test_choices_are_ranked_and_a_refusal_is_at_its_field(tasks: RunningServer, browser: Browser) -> None:
    with answered(browser, f"{tasks.url}/#choices") as shown:
        shown.fill("choices", "good\nbad\ncold\n")
        shown.predict()
        assert set(shown.bars) == {"good", "bad", "cold"}
        assert not {"bad", "cold"} & set(shown.explain())
        shown.fill("choices", "")
        shown.page.get_by_role("button", name="Predict").click()
        field = shown.page.get_by_label("choices", exact=True)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(field).to_be_focused()
        expect(shown.page.locator("#fields .wrong").last).to_contain_text("an empty list")
        shown.faults.clear()  # the browser notes that it was refused


def test_blanks_are_filled_in(tasks: RunningServer, browser: Browser) -> None:
    with answered(browser, f"{tasks.url}/#masked") as shown:
        shown.fill("text", "the film is ")
        shown.page.get_by_role("button", name="Insert [MASK]").click()
        assert shown.page.get_by_label("text", exact=True).input_value() == "the film is [MASK]"
        shown.predict()
        best = next(iter(shown.bars))
        assert shown.page.locator("#answer .passage").inner_text() == f"the film is {best}"
        shown.explain()
        shown.fill("text", "the film is good")
        shown.predict()
        expect(shown.page.locator("#headline")).to_contain_text("perplexity")


def test_passages_are_searched(tasks: RunningServer, browser: Browser) -> None:
    with answered(browser, f"{tasks.url}/#search") as shown:
        shown.fill("question", "a funny film")
        shown.fill("passages to search", "the plot is cold\na funny film\nthe cast")
        shown.predict()
        assert shown.bars["a funny film"] == "1.0000"
        assert next(iter(shown.bars)) == shown.headline == "a funny film"


@pytest.mark.parametrize("name", ["alike", "price"])
def test_a_number_is_shown_in_the_range_of_the_training_rows(tasks: RunningServer, browser: Browser, name: str) -> None:
    with answered(browser, f"{tasks.url}/#{name}") as shown:
        assert float(shown.headline) > 0
        assert "range of the training rows" in shown.page.locator("#answer .ends").inner_text()
        shown.explain()


def test_a_text_is_written(tasks: RunningServer, browser: Browser) -> None:
    with answered(browser, f"{tasks.url}/#summary") as shown:
        shown.fill("source", "the story is warm and funny")
        shown.predict()
        said = shown.page.locator("#raw pre").text_content() or ""
        assert shown.page.locator("#headline").inner_text().startswith(json.loads(said)[0]["predicted"] or "nothing")
        expect(shown.page.locator("#ask-why")).to_be_hidden()


def test_each_of_several_labels_has_a_bar_whatever_it_is_called(tasks: RunningServer, browser: Browser) -> None:
    with answered(browser, f"{tasks.url}/#topics") as shown:
        shown.fill("text", f"the story is {GOOD[0]} {BAD[0]} {GOOD[0]} {BAD[0]}")
        shown.predict()
        assert set(shown.bars) == set(TOPICS)
        likely = [name for name, share in shown.bars.items() if float(share.rstrip("%")) > 50]
        assert set(shown.page.locator("#answer .chosen .name").all_inner_texts()) == set(likely)
        assert shown.headline == (", ".join(name for name in sorted(TOPICS) if name in likely) or "no label")
        assert "story" in shown.explain()


def test_a_text_and_columns_are_asked_together(tasks: RunningServer, browser: Browser) -> None:
    with answered(browser, f"{tasks.url}/#mixed") as shown:
        shown.fill("text", f"the story is {GOOD[0]}")
        shown.page.get_by_label("place", exact=True).select_option("cinema")
        shown.fill("stars", "5")
        shown.predict()
        assert set(shown.bars) == {"neg", "pos"}
        assert {"stars", "place", "story"} <= set(shown.explain())


def test_tasks_of_one_artifact_are_chosen_as_its_group(tasks: RunningServer, browser: Browser) -> None:
    with answered(browser, tasks.url) as shown:
        group = shown.page.locator("#model optgroup[label=several] option")
        assert group.all_inner_texts() == ["mood", "alike", "tag"]
        shown.page.get_by_label("Model").select_option("several.alike")
        expect(shown.page.locator("#title")).to_have_text("several.alike")
        expect(shown.page.locator("#answer .ends")).to_contain_text("range of the training rows")


@pytest.mark.parametrize(("color", "width"), [("light", 1200), ("dark", 1200), ("light", 360)])
@pytest.mark.parametrize("name", TASKS)
def test_everyone_can_use_it(tasks: RunningServer, browser: Browser, name: str, color: str, width: int) -> None:
    axe = find_axe()
    with answered(browser, f"{tasks.url}/#{name}", color=color, width=width) as shown:
        if shown.page.locator("#ask-why").is_visible():
            shown.explain()
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
        assert serious_violations(shown, axe) == []


def test_a_key_is_asked_for_and_refusals_are_shown(trained: Path, browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("open sesame\n")
    (tmp_path / "rows.csv").write_text("text\n" + "a good film\n" * 10)
    words = ("price", "--api-key-file", str(tmp_path / "keys"), "--max-rows", "3", "--deadline", "30")
    with (
        running_server(*words, directory=trained, log=tmp_path / "log") as running,
        opened(browser, running.url) as shown,
    ):
        key = shown.page.get_by_label("API key")
        expect(key).to_be_focused()
        assert serious_violations(shown, find_axe()) == []
        for given in ("wrong", "open sesame"):
            key.fill(given)
            key.press("Enter")
            expect(shown.page.locator("#problem")).to_contain_text("asks for a key" if given == "wrong" else "")
        expect(shown.page.locator("#raw pre")).to_contain_text("predicted")
        expect(key).to_be_hidden()
        expect(shown.page.locator("#code")).to_contain_text("$BURNISH_API_KEY")
        shown.page.get_by_role("button", name="Why?").click()
        expect(shown.page.locator("#problem")).to_contain_text("rows, but only 3 are read at once")
        shown.page.get_by_label("Choose a CSV file").set_input_files(tmp_path / "rows.csv")
        expect(shown.page.locator("#file-said")).to_have_text("10 rows answered")
        running.stop()
        shown.page.get_by_role("button", name="Predict").click()
        expect(shown.page.locator("#problem")).to_have_text("the server does not answer; it may have been stopped")
