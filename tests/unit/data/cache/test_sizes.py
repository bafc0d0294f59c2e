"""Bytes as people write them."""

import pytest

from burnish.data.cache.sizes import parse_size
from burnish.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "size"), [("500MB", 500_000_000), ("1.5 KiB", 1536), ("1_000", 1000), (" 2tb ", 2 * 10**12)]
)
def test_sizes_with_and_without_a_unit(text: str, size: int) -> None:
    assert parse_size(text, option="--max") == size


@pytest.mark.parametrize(
    "text", ["", "-1", "--1", "nan", "inf", "①", "\uff12GB", "1.2.3GB", "9" * 400, "9" * 5001 + "GB", "1e9"]
)
def test_anything_else_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ConfigError, match="--max must be a size in bytes"):
        parse_size(text, option="--max")
