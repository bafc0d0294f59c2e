"""Heads above shared layers answer as each would above layers of its own, whatever the architecture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from burnish.errors import ConfigError
from burnish.models.transformer import Transformer
from burnish.models.transformer_torch import load_network, save_network
from burnish.spec.values import Head, Objective

BEAM = {"start_n_top": 2, "end_n_top": 2, "max_answer": 3}
PARTS = {
    "sort": Head("sequence_classification", 3, Objective("cross_entropy"), ("a", "b", "c")),
    "embed": Head("token_classification", 2, Objective("cross_entropy"), ("O", "B-X")),
    "keys": Head("multiple_choice", 1, Objective("cross_entropy")),
    "spans": Head("question_answering", 2, Objective("span")),
    "beam": Head("question_answering_beam", 2, Objective("span"), options=BEAM),
}
"""Called as something that a mapping of modules already has, and as something that sounds like an embedding."""
HEAD = Head("several", 3, Objective("cross_entropy"), parts=PARTS)


def batches() -> list[dict[str, Tensor]]:
    random = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 40, (3, 7), generator=random)
    plain = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    scored = torch.rand(3, 7, generator=random) < 0.5
    pairs = {name: array.repeat(1, 2).view(3, 2, 7) for name, array in plain.items()}
    places = {**plain, "scored": scored}
    null, characters = torch.zeros(3, dtype=torch.long), torch.arange(7)[None, :, None].expand(3, 7, 2)
    beams = {**plain, "allowed": ids > 0, "null_place": null, "characters": characters}
    choices = {**pairs, "choices": torch.ones(3, 2) > 0}
    each: list[dict[str, Tensor]] = [plain, places, choices, places, beams]
    return [{**batch, "group": torch.full((3,), number)} for number, batch in enumerate(each)]


def network_of(folder: str, head: Head = HEAD, **options: Any) -> Any:
    model = Transformer(name=folder, **options)
    torch.manual_seed(0)
    return model.network(head, model.assets()).eval()


@pytest.mark.parametrize("architecture", ["bert", "roberta", "distilbert", "electra", "albert", "xlnet"])
def test_heads_answer_as_above_layers_of_their_own(
    tiny: Callable[[str], str], tmp_path: Path, architecture: str
) -> None:
    joint = network_of(tiny(architecture))
    with torch.no_grad():
        said = [joint(batch) for batch in batches()]
        for (name, head), batch, answer in zip(PARTS.items(), batches(), said, strict=True):
            alone = network_of(tiny(architecture), head)
            top = joint.heads[f"task_{name}"].model
            own = {f"{top.base_model_prefix}.{key}": value for key, value in joint.model.state_dict().items()}
            alone.model.load_state_dict({**top.state_dict(), **own}, strict=False)
            torch.testing.assert_close(answer, alone(batch), rtol=1e-5, atol=1e-5)
        save_network(joint, tmp_path)
        again = load_network(tmp_path, HEAD, options=Transformer(name=tiny(architecture))).eval()
        for batch, answer in zip(batches(), said, strict=True):
            torch.testing.assert_close(again(batch), answer, rtol=0, atol=0)


def test_a_head_learns_at_the_top_rate_whatever_its_task_is_called(tiny: Callable[[str], str]) -> None:
    network = network_of(tiny("bert"), layer_decay=0.5)
    rates = {
        id(parameter): group["lr"]
        for group in network.parameter_groups(learning_rate=1.0, weight_decay=0.1)
        for parameter in group["params"]
    }
    assert {rates[id(each)] for each in network.heads.parameters()} == {1.0}
    assert rates[id(network.model.embeddings.word_embeddings.weight)] < 0.3


def test_layers_that_classify_together_are_spared_alike(tiny: Callable[[str], str]) -> None:
    sort = PARTS["sort"]
    alike = network_of(tiny("bert"), Head("several", 3, sort.objective, parts={"one": sort, "two": sort}))
    mixed = network_of(tiny("bert"))
    assert "forward" in vars(alike.model.encoder.layer[-1])
    assert "forward" not in vars(mixed.model.encoder.layer[-1])  # tags are read at every place


def test_a_head_that_cannot_share_is_refused(tiny: Callable[[str], str]) -> None:
    head = Head("several", 1, Objective("mean"), parts={"words": Head("masked_lm", 9, Objective("cross_entropy"))})
    with pytest.raises(ConfigError, match=r"task\.tasks\.words: a head of kind masked_lm cannot share its layers"):
        network_of(tiny("bert"), head)
