"""Files that are old or new, never half."""

from pathlib import Path

import pytest

from burnish.durable import replace_durably, write_durably


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


def test_two_writers_of_one_file_do_not_share_a_temporary_one(tmp_path: Path) -> None:
    def overtaken(temporary: Path) -> str:
        temporary.write_bytes(b"slow")
        write_durably(tmp_path / "x", b"quick")
        return temporary.name

    assert replace_durably(tmp_path / "x", overtaken).startswith(".x.")
    assert (tmp_path / "x").read_bytes() == b"slow"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_file_gets_the_rights_that_the_umask_gives(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_durably(tmp_path / "x", b"")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "plain").stat().st_mode
