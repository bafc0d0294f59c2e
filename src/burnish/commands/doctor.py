"""`burnish doctor`: what is installed, what this machine has and what a run here would take, for a report of a bug."""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from burnish import __version__
from burnish.artifact.variants import processor
from burnish.data.cache.features import cache_root, open_cache
from burnish.data.cache.sizes import write_size
from burnish.dist.world import available_cores
from burnish.errors import BurnishError
from burnish.extras import EXTRAS
from burnish.run.machine import disk_free, memory_limit

_CHILD = "import json; from burnish.run.environment_torch import choices; print(json.dumps(choices()))"
_CHILD_SECONDS = 300
_HUB_SECONDS = 10
_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra == .(\w+).")


@dataclass(frozen=True)
class Extra:
    """An optional part of Burnish."""

    name: str
    brings: str
    missing: tuple[str, ...]
    """Packages of it that are not installed."""


@dataclass(frozen=True)
class Diagnosis:
    """What a reader of a bug report asks for first."""

    versions: Mapping[str, str]
    machine: Mapping[str, str]
    choices: Mapping[str, str]
    """What a run takes where its experiment says auto; empty if torch cannot be loaded."""
    extras: tuple[Extra, ...]
    faults: tuple[str, ...]
    """What keeps runs from working here."""


def diagnose(*, asks_hub: bool = False) -> Diagnosis:
    """Look at this machine and installation; only with `asks_hub` is the network used."""
    required: set[str] = set()
    extras: dict[str, set[str]] = {}
    for line in (requires("burnish") or []) if _version("burnish") != "missing" else ():
        name, extra = _NAME.match(line), _EXTRA.search(line)
        if name:
            (extras.setdefault(extra[1], set()) if extra else required).add(name[0])
    versions = {name: _version(name) for name in sorted(required)}
    found, fault = _choices()
    faults = [f"{name} is not installed" for name, number in versions.items() if number == "missing"]
    return Diagnosis(
        versions={"burnish": __version__, "python": platform.python_version(), **versions},
        machine={**_machine(), **({"hub": _hub()} if asks_hub else {})},
        choices=found,
        extras=tuple(
            Extra(name, brings, tuple(each for each in sorted(extras.get(name, ())) if _version(each) == "missing"))
            for name, brings in EXTRAS.items()
        ),
        faults=(*faults, *([fault] if fault else [])),
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _machine() -> dict[str, str]:
    memory = memory_limit()
    return {
        "system": platform.platform(),
        "processor": processor(),
        "cores": f"{available_cores()} of {os.cpu_count()}",
        "memory": "unknown" if memory is None else write_size(memory),
        "disk": f"{write_size(disk_free(Path()))} free here",
        "cache": _cache(),
    }


def _cache() -> str:
    try:
        cache = open_cache()
        held = sum(entry.num_bytes for entry in cache.entries())
        return f"{cache_root()}: {write_size(held)} of {write_size(cache.max_bytes)}, {_disk(cache_root())}"
    except (BurnishError, OSError) as error:
        return f"cannot be used: {error}"


def _disk(path: Path) -> str:
    can_write = os.access(next(each for each in (path, *path.absolute().parents) if each.exists()), os.W_OK)
    return f"{write_size(disk_free(path))} free" if can_write else "not writable"


def _choices() -> tuple[dict[str, str], str | None]:
    """Ask torch in a process of its own: a broken one may end it without a word."""
    try:
        answer = subprocess.run(
            [sys.executable, "-c", _CHILD], capture_output=True, text=True, timeout=_CHILD_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {}, f"torch was not loaded within {_CHILD_SECONDS} s"
    if answer.returncode == 0:
        found: dict[str, str] = json.loads(answer.stdout.splitlines()[-1])
        return found, None
    last = (answer.stderr.strip().splitlines() or [f"its process ended with {answer.returncode}"])[-1]
    return {}, f"torch cannot be used: {last}"


def _hub() -> str:
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return f"{constants.ENDPOINT} is not asked: HF_HUB_OFFLINE is set"
    try:
        status = get_session().get(f"{constants.ENDPOINT}/api/models?limit=1", timeout=_HUB_SECONDS).status_code
    except Exception as error:  # of whatever client the hub uses
        return f"{constants.ENDPOINT} cannot be reached: {type(error).__name__}: {error}"
    return f"{constants.ENDPOINT} answers" if status == 200 else f"{constants.ENDPOINT} answers with {status}"
