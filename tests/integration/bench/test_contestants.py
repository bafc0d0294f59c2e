"""Everyone who is measured does the work that the figures say, on a tiny model."""

from collections.abc import Iterator
from functools import wraps
from pathlib import Path

import numpy as np
import pytest

from bench.harness.blocks import Block
from bench.harness.roof_torch import forward_flops
from bench.harness.stage import Stage, staged
from burnish.commands.config import check
from tests.integration.bench.in_threads import started
from tests.project import make_project

ROWS = 20


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Iterator[Stage]:
    project = make_project(tmp_path_factory.mktemp("bench"), model=tiny_bert)
    with staged(check(str(project.config)), rows=ROWS) as stage:
        yield stage


@pytest.mark.parametrize("function", ["train", "score", "answer"])
def test_burnish_works_through_the_whole_sample_each_turn(stage: Stage, function: str) -> None:
    with started({"ours": stage.ours(function)}) as contestants:
        blocks = [contestants["ours"]() for _ in range(2)]
    assert [block.examples for block in blocks] == [ROWS, ROWS]
    assert blocks[0].tokens == blocks[1].tokens > ROWS
    assert all(0 <= block.waited_seconds < block.seconds for block in blocks)


@pytest.mark.parametrize(
    ("function", "flags"),
    [
        ("train", {}),
        ("train", {"is_grouped": True, "attention": "eager", "arguments": {"optim": "adamw_torch_fused"}}),
        ("train", {"pad_to": 24, "rows": 8}),
        ("predict", {"is_grouped": True, "arguments": {"per_device_eval_batch_size": 16}}),
        ("pipe", {"batch_size": 4}),
    ],
    ids=["defaults", "grouped", "padded", "predict", "pipeline"],
)
def test_a_peer_does_the_same_work(stage: Stage, function: str, flags: dict[str, object]) -> None:
    with started({"ours": stage.ours("score"), "peer": stage.peer(function, **flags)}) as contestants:
        ours, first, second = (contestants[name]() for name in ("ours", "peer", "peer"))
    assert first.examples == second.examples == flags.get("rows", ours.examples)
    assert first.tokens == (ours.tokens if "rows" not in flags else second.tokens)
    assert first.seconds > 0


def test_padding_to_a_length_is_what_the_peer_is_fed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import BertForSequenceClassification

    shapes: list[int] = []
    forward = BertForSequenceClassification.forward

    @wraps(forward)  # Trainer reads the signature, to know what the model takes
    def seen(self, input_ids, **inputs):
        shapes.append(input_ids.shape[1])
        return forward(self, input_ids=input_ids, **inputs)

    monkeypatch.setattr(BertForSequenceClassification, "forward", seen)
    for flags in ({}, {"pad_to": 24}):
        with started({"peer": stage.peer("train", **flags)}) as contestants:
            contestants["peer"]()
    assert set(shapes[3:]) == {24}
    assert max(shapes[:3]) < 24


def test_a_peer_is_given_nothing_of_ours_but_weights(stage: Stage) -> None:
    from torch import nn
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(stage.request["model"])
    assert model.config._attn_implementation == "sdpa"
    assert {type(part) for part in model.modules() if "Dropout" in type(part).__name__} == {nn.Dropout}


def test_grouping_by_length_pads_less(stage: Stage) -> None:
    from bench.harness.peers_torch import _Stretched

    lengths = np.random.default_rng(0).integers(3, 24, 64).tolist()
    order = list(_Stretched(8, lengths, multiple=8))
    assert sorted(order) == list(range(64))
    padded = [sum(max(lengths[i] for i in some[at : at + 8]) for at in range(0, 64, 8)) for some in (order, range(64))]
    assert padded[0] < padded[1]


def test_the_roof_is_that_of_matrix_products(stage: Stage) -> None:
    entrant = stage.roof("fp32")
    small = type(entrant)(entrant.address, {**entrant.request, "sizes": [64]})
    with started({"roof": small}) as contestants:
        block: Block = contestants["roof"]()
    assert block.flops == 2 * 64**3
    assert block.flops_rate > 0


def test_operations_are_counted_as_one_would_by_hand(stage: Stage) -> None:
    hidden, wide, layers, labels, length = 32, 64, 2, 2, 20
    token = layers * (4 * hidden * hidden + 2 * hidden * wide)
    attention = layers * 2 * length * hidden
    by_hand = 2 * (length * (token + attention) + hidden * hidden + hidden * labels)
    lengths = np.array([length, length])
    assert forward_flops(Path(stage.request["model"]), lengths) == pytest.approx(2 * by_hand, rel=1e-6)
