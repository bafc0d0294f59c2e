"""The pictures of the architecture page show the source as it is."""

import os

import pytest

from bench.picture import FOLDER, PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_drawn_from_the_source(name: str) -> None:
    drawn = PICTURES[name]()
    if os.environ.get("BURNISH_UPDATE_GOLDEN") == "1":
        (FOLDER / name).write_text(drawn, encoding="utf-8")
    assert (FOLDER / name).read_text(encoding="utf-8") == drawn, "draw it again with `python -m bench.picture`"


def test_the_run_is_shown_in_the_order_of_the_worker() -> None:
    drawn = PICTURES["run.svg"]()
    places = [drawn.index(f">{step} ·") for step in ("read_plan", "train", "finish", "write_page")]
    assert places == sorted(places)
