"""What may be named as a machine, an accelerator or an image, what older names mean today, and what cannot work."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from burnish.nearest import nearest

ACCELERATORS = (
    *("NVIDIA_TESLA_T4", "NVIDIA_TESLA_P4", "NVIDIA_TESLA_P100", "NVIDIA_TESLA_V100", "NVIDIA_TESLA_A100"),
    *("NVIDIA_A100_80GB", "NVIDIA_L4", "NVIDIA_H100_80GB", "NVIDIA_H100_MEGA_80GB", "NVIDIA_H200_141GB"),
    *("NVIDIA_B200", "NVIDIA_GB200", "NVIDIA_RTX_PRO_6000"),
)
NO_TPU = "names a TPU, and TPUs are not supported; choose CPUs or GPUs, like n1-standard-8 with NVIDIA_TESLA_T4"
NEEDS_PYTHON, NEEDS_TORCH = (3, 11), (2, 6)

_MACHINE = re.compile(r"[a-z][a-z0-9]*-[a-z0-9]+(-[a-z0-9]+)*")
_TPU = re.compile(r"tpu|^ct[0-9]", re.IGNORECASE)
_PYTHON_TAG = re.compile(r"py(?:thon)?[-_:]?(3)\.?(\d{1,2})(?!\d)")
_TORCH_TAG = re.compile(r"torch(?:-(?:gpu|cpu|xla))?[-.:/_]*v?(\d)[.-](\d{1,2})(?!\d)")


@dataclass(frozen=True)
class Machine:
    """A machine with its accelerators."""

    type: str
    accelerator: str | None = None
    accelerators: int = 0


_T4, _P100, _V100 = "NVIDIA_TESLA_T4", "NVIDIA_TESLA_P100", "NVIDIA_TESLA_V100"
OLDER: Mapping[str, Machine] = {
    "basic": Machine("n1-standard-4"),
    "basic_gpu": Machine("n1-standard-8", _T4, 1),
    "standard_1": Machine("n1-standard-8"),
    "standard": Machine("n1-standard-4"),
    "large_model": Machine("n1-highmem-8"),
    "complex_model_s": Machine("n1-highcpu-8"),
    "complex_model_m": Machine("n1-highcpu-16"),
    "complex_model_l": Machine("n1-highcpu-32"),
    "standard_gpu": Machine("n1-standard-8", _T4, 1),
    "complex_model_m_gpu": Machine("n1-standard-16", _T4, 4),
    "complex_model_l_gpu": Machine("n1-standard-32", _T4, 4),
    "standard_p100": Machine("n1-standard-8", _P100, 1),
    "complex_model_m_p100": Machine("n1-standard-16", _P100, 4),
    "standard_v100": Machine("n1-standard-8", _V100, 1),
    "large_model_v100": Machine("n1-highmem-8", _V100, 1),
    "complex_model_m_v100": Machine("n1-standard-16", _V100, 4),
    "complex_model_l_v100": Machine("n1-standard-32", _V100, 8),
}
"""Scale tiers and machine types of AI Platform Training, and machines of today that do the same work.

Its K80 accelerators are gone; a T4 takes their place, and four T4 are the most of one machine.
"""


def read_machine(name: str) -> str:
    """Accept a machine type of today or an older name; raise a ValueError that says what exists."""
    if _TPU.search(name):
        raise ValueError(NO_TPU)
    if name.lower() == "custom":
        raise ValueError("CUSTOM is no machine; write the masterType here, like n1-standard-8")
    if name.lower() in OLDER or _MACHINE.fullmatch(name):
        return name
    close = nearest(name.lower(), OLDER)
    guess = f"Did you mean `{close}`?" if close else f"Older names that are known: {', '.join(OLDER)}."
    raise ValueError(f"must be a machine type, like n1-standard-8 or g2-standard-12. {guess}")


def read_accelerator(name: str) -> str:
    """Accept an accelerator as the service or its older tools write it, or by the end of its name."""
    if _TPU.search(name):
        raise ValueError(NO_TPU)
    written = name.upper().replace("-", "_")
    found = [each for each in ACCELERATORS if written in (each, each.removeprefix("NVIDIA_").removeprefix("TESLA_"))]
    if not found:
        raise ValueError(f"must be one of {', '.join(ACCELERATORS)}")
    return found[0]


def explain_image(image: str) -> str | None:
    """Say why Burnish cannot run in an image, as far as its name tells; None if nothing speaks against it."""
    for what, pattern, needed in (("Python", _PYTHON_TAG, NEEDS_PYTHON), ("torch", _TORCH_TAG, NEEDS_TORCH)):
        found = pattern.search(image)
        if found and (int(found[1]), int(found[2])) < needed:
            has, wants = f"{found[1]}.{found[2]}", ".".join(map(str, needed))
            return f"has {what} {has} by its name, and Burnish needs {wants} or newer; `burnish image build` makes one"
    return None
