"""A forecast tells what does not fit, and only that."""

from dataclasses import replace

import pytest

from burnish.spec.forecast import Footprint, Forecast, Timing, size

FITS = Footprint(2 * 10**9, 8 * 10**9, 3 * 10**8, 10**9, 5 * 10**9)


def _forecast(footprint: Footprint) -> Forecast:
    return Forecast({}, 1000, 10, 1, Timing(0.1, {"validation": 1.0}), footprint, 3.0)


def test_what_fits_has_no_problem() -> None:
    assert _forecast(FITS).problems == ()
    assert _forecast(replace(FITS, memory_limit=None)).problems == ()


def test_everything_that_does_not_fit_is_told_at_once_with_what_would_help() -> None:
    memory, disk = _forecast(replace(FITS, memory_bytes=9 * 10**9, disk_bytes=6 * 10**9)).problems
    assert memory == (
        "training takes 9.0 GB of memory and this machine has 8.0 GB; "
        "raise train.accumulate, lower task.max_length or use a smaller model"
    )
    assert "6.0 GB and the disk has 5.0 GB free" in disk


@pytest.mark.parametrize(
    ("num_bytes", "words"), [(999, "1 kB"), (640e6, "640 MB"), (1.94e9, "1.9 GB"), (25e9, "25 GB"), (4.2e6, "4.2 MB")]
)
def test_sizes_are_short(num_bytes: float, words: str) -> None:
    assert size(num_bytes) == words
