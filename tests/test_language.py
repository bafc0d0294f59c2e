"""What a user reads is plain English of the field: no page and no help text has a phrase that grates."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / "tests/golden/cli/help").glob("*.txt"),
    ]
)
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

# How many findings a page still has. It only shrinks: a page that has fewer must be entered with fewer.
ALLOWED: dict[str, int] = {}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_reads_as_the_field_writes(page: Path) -> None:
    found = list(findings(page.read_text()))
    assert len(found) == ALLOWED.get(name_of(page), 0), "\n".join(found)


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


def findings(text: str) -> Iterator[str]:
    prose = LINK.sub("]", CODE.sub("`", FENCE.sub("", text)))
    for phrase, better in DENIED.items():
        pattern = r"(?:(?<!\w)|(?=,))(?:" + phrase.replace(" ", r"\s+") + r")(?!\w)"
        for match in re.finditer(pattern, prose, re.IGNORECASE):
            around = " ".join(prose[max(0, match.start() - 50) : match.end() + 30].split())
            yield f"…{around}… rather: {better}"
