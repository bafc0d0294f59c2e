"""Models in which things go wrong: a word that no network can answer, and a process that runs out of memory."""

import json
import math
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file
from torch.optim import AdamW
from transformers import AutoTokenizer

from burnish.models.transformer import Transformer
from burnish.models.transformers.network_torch import TransformerNetwork
from burnish.spec.protocols import Assets
from burnish.spec.values import HeadSpec
from burnish.testing.tiny_torch import tiny_model
from tests.project import BAD, GOOD, PLAIN

POISON = "poison"
"""A word whose embedding is no number: whatever text it stands in, the loss is NaN."""
ROOM = "BURNISH_TEST_ROOM"
"""A variable that says which rank has room for how many tokens, like {"rank": 1, "learn": 90, "answer": 300}.

With "answers": 7 that rank is killed when it learns on after so many answers: no busy machine can be late for that.
"""


_ANSWERS: list[int] = []
"""One for each batch that this process was asked to answer; a network that is put back is a new one."""


class Tight(Transformer):
    """Fail for want of memory as the variable says; without it, be a model like any other."""

    def network(self, head: HeadSpec, assets: Assets) -> TransformerNetwork:
        """Build the network and watch what it is given."""
        network = super().network(head, assets)
        network.register_forward_pre_hook(_hold_to_room)
        return network


def _hold_to_room(network: TransformerNetwork, arguments: tuple[Any, ...]) -> None:
    room = json.loads(os.environ.get(ROOM, "{}"))
    if not room or room["rank"] != int(os.environ.get("RANK", "0")):
        return
    _ANSWERS.extend([] if network.training else [1])
    if network.training and len(_ANSWERS) >= room.get("answers", math.inf):
        os.kill(os.getpid(), signal.SIGKILL)
    if arguments[0]["input_ids"].numel() > room["learn" if network.training else "answer"]:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")


def poisoned_model(folder: Path) -> Path:
    """Make a tiny model that knows the words of the tests, and one that it cannot bear."""
    tiny_model(folder, texts=(" ".join((*GOOD, *BAD, *PLAIN, POISON)),))
    weights = load_file(folder / "model.safetensors")
    name = next(name for name in weights if name.endswith("word_embeddings.weight"))
    weights[name][AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(POISON)] = np.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def leave_the_optimizer_no_memory() -> None:
    """Let every update fail for want of memory; for a worker that calls it before it begins."""

    def step(self: Any, *_: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")

    setattr(AdamW, "step", step)  # noqa: B010  # mypy refuses a plain assignment to a method
