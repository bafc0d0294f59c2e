from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from burnish.config.nodes import plain
from burnish.config.reader import MAX_BYTES, read_file, read_text
from burnish.errors import ConfigError


def read(text: str) -> object:
    node = read_text(text, source="mine.yaml")
    return None if node is None else plain(node)


def refusals(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_text(text, source="mine.yaml")
    return [problem.message for problem in caught.value.problems]


@pytest.mark.parametrize(
    "text", ["3e-5", "no", "yes", "0o17", "1_000", "2024-01-01", "1:30", "0x1F", ".5", "on", "=", "<<"]
)
def test_a_scalar_stays_the_text_it_is(text: str) -> None:
    assert read(f"a: {text}") == {"a": text}


@pytest.mark.parametrize("text", ["null", "~", "", "Null", "NULL"])
def test_only_an_unquoted_null_is_none(text: str) -> None:
    assert read(f"a: {text}") == {"a": None}
    assert read(f"a: '{text}'") == {"a": text}


def test_every_node_knows_its_line() -> None:
    tree = read_text("a:\n  b: 1\n  c: [x,\n      y]\n", source="mine.yaml")
    section = tree.nodes["a"]  # type: ignore[union-attr]
    assert section.nodes["b"].origin.place == "mine.yaml:2"
    assert section.nodes["c"].nodes[1].origin.place == "mine.yaml:4"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3", "mine.yaml:3: `a` is written twice, first on line 1; keep one"),
        ("a: &x 1\nb: *x", "mine.yaml:1: anchors and aliases are not allowed"),
        ("a: !!python/object:os.system x", "mine.yaml:1: tags are not allowed"),
        ("\na: !x y", "mine.yaml:2: tags are not allowed"),
        ("? [a, b]\n: c", "mine.yaml:1: a key must be text"),
        ("~: c", "mine.yaml:1: a key must be text"),
        ("a: 1\n\tb: 2", "mine.yaml:2: this is not YAML: found character"),
        ("a: [1", "mine.yaml:1: this is not YAML"),
        ("a: 1\n---\nb: 2", "mine.yaml:2: this is not YAML"),
        ("a: \x07", "mine.yaml: the character #x0007 is not allowed"),
        ("a: " + "[" * 60 + "]" * 60, "nested more than 32 deep"),
    ],
)
def test_what_a_config_never_needs_is_refused_with_its_line(text: str, said: str) -> None:
    assert said in refusals(text)[0]


def test_all_forbidden_things_are_told_at_once() -> None:
    assert len(refusals("a: !x 1\nb: &y 2\nc: *y")) == 3


def test_a_nest_of_aliases_is_refused_before_it_is_built() -> None:
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 30))
    assert "aliases are not allowed" in refusals(f"l0: &l0 x\n{levels}")[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x" * (MAX_BYTES + 1), "mine.yaml is larger than 1 MiB"),
        (b"a: 1\nb: \xff", "mine.yaml:2: byte 0xff is not UTF-8"),
        (b"[1, 2]", "mine.yaml:1 must be a mapping of options, got [1, 2]"),
        (b"just text", "mine.yaml:1 must be a mapping of options, got just text"),
    ],
)
def test_a_file_that_is_no_config_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="a problem") as caught:
        read_file(path, source="mine.yaml")
    assert said in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no file mine\.yaml in .*; files here: none"):
        read_file(tmp_path / "mine.yaml", source="mine.yaml")
    with pytest.raises(ConfigError, match=r"mine\.yaml cannot be read: Is a directory"):
        read_file(tmp_path, source="mine.yaml")


def test_an_empty_file_and_a_byte_order_mark_are_harmless(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"# nothing yet\n")
    assert plain(read_file(path, source="mine.yaml")) == {}
    path.write_bytes(b"\xef\xbb\xbfa: 1")
    assert plain(read_file(path, source="mine.yaml")) == {"a": "1"}


values = st.recursive(
    st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), values, max_size=3))
def test_quoted_text_reads_as_pyyaml_reads_it(document: dict[str, object]) -> None:
    text = yaml.safe_dump(document, default_style='"', allow_unicode=True)
    assert read(text) == yaml.safe_load(text) == document


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    try:
        read_text(text, source="mine.yaml")
    except ConfigError as error:
        unplaced = [problem.message for problem in error.problems if not problem.message.startswith("mine.yaml")]
    else:
        unplaced = []
    assert unplaced == []
