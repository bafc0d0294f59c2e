"""Sets a contest up: the plan that all contestants read, the weights they begin with, and who may take part."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.harness.contest import Entrant
from bench.harness.sample import Sample, num_threads, take_sample
from burnish.config import Resolved
from burnish.models.transformer import Freeze, Transformer
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan
from burnish.spec.experiment import Experiment

_OURS = "bench.harness.ours"
_PEERS = "bench.harness.peers_torch"


@dataclass(frozen=True)
class Stage:
    """A sample of an experiment, ready to be raced on."""

    request: Mapping[str, Any]
    threads: int
    precision: str
    device: str
    num_examples: int
    forward_flops: float | None
    """Of the whole sample, padding left out; None when it is not known."""
    no_peers: str | None
    """Why transformers cannot do the same, if so."""

    def ours(self, function: str, *, processes: int = 1) -> Entrant:
        """Let Burnish `train`, `score` or `answer`."""
        return Entrant(f"{_OURS}:{function}", self.request, processes=processes)

    def peer(self, function: str, *, processes: int = 1, **flags: Any) -> Entrant:
        """Let transformers `train`, `predict` or `pipe`, with these flags."""
        return Entrant(f"{_PEERS}:{function}", {**self.request, **flags}, is_ours=False, processes=processes)

    def roof(self, precision: str) -> Entrant:
        """Multiply matrices, for the peak of this machine."""
        request = {"threads": self.threads, "precision": precision, "device": self.device}
        return Entrant("bench.harness.roof_torch:multiply", request)


@contextmanager
def staged(resolved: Resolved, *, rows: int) -> Iterator[Stage]:
    """Plan an experiment in a folder that goes away, encode its data, and write its model for the peers."""
    from burnish.run.environment_torch import environment

    with tempfile.TemporaryDirectory(prefix="burnish-bench-") as name:
        run, model = RunDirectory(Path(name, "run")), Path(name, "model")
        settle_plan(run, resolved)
        experiment = resolved.experiment
        request = {"directory": str(run.path), "rows": rows, "model": str(model)}
        sample = take_sample(request)
        no_peers = _why_no_peers(experiment)
        told = environment(experiment.settled_runtime)
        yield Stage(
            request={**request, "max_length": getattr(experiment.task, "max_length", None)},
            threads=num_threads(experiment),
            precision=told["precision"],
            device=told["device"],
            num_examples=len(sample.lengths),
            forward_flops=None if no_peers else _plain_model(sample, model),
            no_peers=no_peers,
        )


def _plain_model(sample: Sample, folder: Path) -> float:
    from bench.harness.peers_torch import write_plain_model
    from bench.harness.roof_torch import forward_flops

    write_plain_model(sample.scorer, folder)
    return forward_flops(folder, sample.lengths)


def _why_no_peers(experiment: Experiment) -> str | None:
    model = experiment.model
    if not isinstance(model, Transformer):
        return "Trainer has no model of this kind"
    if model.lora is not None or model.freeze != Freeze():
        return "Trainer would train all weights, but this experiment trains only some of them"
    if find_spec("accelerate") is None:
        return "Trainer needs the package accelerate: pip install accelerate"
    return None
