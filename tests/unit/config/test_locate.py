from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from burnish.config.locate import experiments, locate
from burnish.errors import ConfigError
from tests.unit.config.fakes import fake_registry


def provide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str = "acme") -> EntryPoint:
    folder = tmp_path / f"{name}_plug" / "recipes"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "spam.yaml").write_text("description: Find spam.\n")
    (folder.parent / "__init__.py").write_text(f"WHERE = {str(folder)!r}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return EntryPoint(name, f"{name}_plug:WHERE", "burnish.experiments")


def refusal(name: str, *points: EntryPoint) -> str:
    with pytest.raises(ConfigError) as caught:
        locate(name, registry=fake_registry(*points))
    return caught.value.problems[0].message


def test_every_shipped_experiment_is_listed_with_a_description() -> None:
    listed = experiments(registry=fake_registry())
    assert {"demo/reviews", "glue/sst2", "imdb"} <= {each.name for each in listed}
    assert all(each.description and each.provider == "burnish" for each in listed)


def test_a_shipped_experiment_shows_as_a_short_file_name() -> None:
    assert locate("glue/sst2", registry=fake_registry()).source == "glue/sst2.yaml"


def test_a_plug_ins_directory_is_found_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = fake_registry(provide(tmp_path, monkeypatch))
    located = locate("acme/deep/spam", registry=registry)
    assert (located.provider, located.source) == ("acme_plug", "acme/deep/spam.yaml")
    assert ("acme/deep/spam", "Find spam.") in [
        (each.name, each.description) for each in experiments(registry=registry)
    ]


def test_a_plug_in_may_name_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provide(tmp_path, monkeypatch, name="pack")
    point = EntryPoint("pack", "pack_plug", "burnish.experiments")
    assert locate("pack/recipes/deep/spam", registry=fake_registry(point)).provider == "pack_plug"


def test_a_broken_plug_in_breaks_only_who_asks_for_it() -> None:
    broken = EntryPoint("bad", "nowhere_at_all:WHERE", "burnish.experiments")
    assert locate("imdb", registry=fake_registry(broken)).name == "imdb"
    assert "the experiments of nowhere_at_all cannot be loaded: ModuleNotFoundError" in refusal("bad/x", broken)
    assert any("cannot be loaded" in each.description for each in experiments(registry=fake_registry(broken)))


def test_a_name_provided_twice_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provide(tmp_path, monkeypatch, name="two")
    other = provide(tmp_path, monkeypatch, name="three")
    points = [EntryPoint("same", f"{each}_plug:WHERE", "burnish.experiments") for each in ("two", "three")]
    assert "is provided twice, by two_plug and three_plug" in refusal("same/deep/spam", *points)
    assert other.name == "three"


@pytest.mark.parametrize(
    ("name", "meant"), [("glue/sst", "glue/sst2"), ("sst2", "glue/sst2"), ("imbd", "imdb"), ("reviews", "demo/reviews")]
)
def test_an_unknown_name_gets_a_suggestion_and_the_list(name: str, meant: str) -> None:
    sentence = refusal(name)
    assert f"no experiment is called '{name}'. Did you mean `{meant}`?" in sentence
    assert "There are adult, bert/pretraining, " in sentence


@pytest.mark.parametrize("name", ["../../../etc/passwd", "", "glue", "/etc", "glue/../imdb"])
def test_a_name_never_leaves_the_listed_experiments(name: str) -> None:
    assert "no experiment is called" in refusal(name) or "is data, not an experiment" in refusal(name)


def test_a_run_directory_stands_for_its_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("name: x")
    assert locate(str(tmp_path), registry=fake_registry()).path == tmp_path / "plan.yaml"
