"""What the figures were taken on, as lines of Markdown."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from burnish.dist.world import available_cores
from burnish.launch.local import allocator_settings
from burnish.run.environment_torch import environment
from burnish.run.machine import memory_limit
from burnish.spec.experiment import Runtime

_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_tile")
_PEERS = ("accelerate", "datasets")
_ALLOCATION = ("LD_PRELOAD", "GLIBC_TUNABLES")


def machine() -> list[str]:
    """Describe processor, memory, libraries and allocator."""
    told = environment(Runtime())
    facts = {
        "processor": f"{told['processor']} ({', '.join(flags()) or 'no vector flags known'})",
        "cores": f"{available_cores()} of {os.cpu_count()}",
        "memory": f"{(memory_limit() or 0) / 2**30:.0f} GiB",
        "device, precision by default": f"{told['device']}, {told['precision']}",
        "threads by default": told["threads"],
        "allocator": allocator(),
        "libraries": ", ".join(f"{name} {told[name]}" for name in ("python", "torch", "transformers", "tokenizers")),
        "peers": ", ".join(f"{name} {_version(name)}" for name in _PEERS),
    }
    return ["| | |", "| --- | --- |", *(f"| {name} | {fact} |" for name, fact in facts.items())]


def flags(path: Path = Path("/proc/cpuinfo")) -> list[str]:
    """Name the vector instructions that decide how fast matrices are multiplied."""
    if not path.is_file():
        return []
    line = next((line for line in path.read_text().splitlines() if line.startswith("flags")), "")
    return [flag for flag in _FLAGS if flag in line.split()]


def allocator() -> str:
    """Name the allocator, what this process was started with, and what the launcher gives our own workers besides."""
    asked = [f"{name}={Path(os.environ[name]).name}" for name in _ALLOCATION if os.environ.get(name)]
    asked += sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("MALLOC_"))
    given = " ".join(f"{name}={value}" for name, value in allocator_settings(os.environ).items())
    here = " ".join([*platform.libc_ver(), *asked]).strip() or "that of the system"
    return f"{here}; Burnish's workers also `{given}`" if given else here


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
