import subprocess
import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import ClassVar

import pytest

from burnish.catalog import CATALOG, MOVED
from burnish.errors import ConfigError
from burnish.registry import Registry, is_address
from burnish.spec.protocols import build_encoder
from burnish.spec.values import Profile
from tests.unit.config import fakes
from tests.unit.config.fakes import HERE, fake_registry


def entry(name: str, value: str, kind: str = "tasks") -> EntryPoint:
    return EntryPoint(name, value, f"burnish.{kind}")


def refusal(registry: Registry, kind: str, name: str) -> str:
    with pytest.raises(ConfigError) as caught:
        registry.load(kind, name)
    return caught.value.problems[0].message


def test_a_name_an_alias_and_an_address_lead_to_the_same_class() -> None:
    registry = fake_registry()
    assert registry.load("tasks", "guess") is registry.load("tasks", "g") is registry.load("tasks", f"{HERE}:Guess")


def test_a_plug_in_is_listed_with_its_provider_and_not_imported() -> None:
    listed = fake_registry(entry("sarcasm", "nowhere_at_all.tasks:Sarcasm")).names("tasks")
    assert [(each.name, each.provider) for each in listed] == [("guess", "burnish"), ("sarcasm", "nowhere_at_all")]


def test_a_broken_plug_in_breaks_only_who_asks_for_it() -> None:
    registry = fake_registry(entry("sarcasm", "nowhere_at_all.tasks:Sarcasm"))
    assert registry.load("tasks", "guess") is fakes.Guess
    assert "could not be imported from nowhere_at_all.tasks:Sarcasm: ModuleNotFound" in refusal(
        registry, "tasks", "sarcasm"
    )


def test_a_name_provided_twice_names_both() -> None:
    sentence = refusal(fake_registry(entry("g", "other.tasks:Guess")), "tasks", "g")
    assert f"burnish ({HERE}:Guess) and other (other.tasks:Guess)" in sentence


def test_the_same_entry_point_found_twice_is_no_clash() -> None:
    point = entry("ask", f"{HERE}:Guess")
    assert fake_registry(point, point).load("tasks", "ask") is fakes.Guess


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gues", "no task is called 'gues'. Did you mean `guess`?"),
        ("zzzzzz", "no task is called 'zzzzzz'. Known are guess."),
        (f"{HERE}:Nothing", "could not be imported"),
        (f"{HERE}:HERE", "is not a component"),
        (f"{HERE}:Stranger", "is no task: it lacks"),
    ],
)
def test_a_refusal_is_a_sentence(name: str, said: str) -> None:
    assert said in refusal(fake_registry(), "tasks", name)


def test_a_task_that_derives_from_no_base_gets_the_usual_answers_and_keeps_its_own() -> None:
    task = fake_registry().load("tasks", "guess")(truncation=fakes.Front())
    assert task.views == 1  # its own option
    assert (task.auto_precision, task.reads_rows) == (None, False)
    profile = Profile("binary")
    assert task.refine(None, profile) is profile
    assert not fake_registry().load("models", f"{HERE}:Net")().is_grown


def test_an_encoder_that_derives_from_no_base_gets_the_usual_answers() -> None:
    task = SimpleNamespace(encoder=lambda profile, assets: BareEncoder())
    encoder = build_encoder(task, Profile("binary"), None)
    assert (encoder.put_into_words("said"), encoder.notes(None), encoder.counts(None)) == ("said", (), None)
    assert encoder.key == {"mine": 1}


class BareEncoder:
    key: ClassVar = {"mine": 1}


def test_an_unknown_kind_has_no_names() -> None:
    assert fake_registry().names("hats") == []
    assert "no hat is called 'bowler'" in refusal(fake_registry(), "hats", "bowler")


def test_the_name_of_a_class_is_canonical_and_else_its_address() -> None:
    registry = fake_registry()
    assert registry.name_of("tasks", fakes.Guess) == "guess"
    assert registry.name_of("tasks", fakes.Stranger) == f"{HERE}:Stranger"
    clashing = fake_registry(entry("guess", "other:Guess"))
    assert clashing.name_of("tasks", fakes.Guess) == f"{HERE}:Guess"


def test_canonical_resolves_aliases_and_addresses() -> None:
    registry = fake_registry()
    assert [registry.canonical("tasks", each) for each in ("g", f"{HERE}:Guess", "new")] == ["guess", "guess", "new"]


def test_a_summary_is_the_first_line() -> None:
    assert fake_registry().summary("tasks", "guess") == "Guess a label."


def test_package_begins_a_location_and_never_an_address() -> None:
    assert is_address("my_package.tasks:Sarcasm")
    for text in ("package:thing", "package:a/b", "a:b:c", "s3://bucket", "plain", "a:b\n"):
        assert not is_address(text), text


def test_listing_every_kind_imports_no_component() -> None:
    code = (
        "import sys; from burnish.registry import default_registry as r; from burnish.catalog import CATALOG;"
        "[r().names(k) for k in CATALOG]; print([m for m in sys.modules if m.split('.')[0] in"
        " ('torch','numpy','pyarrow') or m.startswith(('burnish.tasks','burnish.data','burnish.metrics'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.parametrize("kind", CATALOG)
def test_every_name_of_the_catalog_loads_and_has_a_summary(kind: str) -> None:
    registry = Registry(entry_points=lambda group: [])
    for listing in registry.names(kind):
        assert registry.summary(kind, listing.name), listing.name
        assert registry.name_of(kind, registry.load(kind, listing.name)) == listing.name


@pytest.mark.parametrize("address", MOVED)
def test_an_address_of_an_earlier_version_leads_to_the_same_component(address: str) -> None:
    kinds = {"optim": "schedules"}
    kind = kinds.get(package := address.split(".")[1], package)
    guarded = Registry().guarded()
    assert guarded.load(kind, address) is guarded.load(kind, MOVED[address])
    assert guarded.canonical(kind, address) == MOVED[address]
