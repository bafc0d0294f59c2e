"""A release is described by its section of the changelog, and tried where nothing of the repository is near."""

import re
from pathlib import Path

import pytest

from bench import release
from bench.release import write_notes, write_table
from burnish import __version__

ROOT = Path(__file__).parents[3]


def test_the_notes_are_the_section_of_the_version() -> None:
    changelog = "## Unreleased\n\n- later\n\n## 0.2.0 - 2026-11-18\n\n- now\n\n### Tuning\n\n- more\n\n## 0.1.0 - x\n"
    assert write_notes(changelog, "0.2.0") == "# Burnish 0.2.0\n\n- now\n\n### Tuning\n\n- more\n"


@pytest.mark.parametrize("version", ["0.3.0", "0.1.0"])
def test_a_version_without_a_dated_section_is_refused(version: str) -> None:
    with pytest.raises(SystemExit, match="has no section"):
        write_notes("## Unreleased\n\n- later\n\n## 0.1.0\n\n- before\n", version)


def test_this_version_has_its_notes() -> None:
    assert write_notes((ROOT / "CHANGELOG.md").read_text(), __version__)


def test_the_same_demo_is_tried_that_make_installs() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^CARRIERS := (.*)$", makefile, re.MULTILINE)[1].split() == [*release.CARRIERS]  # type: ignore[index]
    assert release.TORCH in (ROOT / "constraints.txt").read_text().splitlines()


def test_the_table_has_both_classes(tmp_path: Path) -> None:
    write_table(tmp_path / "shapes.csv")
    text = (tmp_path / "shapes.csv").read_text()
    assert min(text.count(",yes"), text.count(",no")) > 50
