import pytest

from burnish.catalog import CATALOG, Entry
from burnish.commands.config import listing
from burnish.errors import ConfigError
from burnish.registry import Registry


def test_every_kind_of_the_catalog_and_the_experiments_are_listed() -> None:
    items = listing()
    filled = {kind for kind, names in CATALOG.items() if names}
    assert {item.kind for item in items} == {"experiments", "layers", "formats", *filled}
    assert {item.name for item in items if item.kind == "truncations"} == set(CATALOG["truncations"])


def test_each_has_a_line_and_a_provider() -> None:
    for item in listing("schedules"):
        assert item.summary.endswith(".")
        assert item.provider == "burnish"


def test_short_names_are_told() -> None:
    assert {item.name: item.aliases for item in listing("truncations")}["random_spans"] == ("rs",)


def test_the_demo_is_among_the_experiments() -> None:
    assert "demo/reviews" in [item.name for item in listing("experiments")]


def test_a_component_that_cannot_be_imported_says_so_and_hides_nobody() -> None:
    catalog = {"schedules": {"broken": Entry("no_such_module:X"), "constant": CATALOG["schedules"]["constant"]}}
    broken, constant = listing("schedules", registry=Registry(catalog=catalog, entry_points=lambda group: ()))
    assert broken.summary.startswith("(cannot be used: ")
    assert "no_such_module" in broken.summary
    assert constant.summary.endswith(".")


def test_a_misspelt_kind_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"no kind of component is called 'modles'. Did you mean `models`\?"):
        listing("modles")
