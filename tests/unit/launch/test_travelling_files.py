"""Which files travel with a job and under which names: as they are named here, links as what they lead to."""

from pathlib import Path

import pytest

from burnish.errors import LaunchError
from burnish.launch import package
from burnish.launch.package import expand


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder beside which there is another."""
    for name in ("here/data/v2.csv", "here/data/more/a.csv", "other/b.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def read(*names: str) -> dict[str, str]:
    return {name: path.read_text() for name, path in expand(names)}


def refuse(*names: str) -> str:
    with pytest.raises(LaunchError) as refused:
        iter(expand(names))  # before the first of them could be sent
    return str(refused.value)


def test_everything_is_refused_before_anything_is_given(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = refuse("data", "missing", "../other")
    assert "there is no missing" in said
    assert f"../other is {here.parent}/other, outside of {here}" in said
    monkeypatch.setattr(package, "_MOST_BYTES", 20)
    assert "put what is larger than" in refuse("data")


def test_a_file_that_is_named_twice_is_counted_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "_MOST_BYTES", len("here/data/v2.csv"))
    assert list(read("data/v2.csv", "data/../data/v2.csv", str(here / "data/v2.csv"))) == ["data/v2.csv"]


def test_a_link_travels_under_its_own_name(here: Path) -> None:
    Path("data/train.csv").symlink_to("v2.csv")
    Path("newest").symlink_to("data")
    assert read("data/train.csv") == {"data/train.csv": "here/data/v2.csv"}
    assert read("newest") == {
        "newest/more/a.csv": "here/data/more/a.csv",
        "newest/train.csv": "here/data/v2.csv",
        "newest/v2.csv": "here/data/v2.csv",
    }


def test_links_in_a_folder_are_followed_once_and_as_far_as_this_folder_goes(here: Path) -> None:
    Path("data/more/v2.csv").symlink_to("../v2.csv")
    Path("data/again").symlink_to("more")
    Path("data/more/all").symlink_to("..")
    Path("data/broken").symlink_to("nowhere")
    Path("data/turning").symlink_to("turning")
    assert list(read("data")) == [
        *("data/again/a.csv", "data/again/v2.csv", "data/more/a.csv", "data/more/v2.csv", "data/v2.csv")
    ]


def test_a_link_that_leads_elsewhere_is_refused_by_its_name(here: Path) -> None:
    Path("data/b.csv").symlink_to("../../other/b.csv")
    Path("data/folder").symlink_to("../../other")
    Path("data/runs").symlink_to("../../other")  # which never travels
    said = refuse("data")
    assert f"data/b.csv is {here.parent}/other/b.csv, outside of" in said
    assert f"data/folder is {here.parent}/other, outside of" in said
    assert "data/runs" not in said


def test_a_folder_that_one_stands_in_by_another_name_is_the_same(here: Path) -> None:
    (here.parent / "link").symlink_to("here")
    assert list(read(str(here.parent / "link" / "data" / "v2.csv"))) == ["data/v2.csv"]
