"""Uploads whose pieces are taken in part: the store answers 308, and says how far it has come."""

import os
from pathlib import Path

import pytest

from tests.harness.fake_gcs import FakeBucket, fake_gcs
from tests.harness.machine import Machine

pytest.importorskip("gcsfs")


@pytest.mark.parametrize("fail_share", [0.0, 0.1] if os.environ.get("BURNISH_CLOUD") == "full" else [0.0])
def test_a_large_file_comes_whole_though_each_piece_is_taken_in_part(tmp_path: Path, fail_share: float) -> None:
    (tmp_path / "weights.bin").write_bytes(os.urandom(6 << 20))
    with fake_gcs(FakeBucket(short_chunks=True, fail_share=fail_share)) as bucket:
        machine = Machine(tmp_path, "here", {"STORAGE_EMULATOR_HOST": bucket.url})
        said = machine.run("cp", "weights.bin", "gs://tank/w.bin")
    assert "1 of 1 files copied" in said
    assert bucket.objects["w.bin"] == (tmp_path / "weights.bin").read_bytes()
    assert sum("/upload/" in each for each in bucket.requests) > 20
