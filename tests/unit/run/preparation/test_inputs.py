"""What a run was trained on, and what is said when that changed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from burnish.errors import CheckpointError
from burnish.run.preparation.inputs import TrainedOn, changed_files, digests_of, recorded_in
from burnish.spec.values import Profile, RowOrigins, Rows, Splits
from burnish.storage.checkpoints import Checkpoint

ROWS = Rows(pa.table({"x": [1]}), RowOrigins(("x.csv",), np.zeros(1, int), np.zeros(1, int), (2,)))
SPLITS = Splits(ROWS, ROWS, fingerprint="abc", digests={"x.csv": "1"})


def test_each_file_that_is_not_as_it_was_is_named_with_what_became_of_it() -> None:
    known = {"gone.csv": "1", "same.csv": "2", "edited.csv": "3"}
    found = {"same.csv": "2", "edited.csv": "4", "new.csv": "5"}
    assert changed_files(known, found) == [
        "edited.csv was changed",
        "gone.csv is no longer read",
        "new.csv is read now and was not",
    ]


def test_digests_that_nobody_recorded_are_not_compared() -> None:
    assert changed_files({}, {"new.csv": "5"}) == []


def test_a_source_that_tells_of_no_files_is_known_by_its_fingerprint() -> None:
    assert digests_of("", replace(SPLITS, digests={})) == {"data": "abc"}
    assert digests_of("", replace(SPLITS, digests={}, fingerprint="")) == {}


@pytest.mark.parametrize(("digest", "changes"), [("1", []), ("2", [["rte/x.csv was changed"]])])
def test_each_of_several_tasks_is_compared_with_its_own_files(digest: str, changes: list[list[str]]) -> None:
    seen: list[list[str]] = []
    profile = Profile("binary", ("no", "yes"))
    known = TrainedOn(
        {"rte/x.csv": digest, "cola/x.csv": "7"}, {"rte": profile}, lambda found: seen.append(list(found))
    )
    assert known.settle("rte", SPLITS) is profile
    assert seen == changes


def test_a_recorded_file_without_a_name_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints" / "step-00000004"
    folder.mkdir(parents=True)
    (folder / "data.json").write_text('{"": "1", " ": "2", "x.csv": "3"}')
    assert recorded_in(Checkpoint(folder, 4), on_change=pytest.fail).digests == {"x.csv": "3"}


@pytest.mark.parametrize("facts", ['{"a": NaN}', '{"a": [-Infinity]}', "[]"])
def test_a_recorded_profile_of_another_shape_is_refused(tmp_path: Path, facts: str) -> None:
    folder = tmp_path / "checkpoints" / "step-00000004"
    folder.mkdir(parents=True)
    (folder / "profile.json").write_text(f'{{"kind": "binary", "facts": {facts}}}')
    with pytest.raises(CheckpointError, match="does not hold the state of this run"):
        recorded_in(Checkpoint(folder, 4), on_change=pytest.fail)


@pytest.mark.parametrize("error", [KeyError("table"), TypeError("no list"), ValueError("no number")])
def test_a_recorded_profile_that_its_task_cannot_read_is_refused(tmp_path: Path, error: Exception) -> None:
    folder = tmp_path / "checkpoints" / "step-00000004"
    folder.mkdir(parents=True)
    known = recorded_in(Checkpoint(folder, 4), on_change=pytest.fail)
    with pytest.raises(CheckpointError, match=r"step-00000004 does not hold the state"), known.reading():
        raise error
