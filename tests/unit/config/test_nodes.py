import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.config.nodes import Leaf, Path, brief, find, one_line, read_path, write_path
from tests.unit.config.fakes import layer

keys = st.text("abc_", min_size=1, max_size=4)


@given(st.tuples(keys, st.lists(keys | st.integers(0, 99), max_size=4)).map(lambda pair: (pair[0], *pair[1])))
def test_a_path_written_is_a_path_read(path: Path) -> None:
    assert read_path(write_path(path)) == path


def test_find_follows_keys_and_indices() -> None:
    tree = layer("a: [{b: x}, y]")
    found = find(tree, ("a", 0, "b"))
    assert isinstance(found, Leaf)
    assert found.value == "x"
    assert find(tree, ("a", 5)) is None
    assert find(tree, ("a", "b")) is None


def test_a_brief_is_one_short_line() -> None:
    assert brief(layer("{a: [1, null], b: 'x\n\ny'}")) == r"{a: [1, null], b: x\ny}"
    assert len(brief(layer(f"a: {'x' * 500}"))) == 60


@given(st.text())
def test_one_line_never_breaks_a_line(text: str) -> None:
    assert one_line(text).isprintable()


@pytest.mark.parametrize("odd", ["①", "\uff12", "9" * 5001, "-1"])
def test_only_plain_digits_are_a_place_in_a_list(odd: str) -> None:
    assert read_path(f"metrics.{odd}") == ("metrics", odd)
    assert read_path("metrics[12].average") == ("metrics", 12, "average")
