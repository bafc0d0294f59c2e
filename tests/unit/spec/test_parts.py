"""Recorded profiles are refused before anything is read by them."""

from typing import Any

import pytest

from burnish.spec.parts import profile_from_json


@pytest.mark.parametrize(
    "facts",
    [
        {"notes": 7},
        {"notes": "a sentence"},
        {"notes": [None]},
        {"order": "a"},
        {"label_counts": {"no": "3"}},
        {"highest": "${HOME}"},
        {"quarter": [0.25]},
        {"fitted": []},
        {"fitted": {"threshold": "high"}},
        {"fitted": {"calibration": {"slope": None}}},
        {"fitted": {"calibration": {}}},
        {"fitted": {"calibration": {"slope": 1.0, "shift": ["a"]}}},
        {"fitted": {"calibration": {"slope": 1.0, "shift": [0.0, 0.0, 0.0]}}},
    ],
    ids=str,
)
def test_facts_of_another_type_are_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(facts))):
        profile_from_json({"kind": "binary", "labels": ["no", "yes"], "facts": facts})


def test_facts_come_back_as_they_were_written() -> None:
    facts = {
        "notes": ["a sentence"],
        "order": ["a"],
        "fitted": {"threshold": 0.25, "calibration": {"slope": 2.0, "shift": 0.5}},
        "of the task": {"any": [1, None]},
    }
    assert profile_from_json({"kind": "binary", "labels": ["no", "yes"], "facts": facts}).facts == facts
