"""TabM and embedded numbers equal the packages of their authors, `tabm` and `rtdl_num_embeddings`."""

from collections.abc import Mapping
from typing import Any

import pytest
import rtdl_num_embeddings
import tabm
import torch
from torch import Tensor

from burnish.models.tabular.models import NoAssets, NumberEmbedding, TabM
from burnish.models.tabular.table_features_torch import Periodic, PiecewiseLinear
from burnish.spec.values import HeadSpec, Objective, TableInputs

EDGES = ((-1.5, -0.5, 0.0, 2.0), (-1.0, 0.5, 0.75), (-1.0, 0.25, 0.5))
INPUTS = TableInputs(("a", "b", "c"), EDGES, ("d", "e"), (4, 9), wide_size=0)
SIZE, MEMBERS, WIDTH = 5, 4, 8
BINS = [torch.tensor(edges) for edges in EDGES]


def rows(count: int) -> dict[str, Tensor]:
    """Numbers between the outermost edges: beyond them theirs go on rising, and ours stay."""
    draw = torch.Generator().manual_seed(1)
    share = torch.rand(count, 3, generator=draw)
    lows, highs = (torch.tensor([edges[place] for edges in EDGES]) for place in (0, -1))
    categories = torch.stack([torch.randint(0, most, (count,), generator=draw) for most in (4, 9)], dim=1)
    return {"numbers": lows + share * (highs - lows), "categories": categories}


def drawn(network: torch.nn.Module) -> Mapping[str, Tensor]:
    """Draw all weights, as some begin at zero or one."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(std=0.5)
    return dict(network.named_parameters())


def by_bin(weight: Tensor) -> Tensor:
    """Put the last bin of each number behind its others: theirs stands at the end of the longest."""
    moved = torch.zeros_like(weight)
    for column, edges in enumerate(EDGES):
        last = len(edges) - 2
        moved[column, :last], moved[column, last] = weight[column, :last], weight[column, -1]
    return moved


def member_layers(found: Mapping[str, Tensor], *, is_mini: bool) -> dict[str, Tensor]:
    layers = {}
    for number in range(2):
        theirs, ours = f"backbone.blocks.{number}.0.", f"layers.{number}."
        layers[f"{ours}weight"] = found[f"{theirs}weight"].T
        layers[f"{ours}bias"] = found[f"{theirs}bias"][None] if is_mini else found[f"{theirs}bias"]
        if not is_mini:
            layers |= {f"{ours}{name}": found[f"{theirs}{name}"] for name in "rs"}
    return layers | ({"layers.0.r": found["backbone.affine.weight"]} if is_mini else {})


@pytest.mark.parametrize("is_mini", [False, True])
def test_tab_m_equals_the_network_of_its_authors(is_mini: bool) -> None:
    numbers: Any = rtdl_num_embeddings.PiecewiseLinearEmbeddings(BINS, SIZE, activation=False, version="B")
    shape = {"n_blocks": 2, "d_block": WIDTH, "k": MEMBERS, "dropout": 0.0}
    inputs = {"n_num_features": 3, "cat_cardinalities": [4, 9], "d_out": 2, "num_embeddings": numbers}
    theirs = tabm.TabM.make(**inputs, **shape, arch_type="tabm-mini" if is_mini else "tabm")
    found = drawn(theirs)
    options = TabM(
        hidden=(WIDTH, WIDTH),
        members=MEMBERS,
        category_size="one_hot",
        numbers=NumberEmbedding(kind="piecewise_linear", size=SIZE),
        adapters="first" if is_mini else "every_layer",
    )
    ours = options.network(HeadSpec("tabular", 2, Objective("cross_entropy"), inputs=INPUTS), NoAssets())
    ours.load_state_dict(
        {
            "features.parts.numbers.weight": by_bin(found["num_module.linear.weight"]),
            "features.parts.numbers.line.slope": found["num_module.linear0.weight"],
            "features.parts.numbers.line.bias": found["num_module.linear0.bias"],
            **member_layers(found, is_mini=is_mini),
            "output.weight": found["output.weight"],
            "output.bias": found["output.bias"],
        }
    )
    batch = rows(50)
    expected = theirs(batch["numbers"], batch["categories"])
    torch.testing.assert_close(ours(batch), expected, rtol=1e-5, atol=1e-5)


def test_piecewise_linear_embeddings_equal_theirs() -> None:
    theirs = rtdl_num_embeddings.PiecewiseLinearEmbeddings(BINS, SIZE, activation=False, version="B")
    found = drawn(theirs)
    ours = PiecewiseLinear(INPUTS, size=SIZE)
    line = {"line.slope": found["linear0.weight"], "line.bias": found["linear0.bias"]}
    ours.load_state_dict({"weight": by_bin(found["linear.weight"]), **line})
    numbers = rows(50)["numbers"]
    torch.testing.assert_close(ours(numbers), theirs(numbers).flatten(1), rtol=1e-5, atol=1e-5)


def test_periodic_embeddings_equal_theirs() -> None:
    theirs = rtdl_num_embeddings.PeriodicEmbeddings(3, SIZE, n_frequencies=6, frequency_init_scale=0.1, lite=True)
    found = drawn(theirs)
    ours = Periodic(INPUTS, options=NumberEmbedding(kind="periodic", size=SIZE, frequencies=6))
    ours.load_state_dict(
        {
            "frequencies": found["periodic.weight"],
            "mix.weight": found["linear.weight"],
            "mix.bias": found["linear.bias"],
        }
    )
    numbers = rows(50)["numbers"]
    torch.testing.assert_close(ours(numbers), theirs(numbers).flatten(1), rtol=1e-5, atol=1e-5)
