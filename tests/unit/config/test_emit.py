from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.config.nodes import plain
from burnish.config.reader import read_text
from burnish.config.render import emit, write_value

texts = (
    st.text(max_size=12)
    | st.text("ab1:/#-,[]{}'\" %.&*!|>?@`~\n", max_size=8)
    | st.sampled_from(["null", "~", "no", "3e-5", "-"])
)
scalars = st.none() | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def read(text: str) -> object:
    node = read_text(text, source="x.yaml")
    return {} if node is None else plain(node)


@settings(max_examples=250)
@given(st.dictionaries(texts, values, max_size=4))
def test_what_is_written_reads_back(document: dict[str, object]) -> None:
    assert read(emit(document)) == document


@given(st.dictionaries(texts, values, max_size=4), texts)
def test_comments_change_nothing_that_is_read(document: dict[str, object], comment: str) -> None:
    assert read(emit(document, comment=lambda path: comment)) == document


def test_plain_text_stays_bare() -> None:
    for text in ("3 epochs", "6%", "package:weights/model", "bert-base-uncased", "-1", "a.b:C", "data/x.csv"):
        assert write_value(text) == text


def test_numbers_are_written_as_people_do() -> None:
    assert [write_value(each) for each in (3e-5, 1e-8, 0.1, 2, True, None, 1e22)] == [
        "3e-5",
        "1e-8",
        "0.1",
        "2",
        "true",
        "null",
        "1e+22",
    ]


def test_sections_lists_and_lists_of_sections_have_one_look() -> None:
    text = emit({"a": {"b": 1}, "c": ["x", "y"], "d": [{"e": 1, "f": {"g": 2}}, "h"], "i": {}, "j": []})
    assert text == "a:\n  b: 1\nc: [x, y]\nd:\n  - e: 1\n    f:\n      g: 2\n  - h\ni: {}\nj: []\n"
