"""Writes the networks of an artifact as ONNX graphs, straight from torch, with any number of rows and tokens."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from burnish.artifact.onnx_graph import PLACES, GraphSpec
from burnish.engine.infer_torch import inputs_of
from burnish.errors import ServeError
from burnish.export.trees import write_trees
from burnish.extras import require
from burnish.models.tabular.blend_torch import Blend
from burnish.models.tabular.boosted_trees_torch import BoostedTrees
from burnish.models.transformers.heads_torch import ChoiceNetwork, PlacesNetwork, PretrainingNetwork
from burnish.models.transformers.hf_logging_torch import quiet
from burnish.models.transformers.language_torch import PermutationNetwork, ReplacedNetwork
from burnish.models.transformers.seq2seq_torch import Seq2SeqNetwork
from burnish.models.transformers.span_beam_torch import BeamNetwork
from burnish.models.transformers.vectors_torch import EmbeddingNetwork
from burnish.spec.values import Batch, TableInputs

Form = Literal["rows", "places", "choices", "sides"]
_OPSET = 20
_OF_COLUMNS = ("numbers", "categories", "wide")
"""Inputs whose second dimension is a number of columns, and not a length."""


def write_graph(network: nn.Module, batch: Batch, path: Path) -> GraphSpec:
    """Write one graph, traced with a batch of at least two rows; refuse a network that cannot be written."""
    if isinstance(network, PretrainingNetwork | PermutationNetwork | ReplacedNetwork):
        raise ServeError(
            f"a network for pre-training ({network.head.kind}) is not exported; fine-tune it for a task and export that"
        )
    if isinstance(network, Seq2SeqNetwork):
        raise ServeError(
            "a network that writes texts token by token (task seq2seq) is not exported; serve it as it is, "
            "or export its model folder with optimum"
        )
    if isinstance(network, BeamNetwork):
        raise ServeError("answers found by a beam (task.search: beam) are not exported; train with task.search: pairs")
    if isinstance(network, Blend):
        raise ServeError("a blend (model: auto) is not exported; serve it as it is, or train with model=gbdt to export")
    if isinstance(network, BoostedTrees):
        return write_trees(network.text, network.head.inputs or TableInputs(), path)
    form = _form(network)
    given = {name: torch.tensor(values) for name, values in _shaped(batch, form).items()}
    taken = {name: each for name, each in inputs_of(given).items() if _is_read(network, name, form)}
    any_size = torch.export.Dim.DYNAMIC
    shapes = [
        {0: any_size} if each.ndim == 1 or name in _OF_COLUMNS else {0: any_size, 1: any_size}
        for name, each in taken.items()
    ]
    # Outside of inference mode, where attention without padding would look at lengths that a graph cannot know.
    with _silent(), torch.inference_mode(False), torch.no_grad():
        torch.onnx.export(
            _Traced(network, tuple(taken), form).eval(),
            tuple(taken.values()),
            path,
            input_names=list(taken),
            output_names=["logits"],
            dynamic_shapes=(tuple(shapes),),
            opset_version=_OPSET,
            external_data=False,
            verbose=False,
        )
    _forget_origin(path)
    return GraphSpec(file=path.name, form=form, inputs=tuple(name for name in taken if name != PLACES))


class _Traced(nn.Module):
    """A network with tensors for arguments, which a graph can have."""

    def __init__(self, network: nn.Module, names: tuple[str, ...], form: Form) -> None:
        super().__init__()
        self.network = network
        self.names = names
        self.form = form

    def forward(self, *tensors: Tensor) -> Tensor:
        batch = dict(zip(self.names, tensors, strict=True))
        network: Any = self.network
        if self.form == "choices":
            scores: Tensor = network.run({name: tensor[:, None] for name, tensor in batch.items()}).logits.flatten()
            return scores
        if self.form == "sides":
            vectors: Tensor = network.embed(batch)
            return vectors
        logits: Tensor = network(batch)
        return logits.float()


def _form(network: nn.Module) -> Form:
    if isinstance(network, PlacesNetwork):
        return "places"
    if isinstance(network, ChoiceNetwork):
        return "choices"
    return "sides" if isinstance(network, EmbeddingNetwork) else "rows"


def _shaped(batch: Batch, form: Form) -> Batch:
    if form == "places":
        return {**batch, PLACES: batch["scored"].ravel().nonzero()[0]}
    if form == "choices":
        return {name: values[batch["choices"]] for name, values in batch.items() if values.ndim == 3}
    return {name: values[:, 0] for name, values in batch.items() if values.ndim == 3} if form == "sides" else batch


def _is_read(network: nn.Module, name: str, form: Form) -> bool:
    """Tell whether a network reads an input; one that nothing reads would not be in the graph."""
    if name in ("group", "choices"):
        return False
    if name == PLACES:
        return form == "places"
    accepted = getattr(network, "inputs", None)
    is_of_tokens = name in ("input_ids", "attention_mask", "token_type_ids", "position_ids", "inputs_embeds")
    return accepted is None or not is_of_tokens or name in accepted


@contextmanager
def _silent() -> Iterator[None]:
    """Keep the exporter's notes to its developers from the screen."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    with quiet(), warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logger.setLevel(level)


def _forget_origin(path: Path) -> None:
    """Take out where each node came from: half of a small file, with the folders of this machine."""
    onnx = require("onnx", extra="onnx", why="to export a model")
    model = onnx.load(path)
    graph = model.graph
    for part in (graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        del part.metadata_props[:]
    onnx.save(model, path)
