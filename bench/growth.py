"""Time and memory of a whole run at 1, 4 and 16 times the rows: reading, splitting, encoding, an epoch, scores, report.

Memory is the largest that any process of the run had, mapped files included. A second start on the same data shows
what the cache saves.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from burnish.testing.tiny_torch import tiny_model

WORDS = ("a", "bad", "boring", "cast", "cold", "dull", "film", "fine", "good", "is", "plot", "story", "the", "warm")
TIMES = (1, 4, 16)


def main() -> None:
    """Print a line for each size, cold and warm, and the ratios to the smallest."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        root = Path(folder)
        model = tiny_model(root / "model", texts=(" ".join(WORDS),))
        first: dict[str, float] = {}
        for times in TIMES:
            data = root / f"{times}.{arguments.format}"
            size = _write(data, arguments.megabytes * times)
            for start in ("cold", "warm"):
                seconds, peak = _train(root, data, model, name=f"{times}-{start}", steps=arguments.steps)
                base = first.setdefault(start, peak)
                print(
                    f"{times:>2}x {start}: {size / 1e6:6.0f} MB of text, {seconds:6.1f} s, "
                    f"{peak / 1024:6.0f} MB of memory, {peak / base:.2f} of 1x",
                    flush=True,
                )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=20, help="size of the smallest data set")
    parser.add_argument("--format", choices=("csv", "jsonl"), default="csv")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--scratch", type=Path, default=None, help="where to put data and cache")
    return parser.parse_args()


def _write(path: Path, megabytes: float) -> int:
    block = [*_rows(2000)]
    is_csv = path.suffix == ".csv"
    lines = [
        f'"{text}",{label}\n' if is_csv else json.dumps({"text": text, "label": label}) + "\n" for text, label in block
    ]
    written = "".join(lines)
    with path.open("w", encoding="utf-8") as file:
        file.write("text,label\n" if is_csv else "")
        for _ in range(max(1, round(megabytes * 1e6 / len(written)))):
            file.write(written)
    return path.stat().st_size


def _rows(count: int) -> Iterator[tuple[str, int]]:
    chance = random.Random(0)
    for number in range(count):
        yield " ".join(chance.choices(WORDS, k=chance.randint(20, 400))), number % 2


def _train(root: Path, data: Path, model: Path, *, name: str, steps: int) -> tuple[float, float]:
    options = [
        "task.type=text_classification",
        "task.max_length=64",
        f"data.train={data}",
        "data.split.validation=1000",
        f"model.name={model}",
        f"train.length={steps} steps",
    ]
    experiment = root / "experiment.yaml"
    experiment.write_text("name: growth\ntask: {type: text_classification}\n")
    argv = [sys.executable, "-m", "burnish", "train", str(experiment), *options, "--dir", str(root / name), "--quiet"]
    began = time.perf_counter()
    process = subprocess.Popen(
        argv, env={**os.environ, "BURNISH_CACHE": str(root / "cache")}, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)  # counts the worker too, for its parent has waited for it
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(argv)} ended with {process.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss


if __name__ == "__main__":
    main()
