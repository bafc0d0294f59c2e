"""Networks over a table: against plain numpy, against networks one by one, and back from disk bit for bit."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from burnish.errors import CheckpointError
from burnish.models.tabular.models import Deep, Linear, NoAssets, NumberEmbedding, TabM, WideDeep
from burnish.models.tabular.networks_torch import RowNorm
from burnish.models.tabular.table_features_torch import Categories, OneHot, Periodic, PiecewiseLinear
from burnish.spec.values import HeadSpec, Objective, TableInputs

EDGES = ((-1.5, -0.5, 0.0, 2.0), (0.0, 1.0), (-1.0, 0.25, 0.5))
INPUTS = TableInputs(("a", "b", "c"), EDGES, ("d", "e"), (4, 9), wide_size=30)
PLE = NumberEmbedding(kind="piecewise_linear", size=5)
MODELS = {
    "linear": Linear(),
    "deep": Deep(hidden=(8, 6)),
    "deep with norms": Deep(hidden=(8, 6), batch_norm=True, numbers=PLE),
    "deep with waves": Deep(hidden=(8, 6), numbers=NumberEmbedding(kind="periodic", frequencies=4)),
    "wide_deep": WideDeep(hidden=(8,), category_size=3),
    "wide_deep of one-hots": WideDeep(hidden=(8,), category_size="one_hot"),
    "tab_m": TabM(hidden=(8, 6), members=4),
    "tab_m with one one-hot": TabM(hidden=(8, 6), members=4, category_size={"d": "one_hot"}),
    "tab_m of few differences": TabM(hidden=(8, 6), members=4, adapters="first", numbers=NumberEmbedding()),
    "tab_m with norms": TabM(hidden=(8, 6), members=4, batch_norm=True),
}


def head(size: int = 2, inputs: TableInputs = INPUTS) -> HeadSpec:
    return HeadSpec("tabular", size, Objective("cross_entropy"), inputs=inputs)


def batch(count: int, inputs: TableInputs = INPUTS) -> dict[str, Tensor]:
    random = np.random.default_rng(count)
    return {
        "numbers": torch.tensor(random.normal(size=(count, len(inputs.numbers))), dtype=torch.float32),
        "categories": torch.tensor(random.integers(0, inputs.cardinalities, (count, len(inputs.cardinalities)))),
        "wide": torch.tensor(random.integers(0, max(1, inputs.wide_size), (count, 3))),
    }


def network(name: str, *, size: int = 2) -> Any:
    torch.manual_seed(3)
    made = MODELS[name].network(head(size), NoAssets())
    with torch.no_grad():  # weights that begin at zero would hide what they are for
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return made


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("count", [1, 7])
def test_logits_have_one_row_each_and_members_where_there_are_some(name: str, count: int) -> None:
    made = network(name, size=3)
    for is_training in (True, False):
        logits = made.train(is_training)(batch(count))
        assert logits.shape == ((count, 4, 3) if name.startswith("tab_m") else (count, 3))
        assert torch.isfinite(logits).all()


@pytest.mark.parametrize("name", MODELS)
def test_a_row_gets_the_same_answer_in_any_company(name: str) -> None:
    made, rows = network(name).eval(), batch(9)
    some = {key: values[[4, 2]] for key, values in rows.items()}
    torch.testing.assert_close(made(some), made(rows)[[4, 2]])


@pytest.mark.parametrize("name", MODELS)
def test_everything_learns_and_belongs_to_one_group(name: str) -> None:
    made = network(name)
    made(batch(50)).square().sum().backward()
    assert all(param.grad is not None and param.grad.abs().sum() > 0 for param in made.parameters())
    groups = made.parameter_groups(learning_rate=0.5, weight_decay=0.25)
    assert sum(len(group["params"]) for group in groups) == len(list(made.parameters()))
    assert {group["name"].split(",")[0] for group in groups} == {
        "linear": {"wide"},
        "wide_deep": {"wide", "deep"},
        "wide_deep of one-hots": {"wide", "deep"},
    }.get(name, {"deep"})
    assert {group["weight_decay"] for group in groups} == {0.0, 0.25}


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_network_answers_with_the_same_bits(name: str, tmp_path: Path) -> None:
    made = network(name)
    made.train()(batch(20))  # norms have seen something
    MODELS[name].save(made, tmp_path)
    back: Any = MODELS[name].load(tmp_path, head())
    assert torch.equal(back.eval()(batch(8)), made.eval()(batch(8)))
    assert json.loads((tmp_path / "shape.json").read_text())["cardinalities"] == [4, 9]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / "shape.json").unlink(), "does not hold a network"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"torn"), "does not hold a network"),
        (lambda folder: Deep(hidden=(5,)).save(Deep(hidden=(5,)).network(head(), NoAssets()), folder), "another"),
    ],
    ids=["no shape", "torn", "other layers"],
)
def test_what_was_not_saved_by_this_model_is_refused(damage: Any, words: str, tmp_path: Path) -> None:
    MODELS["deep"].save(network("deep"), tmp_path)
    damage(tmp_path)
    with pytest.raises(CheckpointError, match=words):
        MODELS["deep"].load(tmp_path, head())


def test_a_network_that_is_fed_otherwise_is_refused(tmp_path: Path) -> None:
    MODELS["deep"].save(network("deep"), tmp_path)
    other = TableInputs(INPUTS.numbers, INPUTS.edges, ("d", "f"), (4, 9), wide_size=30)
    with pytest.raises(CheckpointError, match="categories differ"):
        MODELS["deep"].load(tmp_path, head(inputs=other))


def filled(numbers: Any) -> Any:
    """Tell how full each bin is, by a plain loop."""
    found = np.zeros((*numbers.shape, max(len(edges) - 1 for edges in EDGES)))
    for row, column in np.ndindex(*numbers.shape):
        for place, (low, high) in enumerate(pairwise(EDGES[column])):
            found[row, column, place] = min(1.0, max(0.0, (numbers[row, column] - low) / (high - low)))
    return found


def test_piecewise_linear_embeddings_and_their_gradients_equal_plain_numpy() -> None:
    made = PiecewiseLinear(INPUTS, size=5)
    torch.nn.init.normal_(made.weight)
    on_edges = [[edges[place % len(edges)] for edges in EDGES] for place in range(4)]
    numbers = torch.cat([torch.randn(40, 3) * 2, torch.tensor(on_edges), torch.tensor([[-1e30] * 3, [1e30] * 3])])
    weight, line, fill = made.weight.detach().numpy(), made.line, filled(numbers.numpy())
    straight = numbers.numpy()[:, :, None] * line.slope.detach().numpy() + line.bias.detach().numpy()
    expected = np.einsum("nft,ftd->nfd", fill, weight) + straight
    np.testing.assert_allclose(made(numbers).detach().numpy(), expected.reshape(46, 15), rtol=1e-5, atol=1e-5)
    towards = torch.randn(46, 15)
    made(numbers).backward(towards)
    gradient = np.einsum("nft,nfd->ftd", fill, towards.numpy().reshape(46, 3, 5))
    np.testing.assert_allclose(made.weight.grad.numpy(), gradient, rtol=1e-4, atol=1e-4)


def test_categories_of_different_sizes_equal_tables_of_their_own() -> None:
    made = Categories((4, 9), (2, 3))
    ids = batch(30)["categories"]
    first, second = made.weight[:4, :2], made.weight[4:, :3]
    assert torch.equal(made(ids), torch.cat([first[ids[:, 0]], second[ids[:, 1]]], dim=1))


def test_one_hots_equal_those_of_torch() -> None:
    ids = batch(30)["categories"]
    first, second = (torch.nn.functional.one_hot(ids[:, at], count) for at, count in enumerate((4, 9)))
    assert torch.equal(OneHot((4, 9), (0, 1))(ids), torch.cat([first, second], dim=1).float())
    assert torch.equal(OneHot((4, 9), (1,))(ids), second.float())


def test_columns_may_be_one_hot_beside_embedded_ones() -> None:
    rows, inputs = batch(30), TableInputs(categories=("d", "e", "f"), cardinalities=(4, 9, 5))
    ids = torch.cat([rows["categories"], rows["categories"][:, :1]], dim=1)
    made: Any = Deep(hidden=(8,), category_size={"e": "one_hot", "f": 2}).network(head(inputs=inputs), NoAssets())
    weight = made.features.parts["categories"].weight
    one_hot = torch.nn.functional.one_hot(ids[:, 1], 9)
    expected = torch.cat([weight[:4][ids[:, 0]], weight[4:][ids[:, 2]], one_hot], dim=1)
    assert torch.equal(made.features({"categories": ids}), expected)
    assert made.features.sizes == (2, 2, 9)


def test_a_layer_over_one_hots_is_a_table_of_embeddings() -> None:
    inputs = TableInputs(categories=("d", "e"), cardinalities=(4, 9))
    made: Any = Deep(hidden=(8,), category_size="one_hot", dropout=0).network(head(inputs=inputs), NoAssets())
    ids, layer = batch(30)["categories"], made.layers[0]
    hidden = layer.weight.t()[ids[:, 0]] + layer.weight.t()[4 + ids[:, 1]] + layer.bias
    torch.testing.assert_close(made({"categories": ids}), made.output(hidden.relu()))


@pytest.mark.parametrize("name", ["tab_m", "tab_m of few differences", "tab_m with one one-hot"])
def test_an_ensemble_equals_its_members_one_by_one(name: str) -> None:
    made, rows = network(name).eval(), batch(6)
    logits = made(rows)
    for member in range(4):
        hidden = made.features(rows)
        for layer in made.layers:
            r = 1.0 if layer.r is None else layer.r[member]
            s = 1.0 if layer.s is None else layer.s[member]
            bias = layer.bias[member] if len(layer.bias) > 1 else layer.bias[0]
            hidden = (((hidden * r) @ layer.weight) * s + bias).relu()
        alone = hidden @ made.output.weight[member] + made.output.bias[member]
        torch.testing.assert_close(logits[:, member], alone, rtol=1e-4, atol=1e-5)


def test_members_begin_different() -> None:
    for name in ("tab_m", "tab_m of few differences"):
        made = MODELS[name].network(head(), NoAssets()).layers
        assert len({tuple(view) for view in made[0].r.tolist()}) == 4
        assert made[1].r is None or bool((made[1].r == 1).all())


def test_wide_ids_add_up_and_nothing_adds_nothing() -> None:
    made = network("linear")
    ids = torch.tensor([[3, 5, 0], [5, 0, 0]])
    rows = {**batch(2), "wide": ids}
    weights, straight = made.wide.ids.weight, made.wide.numbers(rows["numbers"]) + made.wide.bias
    assert not MODELS["linear"].network(head(), NoAssets()).wide.ids.weight[0].any()
    expected = torch.stack([weights[3] + weights[5] + weights[0], weights[5] + 2 * weights[0]]) + straight
    torch.testing.assert_close(made(rows), expected)
    made(rows).sum().backward()
    assert not weights.grad[0].any()  # so that it stays at zero


def test_a_linear_model_without_wide_ids_weighs_categories() -> None:
    inputs = TableInputs(categories=("d", "e"), cardinalities=(4, 9))
    made: Any = Linear().network(head(inputs=inputs), NoAssets())
    torch.nn.init.normal_(made.wide.ids.weight)
    expected = made.wide.ids.weight[[0]] + made.wide.ids.weight[[4 + 8]]
    torch.testing.assert_close(made({"categories": torch.tensor([[0, 8]])}), expected)


@pytest.mark.parametrize("name", ["deep", "deep with waves", "wide_deep", "wide_deep of one-hots", "tab_m"])
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    made, rows = network(name).double().eval(), batch(3)
    numbers = rows["numbers"].double().requires_grad_()
    assert torch.autograd.gradcheck(lambda given: made({**rows, "numbers": given}), (numbers,), eps=1e-7, atol=1e-4)


def test_waves_of_one_number_repeat() -> None:
    made = Periodic(TableInputs(("a",), ((0.0, 1.0),)), options=NumberEmbedding(kind="periodic", frequencies=1))
    length = 1 / float(made.frequencies[0, 0].detach())
    torch.testing.assert_close(made(torch.tensor([[0.3]])), made(torch.tensor([[0.3 + length]])), atol=1e-4, rtol=1e-4)


def test_a_norm_takes_a_single_row_in_training() -> None:
    norm = RowNorm(3)
    before = norm.running_mean.clone()
    assert torch.isfinite(norm(torch.ones(1, 3))).all()
    assert torch.equal(norm.running_mean, before)


@pytest.mark.parametrize(("name", "rate"), [("linear", 2e-2), ("tab_m", 2e-3), ("wide_deep", 2e-3), ("deep", 2e-3)])
def test_one_layer_learns_at_a_higher_rate_than_several(name: str, rate: float) -> None:
    assert MODELS[name].network(head(), NoAssets()).usual_rate == rate
