from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from burnish.config.nodes import plain
from burnish.config.sources import layers, override, split_overrides
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a=1,b.c=2", ["a=1", "b.c=2"]),
        ("a=[1,2],b='x, y=3',c=\"1,d=2\"", ["a=[1,2]", "b='x, y=3'", 'c="1,d=2"']),
        ("data.train=a.csv,b.csv, train.batch=8", ["data.train=a.csv,b.csv", "train.batch=8"]),
        ("a[0]=1,a[1]=2", ["a[0]=1", "a[1]=2"]),
        ("a={b: 1, c=2},d=3", ["a={b: 1, c=2}", "d=3"]),
        ("task.prefix=it's,train.batch=3", ["task.prefix=it's", "train.batch=3"]),
        ("", [""]),
    ],
)
def test_params_override_is_split_at_the_commas_that_a_key_follows(text: str, words: list[str]) -> None:
    assert split_overrides(text) == words


def test_params_override_may_be_a_mapping_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "more.yaml"
    path.write_text("train: {batch: 8}")
    both = [*split_overrides(str(path)), *split_overrides('{"train": {"batch": 8}}')]
    assert [plain(each) for each in both if not isinstance(each, str)] == [{"train": {"batch": "8"}}] * 2


@given(
    st.dictionaries(st.from_regex(r"[a-z]+(\.[a-z]+)?", fullmatch=True), st.from_regex(r"[\w ./:-]*", fullmatch=True))
)
def test_what_is_joined_by_commas_is_split_again(options: dict[str, str]) -> None:
    words = [f"{key}={value}".strip() for key, value in options.items()]
    assert split_overrides(",".join(words)) == (words or [""])


def test_a_gin_file_is_refused_with_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "bert.gin"
    path.write_text("# comment\n\ntrain.batch_size = 32  # rows\n")
    with pytest.raises(ConfigError, match=r"bert\.gin:3: `train.batch_size = 32` is gin"):
        layers("imdb", configs=[str(path)], overrides=(), registry=fake_registry())


def test_an_experiment_may_be_a_layer_and_a_misspelt_one_gets_a_suggestion() -> None:
    stack = layers("imdb", configs=["glue/mnli"], overrides=(), registry=fake_registry())
    assert plain(stack[-1])["data"] == {"type": "glue", "set": "mnli"}  # type: ignore[index]
    with pytest.raises(ConfigError, match=r"no layer is called 'models/albert-bas'. Did you mean `models/albert-base`"):
        layers("imdb", configs=["models/albert-bas"], overrides=(), registry=fake_registry())
