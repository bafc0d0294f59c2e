"""What a machine has is the least of what anything grants."""

from pathlib import Path

import pyarrow as pa

from burnish.run.machine import disk_free, give_back_memory, memory_limit, peak_memory


def _files(tmp_path: Path, *, cgroup: str, meminfo: str) -> dict[str, Path]:
    for name, text in (("cgroup", cgroup), ("meminfo", meminfo)):
        (tmp_path / name).write_text(text)
    return {"cgroup": tmp_path / "cgroup", "meminfo": tmp_path / "meminfo"}


def test_a_containers_limit_cuts_the_machines_memory(tmp_path: Path) -> None:
    files = _files(tmp_path, cgroup="4294967296\n", meminfo="MemTotal:       16777216 kB\nMemFree: 1 kB\n")
    assert memory_limit(**files) == 4 * 2**30


def test_without_a_containers_limit_it_is_the_machines(tmp_path: Path) -> None:
    assert memory_limit(**_files(tmp_path, cgroup="max\n", meminfo="MemTotal: 1024 kB\n")) == 2**20


def test_where_nothing_tells_there_is_no_limit(tmp_path: Path) -> None:
    assert memory_limit(cgroup=tmp_path / "none", meminfo=tmp_path / "nothing") is None


def test_a_disk_is_found_through_folders_that_do_not_exist_yet(tmp_path: Path) -> None:
    assert disk_free(tmp_path / "not" / "yet") > 0


def test_the_peak_grows_with_what_is_held() -> None:
    before = peak_memory()
    held = b"x" * (64 * 2**20 + before)
    assert peak_memory() >= before + 32 * 2**20
    del held


def test_what_is_in_use_outlives_the_giving_back() -> None:
    kept, gone = pa.array(range(1000)), pa.array(range(1_000_000))
    del gone
    give_back_memory()
    assert kept.to_pylist() == list(range(1000))
