"""The cache in words: what is kept, why an experiment misses it, and what is removed to make room."""

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from burnish.commands import cache as commands
from burnish.commands.config import check
from burnish.data.cache.features import FeatureCache, open_cache
from burnish.data.cache.sizes import parse_size, write_size
from burnish.errors import ConfigError

TABLE = pa.table({"a": list(range(1000))})
ENCODER = {"tokenizer": "t1", "max_length": 64, "truncation": {"policy": "head"}, "version": 1}
KEY = {"data": "d1", "seed": 0, "split": "train", "rows": 9, "encoder": ENCODER}


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FeatureCache:
    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path))
    found = open_cache()
    for key in (KEY, {**KEY, "split": "test"}, {"kind": "rows", "data": "d1"}):
        found.store(key, lambda: TABLE)
    return found


def looked_up(monkeypatch: pytest.MonkeyPatch, key: dict[str, object]) -> commands.Lookup:
    import burnish.run.preparation.prepare

    monkeypatch.setattr(burnish.run.preparation.prepare, "feature_keys", lambda _experiment: {key["split"]: key})
    monkeypatch.setattr(commands, "check", lambda *_, **__: SimpleNamespace(experiment=None))
    [lookup] = commands.why_miss("any")
    return lookup


def test_entries_are_named_by_what_they_hold() -> None:
    listing = commands.ls()
    assert {entry.what for entry in listing.entries} == {"features of test", "features of train", "rows of a file"}
    assert listing.num_bytes == sum(entry.num_bytes for entry in listing.entries) > 3 * 8000


def test_what_is_there_is_no_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked_up(monkeypatch, KEY).is_cached


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data": "d2"}, "other data"),
        ({"encoder": {**ENCODER, "tokenizer": "t2"}}, "another tokenizer"),
        ({"encoder": {**ENCODER, "version": 2}}, "another version of the encoding code"),
        ({"encoder": {**ENCODER, "truncation": {"policy": "tail"}}}, "another truncation policy"),
        ({"encoder": {**ENCODER, "max_length": 32}}, "max_length is 32 here and 64 there"),
        ({"seed": 3}, "seed is 3 here and 0 there"),
    ],
)
def test_a_miss_is_told_in_words(monkeypatch: pytest.MonkeyPatch, change: dict[str, object], words: str) -> None:
    lookup = looked_up(monkeypatch, {**KEY, **change})
    assert not lookup.is_cached
    assert len(lookup.reasons) == 1
    assert words in lookup.reasons[0]


def test_a_split_is_compared_with_its_like(monkeypatch: pytest.MonkeyPatch, cache: FeatureCache) -> None:
    cache.store({**KEY, "split": "validation", "data": "d2", "seed": 1}, lambda: TABLE)
    lookup = looked_up(monkeypatch, {**KEY, "split": "validation"})
    assert [reason.split()[0] for reason in lookup.reasons] == ["other", "seed"]


def test_pruning_takes_a_size_as_people_write_it(cache: FeatureCache) -> None:
    assert commands.prune() == ()
    assert len(commands.prune(max_size="17 kB")) == 1
    assert len(commands.prune(max_size="0")) == 2
    with pytest.raises(ConfigError, match=r"--max must be a size in bytes, like 500MB.*got 'much'"):
        commands.prune(max_size="much")


@pytest.mark.parametrize(
    ("text", "size"), [("20GB", 20 * 10**9), ("1.5 TiB", 3 * 2**39), ("512", 512), ("4k", 4000), ("1_000 MB", 10**9)]
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text, option="x") == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1.2.3GB", "5 apples", "nan"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_size(text, option="x")


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1200, "1.2 kB"), (20 * 10**9, "20 GB")])
def test_sizes_are_written_short(size: int, text: str) -> None:
    assert write_size(size) == text


def test_the_bound_comes_from_the_environment() -> None:
    assert open_cache({"BURNISH_CACHE_MAX": "3MB", "HOME": "/"}).max_bytes == 3_000_000
    with pytest.raises(ConfigError, match="BURNISH_CACHE_MAX"):
        open_cache({"BURNISH_CACHE_MAX": "lots", "HOME": "/"})


def test_an_experiment_with_problems_is_refused_before_anything_is_read() -> None:
    assert commands.check is check
    with pytest.raises(ConfigError, match=r"train\.lenght"):
        commands.why_miss("demo/reviews", overrides=["train.lenght=3"])
