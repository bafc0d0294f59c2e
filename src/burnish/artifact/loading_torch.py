"""Rebuilds the network of an artifact, ready to infer."""

from pathlib import Path

from burnish.data.tokens.tokens import DESCRIPTION, TextAssets
from burnish.engine.device_torch import prepare
from burnish.engine.evaluate import Infer
from burnish.engine.infer_torch import Inference
from burnish.engine.memory_torch import Memory
from burnish.spec.experiment import Experiment, Runtime
from burnish.spec.protocols import Assets
from burnish.spec.values import Profile


def load_infer(folder: Path, experiment: Experiment, profile: Profile, *, runtime: Runtime) -> tuple[Infer, Assets]:
    """Load weights, and the tokenizer if there is one, from an artifact's model folder."""
    precision = prepare(runtime)
    head = experiment.task.head(profile)
    network = experiment.model.load(folder, head).to(precision.device)
    answer, memory = Inference(network, precision, head).infer, Memory()
    # A model without a tokenizer leaves no file of one, and makes its assets anew from nothing.
    has_tokenizer = (folder / DESCRIPTION).is_file()
    assets = TextAssets.load(folder) if has_tokenizer else experiment.model.assets()
    return lambda batch: memory.answer(answer, lambda infer: infer(batch), step=0), assets
