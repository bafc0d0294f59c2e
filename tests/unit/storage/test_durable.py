"""Files that are old or new, never half."""

from pathlib import Path

import pytest

from burnish.storage.durable import replace_durably, write_durably


def test_content_is_replaced(tmp_path: Path) -> None:
    write_durably(tmp_path / "x", b"old")
    write_durably(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_failing_writer_leaves_the_old_content_and_no_rest(tmp_path: Path) -> None:
    write_durably(tmp_path / "x", b"old")

    def half(path: Path) -> None:
        path.write_bytes(b"ne")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        replace_durably(tmp_path / "x", half)
    assert (tmp_path / "x").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
