"""Answers batches with ONNX graphs: numpy in, numpy out, and no torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from burnish.artifact.onnx_file import refuse_outside_data
from burnish.extras import require
from burnish.spec.values import Array, Batch, HeadSpec

BEST_GUESSES = 5
PLACES = "scored"
"""The input that names the scored places, as positions over all rows."""


class GraphSpec(BaseModel):
    """A graph of one task, and what is done around it."""

    model_config = ConfigDict(frozen=True)

    file: str
    form: Literal["rows", "places", "choices", "sides"]
    """`rows` are answered as they are; `places` also takes the scored places; of `choices` it takes those that exist,
    and of `sides` one text of each row after the other."""
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class OnnxInference:
    """The graphs of all groups of batches, ready to answer."""

    graphs: Sequence[tuple[GraphSpec, Callable[[Batch], Array]]]
    head: HeadSpec

    @classmethod
    def load(cls, folder: Path, specs: Sequence[GraphSpec], head: HeadSpec, *, threads: int) -> "OnnxInference":
        """Open the graphs of a folder."""
        runtime = require_runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        # Threads that wait by spinning take the cores from whatever else runs here, their own work included.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.load_model_format", "ONNX")  # the one whose bytes are checked
        return cls([(spec, _session(runtime, folder / spec.file, options)) for spec in specs], head)

    def infer(self, batch: Batch) -> Array:
        """Give what is kept of the answers to a batch, in float32."""
        group = int(batch["group"][0]) if "group" in batch else 0
        (spec, run), head = self.graphs[group], self.head.of_group(group)
        taken = {name: batch[name] for name in spec.inputs if name in batch}
        if spec.form == "choices":
            choices = batch["choices"]
            logits = np.full(choices.shape, -np.inf, np.float32)
            logits[choices] = run({name: values[choices] for name, values in taken.items()})
            return logits
        if spec.form == "sides":
            mask = taken["attention_mask"]
            vectors = []
            for side in range(mask.shape[1]):
                used = mask[:, side].any(axis=0)
                vectors.append(run({name: values[:, side][:, used] for name, values in taken.items()}))
            first, *others = vectors
            if head.options["output"] != "cosine":
                return np.concatenate([first / np.float32(head.options["temperature"]), *others], axis=1)
            low, high = head.options["scale"]
            lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(others[0], axis=1)
            cosines = (first * others[0]).sum(axis=1) / np.maximum(lengths, np.float32(1e-8))
            return np.asarray(cosines[:, None] * np.float32(high - low) + np.float32(low))
        if spec.form == "places":
            taken[PLACES] = np.flatnonzero(batch["scored"])
        logits = run(taken)
        return _likelihood(logits, batch, head) if head.answer == "likelihood" else logits


def require_runtime() -> ModuleType:
    """Import what computes graphs, or say which extra brings it."""
    return require("onnxruntime", extra="onnx", why="to answer with an ONNX graph")


def _session(runtime: Any, path: Path, options: Any) -> Callable[[Batch], Array]:
    content = path.read_bytes()
    refuse_outside_data(content, source=path)
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return lambda feeds: np.asarray(session.run(None, dict(feeds))[0])


def _likelihood(logits: Array, batch: Batch, head: HeadSpec) -> Array:
    """Give how unlikely each truth was and whether it was the first guess; without truth, the best guesses."""
    top = logits.max(axis=1, keepdims=True)
    logarithms = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    if "label" in batch:
        labels = batch["label"][batch["scored"]][:, None]
        right = logits.argmax(axis=1)[:, None] == labels
        return np.concatenate([-np.take_along_axis(logarithms, labels, axis=1), right], axis=1).astype(np.float32)
    best = np.argsort(-logarithms, axis=1, kind="stable")[:, : int(head.options.get("best", BEST_GUESSES))]
    return np.concatenate([best.astype(np.float32), np.take_along_axis(logarithms, best, axis=1)], axis=1)
