"""Paths, globs, packages and URLs lead to the files that were meant."""

import sys
import tomllib
from pathlib import Path

import fsspec
import pytest

from burnish.data.sources.address import DataFile, find, package_path
from burnish.errors import DataError, MissingExtra
from burnish.storage.remote import EXTRAS


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "site" / "carrier"
    (root / "data").mkdir(parents=True)
    (root / "__init__.py").write_text("raise RuntimeError('imported')")
    for name in ("a.csv", "b.csv"):
        (root / "data" / name).write_text("text\nx\n")
    monkeypatch.syspath_prepend(str(root.parent))
    return root


def test_a_glob_gives_files_in_order_of_name(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "c.tsv"):
        (tmp_path / name).touch()
    assert [Path(file.location).name for file in find(f"{tmp_path}/*.csv")] == ["a.csv", "b.csv"]


def test_a_name_with_brackets_is_a_file_before_it_is_a_glob(tmp_path: Path) -> None:
    (tmp_path / "data[1].csv").touch()
    assert len(find(f"{tmp_path}/data[1].csv")) == 1


def test_dir_goes_before_relative_paths_only(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    assert find("a.csv", base=str(tmp_path)) == find(f"{tmp_path}/a.csv", base="elsewhere")


def test_a_missing_file_names_its_nearest_neighbour(tmp_path: Path) -> None:
    (tmp_path / "train.csv").touch()
    with pytest.raises(DataError, match=r"data\.test: there is no file .*trian\.csv\. Did you mean `.*/train\.csv`\?"):
        find(f"{tmp_path}/trian.csv", option="data.test")


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nor a folder"):
        find(f"{tmp_path}/nowhere/train.csv")


def test_a_glob_without_match_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file matches"):
        find(f"{tmp_path}/*.csv")


def test_a_package_is_read_without_being_imported(package: Path) -> None:
    assert find("package:carrier/data/a.csv") == [
        DataFile("package:carrier/data/a.csv", str(package / "data" / "a.csv"))
    ]
    assert "carrier" not in sys.modules
    assert package_path("package:carrier/data") == package / "data"


def test_a_glob_inside_a_package_keeps_the_address(package: Path) -> None:
    names = [file.name for file in find("package:carrier/data/*.csv")]
    assert names == ["package:carrier/data/a.csv", "package:carrier/data/b.csv"]


def test_dir_may_be_a_package(package: Path) -> None:
    assert find("a.csv", base="package:carrier/data")[0].name == "package:carrier/data/a.csv"


@pytest.mark.parametrize(
    "address", ["package:carrier/../secret.csv", "package:carrier/data/../../x", "package:carrier//etc"]
)
def test_a_package_address_cannot_leave_its_package(package: Path, address: str) -> None:
    with pytest.raises(DataError, match="must stay inside the package carrier"):
        find(address)


def test_a_link_out_of_a_package_is_refused(package: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").touch()
    (package / "data" / "link.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(DataError, match="leads out of its package"):
        find("package:carrier/data/link.csv")


@pytest.mark.parametrize("address", ["package:a.b/c.csv", "package:/c.csv", "package:../c.csv"])
def test_a_package_is_named_by_one_plain_name(address: str) -> None:
    with pytest.raises(DataError, match="import name of a top-level package"):
        find(address)


def test_a_package_that_is_not_installed_is_said() -> None:
    with pytest.raises(DataError, match="no package `not_there_at_all` is installed"):
        find("package:not_there_at_all/x.csv")


def test_urls_go_through_their_file_system() -> None:
    fsspec.filesystem("memory").pipe({"/shelf/a.csv": b"x", "/shelf/b.csv": b"y"})
    assert [file.location for file in find("memory://shelf/*.csv")] == [
        "memory:///shelf/a.csv",
        "memory:///shelf/b.csv",
    ]
    with pytest.raises(DataError, match=r"there is nothing at memory://shelf/c\.csv"):
        find("memory://shelf/c.csv")


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(DataError, match="which no installed package reads"):
        find("nosuch://x/y.csv")


def test_a_store_without_its_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(MissingExtra, match=r"burnish\[s3\]"):
        find("s3://bucket/a.csv")


def test_every_extra_that_is_named_exists() -> None:
    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())["project"]
    assert set(EXTRAS.values()) <= set(project["optional-dependencies"])


def test_a_store_that_no_extra_brings_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adlfs", None)
    with pytest.raises(MissingExtra, match=r"abfs://box/a\.csv needs a package that is not installed; Install adlfs"):
        find("abfs://box/a.csv")


@pytest.mark.parametrize(
    ("location", "suffix", "compression"),
    [
        ("a/b.csv", ".csv", None),
        ("a/b.CSV.gz", ".csv", "gzip"),
        ("b.jsonl.zst", ".jsonl", "zstd"),
        ("https://host/b.tsv.gz?token=1.2", ".tsv", "gzip"),
        ("b", "", None),
    ],
)
def test_the_suffix_is_read_after_the_compression(location: str, suffix: str, compression: str | None) -> None:
    file = DataFile(location, location)
    assert (file.suffix, file.compression) == (suffix, compression)
