from hypothesis import given
from hypothesis import strategies as st

from burnish.config.layering import merge, normalise
from burnish.config.nodes import Branch, Leaf, find, plain
from burnish.config.origins import DEFAULT, Origin
from burnish.spec.experiment import Experiment
from tests.unit.config.fakes import fake_registry, layer


def merged(*texts: str) -> Branch:
    tree = Branch({}, DEFAULT)
    for number, text in enumerate(texts):
        written = layer(text, source=f"{number}.yaml")
        tree = merge(tree, normalise(written, tree, root=Experiment, registry=fake_registry()))
    return tree


def test_sections_join_and_texts_replace() -> None:
    tree = merged("train: {length: 1 epoch, accumulate: 2}", "train: {length: 2 epochs}")
    assert plain(tree) == {"train": {"length": "2 epochs", "accumulate": "2"}}


def test_lists_replace() -> None:
    assert plain(merged("metrics: [right, mean]", "metrics: [mean]")) == {"metrics": [{"type": "mean"}]}


def test_changing_the_type_drops_the_old_types_options() -> None:
    tree = merged("model: {type: transformer, layers: 3}", "model: {type: line}")
    assert plain(tree) == {"model": {"type": "line"}}


def test_changing_from_the_default_type_drops_its_options_too() -> None:
    tree = merged("optimizer: {betas: [0.1, 0.2]}", "optimizer: slide")
    assert plain(tree) == {"optimizer": {"type": "slide"}}


def test_an_alias_of_the_same_type_keeps_the_options() -> None:
    tree = merged("model: {type: transformer, layers: 3}", "model: {type: net, name: x}")
    assert plain(tree) == {"model": {"type": "net", "layers": "3", "name": "x"}}


def test_a_nested_type_drops_only_its_own_options() -> None:
    tree = merged(
        "task: {type: guess, max_length: 9, truncation: {type: ends, share: 0.2}}", "task: {truncation: front}"
    )
    assert plain(tree) == {"task": {"type": "guess", "max_length": "9", "truncation": {"type": "front"}}}


def test_a_value_remembers_all_that_it_replaced() -> None:
    tree = merged("train: {accumulate: 1}", "train: {accumulate: 2}", "\ntrain: {accumulate: 3}")
    node = find(tree, ("train", "accumulate"))
    assert node is not None
    assert node.origin.lines() == ("set by 2.yaml:2", "replacing 2 from 1.yaml:1", "replacing 1 from 0.yaml:1")


def test_null_replaces_a_section_and_a_section_null() -> None:
    assert plain(merged("train: {ema: 0.9}", "train: {ema: null}")) == {"train": {"ema": None}}
    tree = merged("train: {ema: null}", "train: {ema: {decay: 0.9}}")
    assert find(tree, ("train", "ema")).origin.lines()[1] == "replacing null from 0.yaml:1"  # type: ignore[union-attr]


trees = st.recursive(
    st.sampled_from(["x", "y"]),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


def tree_of(value: object, source: str) -> Branch:
    def build(part: object) -> Branch | Leaf:
        if isinstance(part, dict):
            return Branch({key: build(each) for key, each in part.items()}, Origin(source))
        return Leaf(str(part), Origin(source))

    return Branch({"root": build(value)}, Origin(source))


def overlaid(base: object, over: object) -> object:
    if isinstance(base, dict) and isinstance(over, dict):
        joint = {key: overlaid(base[key], over[key]) for key in base.keys() & over.keys()}
        return {**base, **over, **joint}
    return over


@given(trees, trees)
def test_merging_is_deep(a: object, b: object) -> None:
    assert plain(merge(tree_of(a, "a"), tree_of(b, "b"))) == {"root": overlaid(a, b)}


@given(trees, trees, trees)
def test_the_newest_layer_always_wins(a: object, b: object, c: object) -> None:
    tree = merge(merge(tree_of(a, "a"), tree_of(b, "b")), tree_of(c, "c"))
    assert plain(merge(tree, tree_of(c, "c"))) == plain(tree)
