"""What a user reads is plain English of the field: no page, help text or message has a phrase that grates."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.commands.config import listing

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / "tests/golden/cli/help").glob("*.txt"),
    ]
)
SOURCES = sorted((ROOT / "src/burnish").rglob("*.py"))
TEMPLATES = sorted(path for ending in ("yaml", "j2", "html") for path in (ROOT / "src/burnish").rglob(f"*.{ending}"))
SOURCES = sorted((ROOT / "src/burnish").rglob("*.py"))
TEMPLATES = sorted(path for ending in ("yaml", "j2") for path in (ROOT / "src/burnish").rglob(f"*.{ending}"))
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\([^)]*\)")

DENIED = {
    r"go(es|ing)? on with": "continue, resume",
    r"went on": "continued",
    r"besides?": "next to, compared with, together with",
    r"from nothing": "from scratch",
    r"tells?(?! (\w+ )?apart)|told": "shows, reports, decides",
    r"stands?|stood": "is, appears",
    r"mend(s|ed)?": "fix",
    r"anew": "again",
    r"dealt out": "shuffled",
    r"(is|are|was) worth": "importance",
    r"a say": "influence",
    r"of (its|their|one's) own": "its own, separate",
    r"no difference (is )?shown": "no significant difference",
    r"whoever|whosoever": "anyone who",
    r"foresees?|foreseen|foresaw": "estimate",
    r"rightly": "correctly",
    r", for (it|its|they|their|what|this|that|there|those|these|nobody|nothing)": "because",
    r", for the (\w+ ){1,3}(is|are|was|were|has|have|had|do|does|can|cannot|could|may|must|will|would)": "because",
    r"dev (set|file|split|rows|questions)s?": "validation",
}

# How many findings a file still has. It only shrinks: a file that has fewer must be entered with fewer.
ALLOWED: dict[str, int] = {}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [*PAGES, *TEMPLATES], ids=name_of)
def test_a_page_reads_as_the_field_writes(page: Path) -> None:
    found = list(findings(page.read_text()))
    assert len(found) == ALLOWED.get(name_of(page), 0), "\n".join(found)


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
def test_a_message_reads_as_the_field_writes(source: Path) -> None:
    found = [each for text in messages(source.read_text()) for each in findings(text)]
    assert len(found) == ALLOWED.get(name_of(source), 0), "\n".join(found)


def test_what_is_listed_reads_as_the_field_writes() -> None:
    assert list(findings("\n".join(item.summary for item in listing()))) == []


def test_messages_are_the_sentences_among_strings() -> None:
    source = 'def f(a: "told"):\n    """Told."""\n    raise E(f"{a} is" " told")\nNAME = "told"\n'
    assert list(messages(source)) == ["… is told"]


@pytest.mark.parametrize(
    "text", ["A run goes on with it.", "Beside\nit.", "It is told `so`.", "drawn anew", "No, for it is."]
)
def test_a_phrase_is_found_in_any_case_and_across_lines(text: str) -> None:
    assert len(list(findings(text))) == 1


@pytest.mark.parametrize(
    "text", ["`burnish tell`", "```text\nmend it\n```", "[x](beside.md)", "understands", "Foretold"]
)
def test_code_and_addresses_are_not_prose(text: str) -> None:
    assert list(findings(text)) == []


def messages(source: str) -> Iterator[str]:
    """Give the strings with two words in a row, unlike names and types; docstrings are for readers of the code."""
    tree = ast.parse(source)
    known = [each.value for each in ast.walk(tree) if isinstance(each, ast.Expr)]
    known += [part for each in ast.walk(tree) if isinstance(each, ast.JoinedStr) for part in each.values]
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and node not in known and re.search(r"\w \w", str(node.value)):
            yield str(node.value)


def findings(text: str) -> Iterator[str]:
    prose = LINK.sub("]", CODE.sub("`", FENCE.sub("", text)))
    for phrase, better in DENIED.items():
        pattern = r"(?:(?<!\w)|(?=,))(?:" + phrase.replace(" ", r"\s+") + r")(?!\w)"
        for match in re.finditer(pattern, prose, re.IGNORECASE):
            around = " ".join(prose[max(0, match.start() - 50) : match.end() + 30].split())
            yield f"…{around}… rather: {better}"
