"""What the documentation shows is true: its blocks parse, run and decode, and its links lead somewhere."""

import csv
import html
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import markdown
import pytest
import yaml

from burnish.commands.config import check

ROOT = Path(__file__).parents[1]
FIRST_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
EXAMPLE_PAGES = sorted((ROOT / "examples").rglob("*.md"))
PAGES = sorted([*FIRST_PAGES, *(ROOT / "docs").rglob("*.md")])
SKIP = re.compile(r"^<!-- test: skip because \S.* -->$")
LONG = re.compile(r"^<!-- test: make examples because \S.* -->$")
TITLE = re.compile(r'title="([\w./-]+)"')
NAMED = re.compile(r"^# ([\w./-]+\.ya?ml)\b")
FILE = re.compile(r"^<!-- file: (\S+) -->$")
SNIPPET = re.compile(r'^--8<-- "([\w./-]+)"$', re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
COMMAND_SECONDS = 120


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and what stands directly above it."""

    page: Path
    line: int
    info: str
    above: str
    text: str

    @property
    def language(self) -> str:
        return self.info.split(" ")[0]

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_skipped(self) -> bool:
        return SKIP.match(self.above) is not None

    @property
    def is_long(self) -> bool:
        """Whether it runs only where nothing is shrunk; on pages of examples."""
        return LONG.match(self.above) is not None

    @property
    def file_name(self) -> str | None:
        """The name under which later blocks of the page find it: `title="mine.yaml"`, or a first line `# mine.yaml`."""
        match = TITLE.search(self.info) or (NAMED.match(self.text) if self.language == "yaml" else None)
        return match[1] if match else None


@dataclass(frozen=True)
class Command:
    """One `$ burnish …` of a console block, and what it is shown to print."""

    words: list[str]
    answer: str

    @property
    def is_refused(self) -> bool:
        return self.answer.startswith("error:")


def blocks_of(page: Path) -> Iterator[Block]:
    lines = page.read_text().splitlines()
    number = 0
    while number < len(lines):
        indent, fence, info = re.match(r"^(\s*)(```|)(.*)$", lines[number]).groups()
        if not fence:
            number += 1
            continue
        end = next(n for n in range(number + 1, len(lines)) if lines[n].strip() == "```")
        text = with_snippets("\n".join(line.removeprefix(indent) for line in lines[number + 1 : end]))
        yield Block(page, number + 1, info.strip(), lines[number - 1].strip() if number else "", text)
        number = end + 1


def with_snippets(text: str) -> str:
    return SNIPPET.sub(lambda match: (ROOT / match[1]).read_text().rstrip("\n"), text)


def typed_lines(text: str) -> Iterator[tuple[str, str]]:
    """Give each line behind a `$` with what it is shown to print."""
    whole_lines = re.sub(r"\\\n\s*", " ", text)
    for entry in re.split(r"^\$ ", whole_lines, flags=re.MULTILINE)[1:]:
        line, _, answer = entry.partition("\n")
        yield line, answer.strip()


def commands_of(text: str) -> Iterator[Command]:
    for line, answer in typed_lines(text):
        if line.startswith("burnish"):
            yield Command(shlex.split(line)[1:], answer)


ALL_BLOCKS = [block for page in (*PAGES, *EXAMPLE_PAGES) for block in blocks_of(page)]
RUNNABLE = {"python", "console"}
RUNNING_PAGES = sorted(
    {block.page for block in ALL_BLOCKS if block.language in RUNNABLE and not block.is_skipped} - {*EXAMPLE_PAGES}
)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("block", [b for b in ALL_BLOCKS if b.language == "yaml"], ids=lambda block: block.place)
def test_yaml_parses(block: Block) -> None:
    list(yaml.safe_load_all(block.text))


@pytest.mark.parametrize(
    "block", [b for b in ALL_BLOCKS if b.text.startswith("# experiment")], ids=lambda block: block.place
)
def test_experiments_decode(block: Block, tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").write_text(block.text)
    check(str(tmp_path / "experiment.yaml"))


@pytest.mark.parametrize("page", RUNNING_PAGES, ids=name_of)
def test_what_a_page_shows_runs_from_top_to_bottom(page: Path, small_data: Path, interpreter: Path) -> None:
    for block in blocks_of(page):
        if block.file_name is not None:
            (small_data / block.file_name).write_text(block.text + "\n")
        if block.language == "python" and not block.is_skipped:
            run_python(block, directory=small_data)
        if block.language == "console" and not block.is_skipped:
            run_console(block, directory=small_data, interpreter=interpreter)


def test_a_skipped_block_says_why() -> None:
    comments = [block for block in ALL_BLOCKS if block.above.startswith("<!-- test:")]
    assert [block.place for block in comments if not (block.is_skipped or block.is_long)] == []


SHOWN_FILES = [block for block in ALL_BLOCKS if block.above.startswith("<!-- file:")]


@pytest.mark.parametrize("block", SHOWN_FILES, ids=lambda block: block.place)
def test_a_file_is_shown_as_it_is(block: Block) -> None:
    """A page holds the text itself and no include, which would show nothing on GitHub."""
    match = FILE.match(block.above)
    assert match is not None
    assert block.text == (ROOT / match[1]).read_text().rstrip("\n")


@pytest.mark.parametrize("page", [*FIRST_PAGES, *EXAMPLE_PAGES], ids=name_of)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    assert [target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()] == []


def test_the_first_page_leads_to_all_others() -> None:
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md") if page.parent.name != "decisions"}
    assert pages - {"index.md", *LINK.findall((docs / "index.md").read_text())} == set()


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra `dev` brings it")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(
    ("text", "words", "is_refused"),
    [
        ("$ burnish list tasks\ntext_classification", ["list", "tasks"], False),
        ("$ burnish train a.yaml \\\n    --dir runs/a", ["train", "a.yaml", "--dir", "runs/a"], False),
        ("$ burnish config check x=1\nerror: the experiment has a problem", ["config", "check", "x=1"], True),
    ],
)
def test_commands_are_read_as_a_shell_would(text: str, words: list[str], is_refused: bool) -> None:
    (command,) = commands_of(text)
    assert (command.words, command.is_refused) == (words, is_refused)


@pytest.fixture
def small_data(tmp_path: Path) -> Path:
    """Make a folder with what the documentation's commands may use."""
    verdicts = {"pos": "A fine film, warm and clever, number", "neg": "A dull film, cold and stupid, number"}
    with (tmp_path / "reviews.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows([f"{verdicts[label]} {number}.", label] for number in range(30) for label in verdicts)
    shutil.copy(ROOT / "examples" / "plugin" / "tickets.csv", tmp_path)
    return tmp_path


def run_python(block: Block, *, directory: Path) -> None:
    command = [sys.executable, "-c", block.text]
    answer = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=COMMAND_SECONDS)
    assert answer.returncode == 0, f"{block.place}\n{answer.stderr}"


def run_console(block: Block, *, directory: Path, interpreter: Path) -> None:
    for command in commands_of(block.text):
        answer = burnish(command.words, directory=directory, interpreter=interpreter)
        said = f"{block.place}: burnish {shlex.join(command.words)}\n{answer.stdout}{answer.stderr}"
        assert (answer.returncode != 0) == command.is_refused, said
        if command.is_refused:
            assert command.answer in answer.stderr, said


def burnish(words: list[str], *, directory: Path, interpreter: Path) -> subprocess.CompletedProcess[str]:
    command = [interpreter, "-m", "burnish", *words]
    # A page is for a reader who may fetch models; the check opens no connection to see that they are not here.
    offline = {"HF_HUB_OFFLINE": "0"} if words[:2] == ["config", "check"] else {}
    environment = {**os.environ, **offline}
    return subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=COMMAND_SECONDS, env=environment
    )


def test_the_page_of_the_loop_shows_the_file_itself() -> None:
    options = {"pymdownx.snippets": {"base_path": [str(ROOT)], "check_paths": True}}
    page = (ROOT / "docs/explanation/loop.md").read_text()
    shown = markdown.markdown(page, extensions=["pymdownx.superfences", *options], extension_configs=options)
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", "", shown)).split())
    assert " ".join((ROOT / "src/burnish/engine/loop.py").read_text().split()) in words
