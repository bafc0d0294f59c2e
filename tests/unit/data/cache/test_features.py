"""Features are found again by content, survive crashes and stay within bounds."""

import json
import multiprocessing
import shutil
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pyarrow as pa
import pytest

from burnish.data.cache import features as cache_module
from burnish.data.cache.features import FeatureCache, cache_root, open_cache
from burnish.errors import DataError

KEY = {"data": "abc", "split": "train", "encoder": {"tokenizer": "t1", "truncation": {"head": 128}}, "version": 1}
TABLE = pa.table({"a": pa.array([[1, 2], [], [3]], pa.list_(pa.int32())), "row": [0, 1, 2]})


class Clock:
    def __init__(self):
        self.seconds = 1_000_000.0

    def __call__(self):
        self.seconds += 1
        return self.seconds


@pytest.fixture
def cache(tmp_path):
    return FeatureCache(tmp_path, now=Clock())


def never():
    raise AssertionError("this should have been found")


def folder_of(cache):
    (folder,) = (cache.root / "features").iterdir()
    return folder


def test_what_was_made_once_is_found_again(cache):
    assert cache.store(KEY, lambda: TABLE).table.equals(TABLE)
    assert cache.store(dict(reversed(KEY.items())), never).table.equals(TABLE)
    assert sorted(path.name for path in folder_of(cache).iterdir()) == ["features.arrow", "key.json"]


def test_a_found_table_is_mapped_not_read(cache):
    cache.store(KEY, lambda: pa.table({"a": list(range(100_000))}))
    before = pa.total_allocated_bytes()
    table = cache.store(KEY, never).table
    assert pa.total_allocated_bytes() - before < 10_000
    assert table["a"].num_chunks == 1


def test_parts_are_written_one_by_one(cache):
    table = cache.store(KEY, lambda: (TABLE for _ in range(3))).table
    assert table.equals(pa.concat_tables([TABLE] * 3))
    assert table["a"].num_chunks == 3


@pytest.mark.parametrize("field", ["data", "split", "version", "encoder"])
def test_any_other_key_misses(cache, field):
    cache.store(KEY, lambda: TABLE)
    other = TABLE.slice(0, 1)
    assert cache.store(KEY | {field: "other"}, lambda: other).table.equals(other)
    assert len(cache.entries()) == 2


def test_a_truncated_file_is_a_miss_and_replaced(cache):
    cache.store(KEY, lambda: TABLE)
    features = folder_of(cache) / "features.arrow"
    features.write_bytes(features.read_bytes()[:-40])
    assert not cache.has(KEY)
    assert cache.store(KEY, lambda: TABLE).table.equals(TABLE)
    assert cache.store(KEY, never).table.equals(TABLE)


def test_a_file_of_the_right_size_that_is_no_arrow_is_replaced(cache):
    cache.store(KEY, lambda: TABLE)
    features = folder_of(cache) / "features.arrow"
    features.write_bytes(b"\0" * features.stat().st_size)
    assert cache.store(KEY, lambda: TABLE).table.equals(TABLE)


def flip(path, at):
    with path.open("r+b") as file:
        file.seek(at)
        [byte] = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def test_a_flipped_byte_of_a_small_table_is_a_miss_and_replaced(cache):
    table = pa.table({"a": list(range(10_000))})
    cache.store(KEY, lambda: table)
    size = (folder_of(cache) / "features.arrow").stat().st_size
    for at in range(0, size, size // 7):
        flip(folder_of(cache) / "features.arrow", at)
        assert cache.store(KEY, lambda: table).table.equals(table)
        assert cache.store(KEY, never).table.equals(table)


def test_every_block_of_a_large_table_is_looked_at_in_turn(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_module, "_BLOCK", 64)
    table = pa.table({"a": list(range(10_000))})
    FeatureCache(tmp_path).store(KEY, lambda: table)
    flip(next(tmp_path.rglob("features.arrow")), 40_000)
    made = []
    for second in range(10_000 * 8 // 64 // 16 + 1):
        FeatureCache(tmp_path, now=lambda second=second: second).store(KEY, lambda: made.append(1) or table)
    assert len(made) == 1


def test_verify_removes_what_changed_and_nothing_else(cache):
    for split in ("train", "test"):
        cache.store({**KEY, "split": split}, lambda: TABLE)
    assert cache.verify() == ()
    damaged = next(entry for entry in cache.entries() if entry.key["split"] == "test")
    flip(cache.root / "features" / damaged.digest / "features.arrow", 300)
    assert [entry.digest for entry in cache.verify()] == [damaged.digest]
    assert [entry.key["split"] for entry in cache.entries()] == ["train"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"num_bytes": "x", "key": {}}', b'{"key": {}}'])
def test_a_damaged_commit_is_a_miss(cache, damage):
    cache.store(KEY, lambda: TABLE)
    (folder_of(cache) / "key.json").write_bytes(damage)
    assert cache.entries() == ()
    assert cache.store(KEY, lambda: TABLE).table.equals(TABLE)


def test_a_table_without_its_commit_does_not_exist(cache):
    cache.store(KEY, lambda: TABLE)
    (folder_of(cache) / "key.json").unlink()
    assert cache.entries() == ()
    assert not cache.has(KEY)


def test_a_maker_that_fails_leaves_nothing_behind(cache):
    def parts():
        yield TABLE
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.store(KEY, parts)
    assert list(folder_of(cache).iterdir()) == []
    assert cache.store(KEY, lambda: TABLE).table.equals(TABLE)


def test_what_is_mapped_is_not_pruned_until_nobody_looks_at_it(cache):
    column = cache.store(KEY, lambda: TABLE).table["a"].slice(1, 1)  # any piece of the table will do
    assert cache.prune(0) == ()
    assert cache.has(KEY)
    del column
    assert [entry.key for entry in cache.prune(0)] == [KEY]
    assert cache.entries() == ()


def test_what_another_process_has_mapped_is_not_pruned(cache):
    code = (
        "import sys; from pathlib import Path; from burnish.data.cache.features import FeatureCache\n"
        "table = FeatureCache(Path(sys.argv[1])).store({'n': 1}, lambda: sys.exit(9)).table\n"
        "print(table.num_rows, flush=True); input()"
    )
    cache.store({"n": 1}, lambda: TABLE)
    with Popen([sys.executable, "-c", code, str(cache.root)], stdin=PIPE, stdout=PIPE, text=True) as other:
        assert int(other.stdout.readline()) == TABLE.num_rows
        assert cache.prune(0) == ()
        other.communicate("\n")
    assert len(cache.prune(0)) == 1


def test_a_table_that_is_open_outlives_its_files(cache):
    table = cache.store(KEY, lambda: TABLE).table
    shutil.rmtree(folder_of(cache))
    assert table.equals(TABLE)


def test_memory_that_was_given_back_comes_back(cache):
    stored = cache.store(KEY, lambda: TABLE)
    for _ in range(2):
        assert stored.table.equals(TABLE)
        stored.release()


def test_the_least_recently_used_goes_first(cache):
    for number in range(3):
        cache.store(KEY | {"data": number}, lambda: TABLE)
    cache.store(KEY | {"data": 0}, never)
    num_bytes = cache.entries()[0].num_bytes
    assert [entry.key["data"] for entry in cache.prune(2 * num_bytes)] == [1]
    assert [entry.key["data"] for entry in cache.entries()] == [0, 2]


def test_a_spared_entry_takes_its_share_of_the_room_first(cache):
    for number in range(3):
        cache.store(KEY | {"data": number}, lambda: TABLE)
    oldest = cache.entries()[-1]
    cache.prune(2 * oldest.num_bytes, spare=oldest.digest)
    assert [entry.key["data"] for entry in cache.entries()] == [2, 0]


def test_the_cache_stays_within_its_bound_but_keeps_what_it_just_made(tmp_path):
    cache = FeatureCache(tmp_path, max_bytes=1, now=Clock())
    for number in range(3):
        assert cache.store(KEY | {"data": number}, lambda: TABLE).table.equals(TABLE)
    assert [entry.key["data"] for entry in cache.entries()] == [2]


def test_leavings_of_a_crash_are_swept_after_a_day(cache, tmp_path):
    left = tmp_path / "features" / ("0" * 64)
    left.mkdir(parents=True)
    (left / ".features.arrow.x").write_bytes(b"half")
    written = left.stat().st_mtime
    FeatureCache(tmp_path, now=lambda: written + 3600).prune(10**9)
    assert left.exists()
    FeatureCache(tmp_path, now=lambda: written + 2 * 24 * 3600).prune(10**9)
    assert not left.exists()


def test_why_miss_names_the_field_that_differs(cache):
    assert cache.why_miss(KEY).nearest is None
    cache.store(KEY | {"split": "test", "data": "zzz"}, lambda: TABLE)
    cache.store(KEY, lambda: TABLE)
    assert cache.why_miss(KEY) is None
    wanted = KEY | {"encoder": {"tokenizer": "t1", "truncation": {"head": 64}}}
    miss = cache.why_miss(wanted)
    assert list(map(str, miss.differences)) == ["encoder.truncation.head is 64 here and 128 there"]


def test_why_miss_names_a_field_that_one_side_lacks(cache):
    cache.store(KEY, lambda: TABLE)
    assert list(map(str, cache.why_miss(KEY | {"extra": True}).differences)) == ["extra is true here and null there"]


def test_a_folder_that_cannot_be_written_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "features").write_text("in the way")
    with pytest.raises(DataError, match=r"cannot be written .* set BURNISH_CACHE"):
        FeatureCache(tmp_path).store(KEY, lambda: TABLE)


def _fetch_many(root, results):
    cache = FeatureCache(Path(root))
    tables = [cache.store({"n": number % 3}, lambda: TABLE).table for number in range(30)]
    results.put(all(table.equals(TABLE) for table in tables))


def test_writers_at_the_same_time_do_not_harm_each_other(tmp_path):
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    workers = [context.Process(target=_fetch_many, args=(str(tmp_path), results)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [results.get() for _ in workers] == [True] * 4
    assert len(FeatureCache(tmp_path).entries()) == 3


def test_the_root_comes_from_the_environment():
    assert cache_root({"BURNISH_CACHE": "/somewhere"}) == Path("/somewhere")
    assert cache_root({}) == Path.home() / ".cache" / "burnish"


def test_the_key_is_kept_readable(cache):
    cache.store(KEY, lambda: TABLE)
    assert json.loads((folder_of(cache) / "key.json").read_text())["key"] == KEY


def test_the_environment_is_read_when_it_is_asked_for_even_if_another_mapping_took_its_place(monkeypatch):
    monkeypatch.setattr("os.environ", {"BURNISH_CACHE": "/elsewhere"})
    assert cache_root() == Path("/elsewhere")
    assert open_cache().root == Path("/elsewhere")


def test_a_user_without_a_home_is_told_where_to_name_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(DataError, match="no home directory; set BURNISH_CACHE to a folder"):
        cache_root({})
    assert cache_root({"BURNISH_CACHE": "~nosuchuser/x"}) == Path("~nosuchuser/x")
