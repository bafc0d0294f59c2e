"""Checks README and tutorials for `make docs`: their links lead somewhere, and their sentences are easy to read."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEAST_EASE = 60.0
"""Flesch's reading ease: 60 to 70 is plain English, 50 is a quality newspaper, 30 a scientific paper."""
_NOT_PROSE = re.compile(r"```.*?```|<!--.*?-->|^#.*?$|^\|.*?$|^!\[.*?$|^ *---.*?$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")
_MARKS = re.compile(r"[`*_<>]|^\s*[-\d]+[.)]?\s", re.MULTILINE)
_ENDS = re.compile(r"[.!?:](?:\s|$)|\n\s*\n")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_VOWELS = re.compile(r"[aeiouy]+")


def pages() -> list[Path]:
    """List the pages that a stranger reads first."""
    return [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "docs" / "index.md",
        *sorted((ROOT / "docs/tutorials").glob("*.md")),
    ]


def reading_ease(text: str) -> float:
    """Rate a text in Markdown by Flesch's formula: sentences of few words, words of few syllables."""
    prose = re.sub(r"`[^`]*`", "this", _LINK.sub(r"\1", _NOT_PROSE.sub("\n\n", text)))
    sentences = [words for each in _ENDS.split(_MARKS.sub("", prose)) if len(words := _WORD.findall(each)) > 1]
    words = [word for sentence in sentences for word in sentence]
    syllables = sum(map(count_syllables, words))
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * syllables / len(words)


def count_syllables(word: str) -> int:
    """Count groups of vowels; an e at the end is silent."""
    lower = word.lower()
    is_silent = lower.endswith("e") and not lower.endswith(("le", "ee")) and len(_VOWELS.findall(lower)) > 1
    return max(1, len(_VOWELS.findall(lower)) - is_silent)


def broken_links(page: Path) -> Iterator[str]:
    """Name links to files and headings that are not there; other hosts are not asked."""
    for _, target in _LINK.findall(re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)):
        path, _, anchor = target.partition("#")
        if ":" in path:
            continue
        file = page.parent / path if path else page
        if not file.exists():
            yield f"{page.relative_to(ROOT)}: {target} leads to no file"
        elif anchor and file.suffix == ".md" and anchor not in headings(file):
            yield f"{page.relative_to(ROOT)}: {target} leads to no heading of that page"


def headings(page: Path) -> set[str]:
    """Name the anchors of a page as the site makes them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", each).strip().lower()) for each in found}


def main() -> None:
    """Print the reading ease of each page, and fail for what is hard to read or leads nowhere."""
    faults = [fault for page in [*pages(), *(ROOT / "docs").rglob("*.md")] for fault in broken_links(page)]
    for page in pages():
        ease = reading_ease(page.read_text(encoding="utf-8"))
        print(f"{ease:5.1f}  {page.relative_to(ROOT)}")
        if ease < LEAST_EASE:
            faults.append(f"{page.relative_to(ROOT)} has a reading ease below {LEAST_EASE:.0f}: shorten its sentences")
    sys.exit("\n".join(dict.fromkeys(faults)) or 0)


if __name__ == "__main__":
    main()
