"""Content types lead to formats."""

import pytest

from burnish.data.codecs.columns import find_format
from burnish.errors import DataError


@pytest.mark.parametrize(
    ("content_type", "format"),
    [
        ("application/json", "json"),
        ("Application/JSON; charset=utf-8", "json"),
        ("application/x-ndjson", "jsonl"),
        ("text/csv", "csv"),
        ("text/csv; charset=utf-8; header=absent", "csv_rows"),
        ("text/csv;header=present", "csv"),
        ("application/octet-stream", "example"),
    ],
)
def test_the_format_of_a_content_type(content_type: str, format: str) -> None:
    assert find_format(content_type) == format


def test_an_unknown_type_is_refused_with_a_suggestion() -> None:
    with pytest.raises(DataError, match=r"no rows are read from `text/cvs`. Did you mean `text/csv`\? The types are "):
        find_format("text/cvs")
