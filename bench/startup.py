"""How long it takes until something is said: a help page, a refusal, the first step of a training."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from bench.harness.blocks import compare_rates
from bench.harness.pairs import take_turns
from bench.tables import spread
from burnish.commands.bench import Spread

_PYTHON, _TORCH = "`python -c pass`", "`python -c 'import torch'`"
_BURNISH = [sys.executable, "-m", "burnish"]


def startup(experiment: str = "demo/reviews", *, rounds: int, tell: Callable[[str], None]) -> Iterator[str]:
    """Start each in turn; the first step of a training is seen with a warm cache, as the first turn is not kept."""
    tell("start-up")
    commands: dict[str, Callable[[], float]] = {
        _PYTHON: lambda: _seconds([sys.executable, "-c", "pass"]),
        _TORCH: lambda: _seconds([sys.executable, "-c", "import torch"]),
        "`burnish --help`": lambda: _seconds([*_BURNISH, "--help"]),
        "an experiment that is refused": lambda: _seconds([*_BURNISH, "train", experiment, "train.lenght=1 epoch"]),
        f"first step of `burnish train {experiment}`": lambda: first_step(experiment),
    }
    results = take_turns(commands, rounds=rounds, tell=tell)
    yield f"| what | seconds | times {_PYTHON} | times {_TORCH} |"
    yield "| --- | ---: | ---: | ---: |"
    for name, seconds in results.items():
        ratios = [spread(compare_rates(seconds, results[each]), 1, unit="x") for each in (_PYTHON, _TORCH)]
        yield f"| {name} | {spread(Spread.of(seconds), 2)} | {' | '.join(ratios)} |"


def first_step(experiment: str, *, overrides: tuple[str, ...] = ()) -> float:
    """Tell the seconds from the command to its first step; then stop the run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*_BURNISH, "train", experiment, *overrides, "--json", "--dir", str(Path(folder, "run"))]
        began = perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if json.loads(line).get("event") == "stepped":
                    return perf_counter() - began
        finally:
            process.terminate()
            process.communicate()
    raise RuntimeError(f"{' '.join(command)} ended before its first step")


def _seconds(command: list[str]) -> float:
    began = perf_counter()
    subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""})
    return perf_counter() - began
