"""A folder is believed only as its manifest says."""

from pathlib import Path

import pytest

from burnish.storage import manifest


def folder(tmp_path: Path) -> Path:
    made = tmp_path / "thing"
    (made / "inner").mkdir(parents=True)
    (made / "a.bin").write_bytes(b"0123456789")
    (made / "inner" / "b.bin").write_bytes(b"abc")
    manifest.commit(made, {"format": 1})
    return made


def test_a_whole_folder_has_no_fault(tmp_path: Path) -> None:
    assert manifest.fault(folder(tmp_path)) is None


@pytest.mark.parametrize("name", ["a.bin", "inner/b.bin"])
def test_a_flipped_byte_is_found(tmp_path: Path, name: str) -> None:
    made = folder(tmp_path)
    content = bytearray((made / name).read_bytes())
    content[1] ^= 1
    (made / name).write_bytes(content)
    assert manifest.fault(made) == f"{name} was changed after it was written: its SHA-256 differs"


def test_a_cut_file_is_found(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "a.bin").write_bytes(b"01234")
    assert manifest.fault(made) == "a.bin has 5 bytes and should have 10"


def test_a_missing_file_is_found(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "a.bin").unlink()
    assert manifest.fault(made) == "a.bin is missing"


def test_a_flip_of_any_byte_of_the_manifest_is_found_or_changes_nothing(tmp_path: Path) -> None:
    made = folder(tmp_path)
    content = (made / manifest.NAME).read_bytes()
    for at in range(len(content)):
        for bit in (1, 4, 128):
            (made / manifest.NAME).write_bytes(content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :])
            if manifest.fault(made) is None:
                read = manifest.read(made) or {}
                assert (read["format"], sorted(read["files"])) == (1, ["a.bin", "inner/b.bin"])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"files": 3}', b'{"files": {"a.bin": {"bytes": 10}}}'])
def test_a_broken_manifest_is_no_manifest(tmp_path: Path, content: bytes) -> None:
    made = folder(tmp_path)
    (made / manifest.NAME).write_bytes(content)
    assert manifest.fault(made) == "MANIFEST.json is missing, unreadable or changed"


def test_a_manifest_cannot_point_outside(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (tmp_path / "secret").write_bytes(b"x")
    (made / manifest.NAME).write_text('{"files": {"../secret": {"bytes": 1, "sha256": "x"}}}')
    assert manifest.fault(made) == "../secret points outside the folder"
