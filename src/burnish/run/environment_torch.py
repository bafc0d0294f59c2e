"""What the numbers of a run depend on besides its experiment: machine, libraries, threads."""

import platform
from importlib.metadata import version
from pathlib import Path

import torch

from burnish import __version__
from burnish.engine.device_torch import prepare
from burnish.spec.experiment import Runtime

_LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "pyarrow")


def environment(runtime: Runtime) -> dict[str, str]:
    """Describe this process; values are words, for people and for comparing two runs."""
    precision = prepare(runtime)
    return {
        "burnish": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _LIBRARIES},
        "system": platform.platform(),
        "processor": _processor(),
        "device": str(precision.device),
        "precision": precision.name,
        "threads": str(torch.get_num_threads()),
    }


def choices() -> dict[str, str]:
    """Describe what a run here takes where its experiment says auto, and the GPUs there are."""
    # It imports transformers, which takes three times as long as torch and which a run on a table never needs.
    from burnish.models.transformers.attention_torch import auto_attention

    found = environment(Runtime())
    gpus = [torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count())]
    return {
        **{name: found[name] for name in ("device", "precision", "threads")},
        "attention": f"{auto_attention()}, for models that have the fused kernel",
        "GPUs": ", ".join(f"{g.name} ({g.total_memory >> 30} GiB, sm_{g.major}{g.minor})" for g in gpus) or "none",
    }


def _processor(path: Path = Path("/proc/cpuinfo")) -> str:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
