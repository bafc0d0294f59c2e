"""Errors that cross from a worker to whoever started it."""

import pytest

from burnish.errors import BurnishError, ConfigError, DataError, Problem
from burnish.run.ending import error_of, refusal


@pytest.mark.parametrize("error", [DataError("rows.csv:3: no"), ConfigError([Problem("a.b must be 1", ("set by x",))])])
def test_an_error_comes_out_as_it_went_in(error: BurnishError) -> None:
    again = error_of(refusal(error))
    assert again is not None
    assert (type(again), str(again), again.exit_code) == (type(error), str(error), error.exit_code)


def test_a_plain_event_is_no_error() -> None:
    assert error_of({"event": "stepped", "step": 3}) is None


def test_an_error_of_another_version_is_still_told() -> None:
    again = error_of({"error": "FutureError", "message": "words"})
    assert type(again) is BurnishError
    assert str(again) == "words"
