"""Machines and their accelerators: which go together, what older names mean today, and which images cannot work."""

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


_L4, _A100, _A100_80GB, _H100 = "NVIDIA_L4", "NVIDIA_TESLA_A100", "NVIDIA_A100_80GB", "NVIDIA_H100_80GB"
_BUILT_IN: Mapping[str, tuple[str, int]] = {
    # The first machine with a number of accelerators is chosen where only the accelerator is named.
    **{f"g2-standard-{cpus}": (_L4, 1) for cpus in (8, 4, 12, 16, 32)},
    **{f"g2-standard-{cpus}": (_L4, cpus // 12) for cpus in (24, 48, 96)},
    **{f"a2-highgpu-{count}g": (_A100, count) for count in (1, 2, 4, 8)},
    "a2-megagpu-16g": (_A100, 16),
    **{f"a2-ultragpu-{count}g": (_A100_80GB, count) for count in (1, 2, 4, 8)},
    **{f"a3-highgpu-{count}g": (_H100, count) for count in (1, 2, 4, 8)},
    "a3-edgegpu-8g": (_H100, 8),
    "a3-megagpu-8g": ("NVIDIA_H100_MEGA_80GB", 8),
    "a3-ultragpu-8g": ("NVIDIA_H200_141GB", 8),
    "a4-highgpu-8g": ("NVIDIA_B200", 8),
    "a4x-highgpu-4g": ("NVIDIA_GB200", 4),
    **{f"g4-standard-{48 * count}": ("NVIDIA_RTX_PRO_6000", count) for count in (1, 2, 4, 8)},
}
"""Machines that have their accelerators built in: which, and how many. Vertex AI wants both said in the request."""
_ADDED_TO_N1: Mapping[str, tuple[int, ...]] = {
    _T4: (1, 2, 4),
    "NVIDIA_TESLA_P4": (1, 2, 4),
    _P100: (1, 2, 4),
    _V100: (1, 2, 4, 8),
}
"""Accelerators that are added to machines of the series N1, and how many of them a machine may have."""
_DEFAULT = "n1-standard-4"
_WITHOUT_PD_SSD = re.compile(r"a3-ultragpu|(a4|a4x|c3|c3d|c4|c4a|c4d|g4|h3|h4d|m4|n4|n4a|n4d|x4)-")
"""Machines that boot from Hyperdisk: the newer series have no `pd-ssd`, or not with every machine."""


def choose_machine(name: str | None, accelerator: str | None, count: int) -> Machine:
    """Find the machine that options mean; raise a ValueError where machine and accelerator do not go together.

    A machine with accelerators built in says which; an accelerator that only such machines have says the machine.
    """
    if name is None and accelerator is not None and accelerator not in _ADDED_TO_N1:
        return _choose_by_accelerator(accelerator, count)
    older = OLDER.get((name or _DEFAULT).lower(), Machine(name or _DEFAULT))
    if older.type in _BUILT_IN:
        return _check_built_in(older.type, accelerator, count)
    kind = accelerator or older.accelerator
    if kind is None:
        if count:
            raise ValueError(f"has {count} `accelerators` of no kind; set `accelerator`, like NVIDIA_L4")
        return older
    if kind not in _ADDED_TO_N1:
        raise ValueError(f"{kind} is not added to {older.type}; it comes with {', '.join(_with_accelerator(kind))}")
    if not older.type.startswith("n1-"):
        raise ValueError(f"{kind} is only added to machines like n1-standard-8, and `machine` is {older.type}")
    found = count or (older.accelerators if accelerator is None else 1)
    if found not in _ADDED_TO_N1[kind]:
        numbers = ", ".join(map(str, _ADDED_TO_N1[kind]))
        raise ValueError(f"a machine has {numbers} {kind}, and `accelerators` is {found}")
    return Machine(older.type, kind, found)


def boot_disk(machine: str) -> str:
    """Name the type of disk that a machine starts from."""
    return "hyperdisk-balanced" if _WITHOUT_PD_SSD.match(machine) else "pd-ssd"


def _choose_by_accelerator(accelerator: str, count: int) -> Machine:
    for machine, (kind, number) in _BUILT_IN.items():
        if kind == accelerator and number == (count or number):
            return Machine(machine, kind, number)
    numbers = sorted({number for kind, number in _BUILT_IN.values() if kind == accelerator})
    several = ", ".join(map(str, numbers))
    raise ValueError(f"a machine has {several} {accelerator}, and `accelerators` is {count}")


def _check_built_in(machine: str, accelerator: str | None, count: int) -> Machine:
    kind, number = _BUILT_IN[machine]
    if accelerator not in (None, kind):
        machines = ", ".join(_with_accelerator(accelerator))
        raise ValueError(f"{machine} has {number} {kind} and no {accelerator}, which comes with {machines}")
    if count not in (0, number):
        machines = ", ".join(_with_accelerator(kind))
        raise ValueError(f"{machine} has {number} {kind}, and `accelerators` is {count}; there are {machines}")
    return Machine(machine, kind, number)


def _with_accelerator(accelerator: str) -> list[str]:
    """List the machines that an accelerator comes with, and how many of it each has."""
    if accelerator in _ADDED_TO_N1:
        return ["machines like n1-standard-8"]
    return [f"{machine} ({number})" for machine, (kind, number) in _BUILT_IN.items() if kind == accelerator]


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
