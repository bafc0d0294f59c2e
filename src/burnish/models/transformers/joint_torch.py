"""One transformer below the heads of several tasks: its layers are there once, and learn from every task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from burnish.errors import ConfigError, Problem
from burnish.models.transformer import Transformer
from burnish.models.transformers.heads_torch import kind_of
from burnish.models.transformers.layers_torch import names_below
from burnish.models.transformers.locate_model import refusal
from burnish.models.transformers.network_torch import TransformerNetwork
from burnish.spec.values import HeadSpec

Build = Callable[[HeadSpec], tuple[PreTrainedModel, set[str]]]
"""Makes the whole model of one head, and names its parameters that no file held."""


class JointNetwork(TransformerNetwork):
    """Answer each batch with the head of its group: `group` in a batch is the number of the head, one for all rows."""

    def __init__(
        self,
        model: PreTrainedModel,
        head: HeadSpec,
        *,
        networks: Mapping[str, TransformerNetwork],
        layer_decay: float | None = None,
    ) -> None:
        super().__init__(model, head, layer_decay=layer_decay)
        # A name of its own in front, for a task may be called like something that every module has.
        self.heads = nn.ModuleDict({f"task_{name}": network for name, network in networks.items()})

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor | Mapping[str, Tensor]:
        network = list(self.heads.values())[int(batch["group"][0])]
        outputs: Tensor | Mapping[str, Tensor] = network(batch)
        return outputs


@dataclass(frozen=True)
class Shared:
    """Models of several heads that read with the layers of one."""

    base: PreTrainedModel
    tops: Mapping[str, PreTrainedModel]
    """The model of each head, whose layers are `base` and no part of it: they are moved and saved once.

    `base` itself where the head asks for the layers alone.
    """
    fresh: frozenset[str]
    """The parameters of `base` that no file held."""

    @property
    def first(self) -> PreTrainedModel:
        """The model of the first head."""
        return next(iter(self.tops.values()))

    def network(self, head: HeadSpec, options: Transformer) -> JointNetwork:
        """Put heads and layers together."""
        decay = options.layer_decay
        networks: dict[str, TransformerNetwork] = {}
        for name, part in head.parts.items():
            with _refusing_for(name):
                networks[name] = kind_of(part).network(self.tops[name], part, layer_decay=decay)
            if networks[name].model is self.base:
                _put_beside(networks[name], "model")
        return JointNetwork(self.base, head, networks=networks, layer_decay=decay)


def share(head: HeadSpec, build: Build, *, kinds: tuple[str, ...]) -> Shared:
    """Build the model of every head and let all of them read with the layers of the one that has most."""
    for name, part in head.parts.items():
        if part.kind not in kinds:
            raise refusal(
                f"task.tasks.{name}: a head of kind {part.kind} cannot share its layers with others; "
                f"train it in a separate run"
            )
    tops: dict[str, PreTrainedModel] = {}
    base: PreTrainedModel | None = None
    fresh: set[str] = set()
    for name, part in head.parts.items():
        with _refusing_for(name):
            model, unread = build(part)
        prefix, layers = names_below(model), cast(PreTrainedModel, model.base_model)
        if layers is not model:  # else there is nothing above the layers, or what is there is the network's own
            tops[name] = model
            del model._modules[model.base_model_prefix]
        if base is None or _size(layers) > _size(base):  # some heads need an output of the layers that others leave out
            base, fresh = layers, {key.removeprefix(prefix) for key in unread if key.startswith(prefix)}
    assert base is not None, "there is at least one task"
    for top in tops.values():
        # It reads with these layers, and what was tied to embeddings of its own is tied to theirs.
        top.add_module(top.base_model_prefix, base)
        top.tie_weights()
        _put_beside(top, top.base_model_prefix)
    return Shared(base, {name: tops.get(name, base) for name in head.parts}, frozenset(fresh))


@contextmanager
def _refusing_for(name: str) -> Iterator[None]:
    """Say of which task it is that a model cannot do what is asked."""
    try:
        yield
    except ConfigError as error:
        told = [Problem(f"task.tasks.{name}: {each.message}", each.details) for each in error.problems]
        raise ConfigError(told, subject="the model") from error


def _put_beside(owner: nn.Module, name: str) -> None:
    """Keep a module out of those of its owner, among which it would be counted, moved and saved again."""
    vars(owner)[name] = owner._modules.pop(name)


def _size(model: nn.Module) -> int:
    return sum(torch.numel(parameter) for parameter in model.parameters())
