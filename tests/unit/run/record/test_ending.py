"""Errors that cross from a worker to whoever started it."""

from pathlib import Path

import pytest

from burnish.errors import BurnishError, ConfigError, DataError, Problem
from burnish.run.record.directory import RunDirectory, read_json
from burnish.run.record.ending import error_of, record, refusal


@pytest.mark.parametrize("error", [DataError("rows.csv:3: no"), ConfigError([Problem("a.b must be 1", ("set by x",))])])
def test_an_error_comes_out_as_it_went_in(error: BurnishError) -> None:
    again = error_of(refusal(error))
    assert again is not None
    assert (type(again), str(again), again.exit_code) == (type(error), str(error), error.exit_code)


class Special(DataError):
    """A kind that only the part knows that raises it."""


def test_a_special_kind_of_error_comes_out_as_the_kind_that_everybody_knows() -> None:
    again = error_of(refusal(Special("rows.csv:3: no")))
    assert type(again) is DataError


def test_a_plain_event_is_no_error() -> None:
    assert error_of({"event": "stepped", "step": 3}) is None


def test_an_error_of_another_version_is_still_told() -> None:
    again = error_of({"error": "FutureError", "message": "words"})
    assert type(again) is BurnishError
    assert str(again) == "words"


def test_an_ending_tells_time_and_memory(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    record(run, "finished", step=7, seconds=1.23456, memory_bytes=5_000)
    assert read_json(run.exit) == {"reason": "finished", "step": 7, "seconds": 1.235, "memory_bytes": 5_000}
