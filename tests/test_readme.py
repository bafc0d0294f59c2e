"""The first page claims nothing without proof, and lists the folders that are there."""

import re

from tests.test_docs import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def rows_of_comparison() -> list[list[str]]:
    table = README.partition("## How it compares")[2].partition("\n\nFor images")[0]
    return [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")][2:]


def test_every_claim_links_to_its_proof() -> None:
    proofs = {claim.strip(): re.findall(r"\]\(([^)#]+)", ours) for claim, ours, *_ in rows_of_comparison()}
    unproven = [claim for claim, found in proofs.items() if not found]
    assert unproven == ["models too large for one device"], "what we have needs a proof"
    assert [path for found in proofs.values() for path in found if not (ROOT / path).is_file()] == []


def test_the_speed_is_what_was_measured() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    ratios = [float(found) for found in re.findall(r"Trainer, best flags[^|]*\|[^|]*\| ([\d.]+)x", page)]
    assert f"[{min(ratios):.1f} to {max(ratios):.1f} times]" in README


def test_the_tree_has_every_folder() -> None:
    tree = README.partition("src/burnish/\n")[2].partition("```")[0]
    folders = {
        each.name for each in (ROOT / "src/burnish").iterdir() if each.is_dir() and not each.name.startswith("_")
    }
    assert set(re.findall(r"(\w+)/", tree)) == folders


def test_pictures_are_small_and_shown() -> None:
    pages = README + "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    pictures = [*(ROOT / "docs/pictures").iterdir()]
    assert {each.name for each in pictures} == {"terminal.svg", "report.webp", "page.webp", "board.webp", "study.webp"}
    assert [
        each.name for each in pictures if each.stat().st_size > 150_000 or f"pictures/{each.name}" not in pages
    ] == []
