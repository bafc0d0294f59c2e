from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from burnish.config.nodes import plain
from burnish.config.sources import layers, override
from burnish.errors import ConfigError
from tests.unit.config.fakes import fake_registry


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3 epochs", "3 epochs"),
        ("null", None),
        ("", None),
        ("'null'", "null"),
        ("[accuracy,f1]", ["accuracy", "f1"]),
        ("{type: transformer, name: x}", {"type": "transformer", "name": "x"}),
        ("data/*.csv", "data/*.csv"),
        ("*.csv", "*.csv"),
        ("a=b", "a=b"),
        ("note: this # too", "note: this # too"),
        ("https://host/a", "https://host/a"),
    ],
)
def test_a_value_is_text_unless_brackets_or_quotes_make_it_yaml(text: str, value: object) -> None:
    assert plain(override(f"a.b={text}")) == {"a": {"b": value}}


def test_an_override_is_its_own_origin() -> None:
    assert str(override("a.b=[1, 2]").nodes["a"].origin) == "set by a.b=[1, 2] on the command line"


@pytest.mark.parametrize("text", ["a.b", "=3", "a..b=3", ".a=3", "a.=3", "--lr"])
def test_what_is_no_override_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"is not an override; write key\.path=value"):
        override(text)


def test_a_broken_list_is_refused_by_its_own_text() -> None:
    with pytest.raises(ConfigError, match=r"metrics=\[a on the command line:1: this is not YAML"):
        override("metrics=[a")


def test_layers_come_in_order_and_the_lowest_is_the_name(tmp_path: Path) -> None:
    for name in ("base.yaml", "mine.yaml"):
        (tmp_path / name).write_text(f"description: {name}")
    paths = [str(tmp_path / name) for name in ("base.yaml", "mine.yaml")]
    stack = layers(paths[0], configs=paths[1:], overrides=["name=b"], registry=fake_registry())
    assert [plain(each) for each in stack] == [
        {"name": "base"},
        {"description": "base.yaml"},
        {"description": "mine.yaml"},
        {"name": "b"},
    ]


def test_everything_that_cannot_be_read_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        layers("nowhere", configs=["none.yaml"], overrides=["x"], registry=fake_registry())
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("train.batch=16,optimizer.learning_rate=1e-4", "train.batch=16 optimizer.learning_rate=1e-4"),
        ("runtime.seed=1, name=x", "runtime.seed=1 name=x"),
        ("lr=1,batch_size=3,fp16=true", "lr=1 batch_size=3 fp16=true"),
        ("trainer.train_steps=10,runtime.num_gpus=1", "trainer.train_steps=10 runtime.num_gpus=1"),
    ],
)
def test_joined_overrides_are_refused_with_how_to_write_them(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        override(text)
    assert caught.value.problems[0].message == f"'{text}' joins several overrides; write them separately: {words}"


@given(value=st.text(st.characters(codec="utf-8", exclude_characters="="), max_size=20))
@example(value="a.csv,b.csv")
@example(value="gs://b/year=2020,month=3/x.csv")
@example(value="'x,train.batch=3'")
@example(value="[a, b]")
def test_a_comma_in_a_value_is_no_second_override(value: str) -> None:
    with suppress(ConfigError):  # what is not YAML after a bracket or a quote
        override(f"data.train={value}")
        return
    assert value.lstrip()[:1] in ("[", "{", '"', "'")
