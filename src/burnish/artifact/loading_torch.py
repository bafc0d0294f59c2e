"""Rebuilds the network of an artifact, ready to infer."""

from pathlib import Path

from burnish.engine.device_torch import prepare
from burnish.engine.evaluate import Infer
from burnish.engine.infer_torch import Inference
from burnish.engine.memory_torch import Memory
from burnish.spec.experiment import Experiment, Runtime
from burnish.spec.values import Profile


def load_infer(folder: Path, experiment: Experiment, profile: Profile, *, runtime: Runtime) -> Infer:
    """Load weights from an artifact's model folder."""
    precision = prepare(runtime)
    head = experiment.task.head(profile)
    network = experiment.model.load(folder, head).to(precision.device)
    answer, memory = Inference(network, precision, head).infer, Memory()
    return lambda batch: memory.answer(answer, lambda infer: infer(batch), step=0)
