"""Memory does not grow with the data: the same work on 1, 4 and 16 times the rows."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

CASE = Path(__file__).with_name("growing_case.py")
WORDS = [f"w{number}" for number in range(50)]


def row(number: int, random: random.Random) -> str:
    words = [random.choice(WORDS) + "x" * random.choice([0, 0, 1000]) for _ in range(random.randint(10, 40))]
    return " ".join(words)


def csv_rows(texts: list[str]) -> tuple[str, str]:
    return "text,label\n", "".join(f'"{text}",{number % 2}\n' for number, text in enumerate(texts))


def json_rows(texts: list[str]) -> tuple[str, str]:
    lines = [json.dumps({"text": text, "label": number % 2}) + "\n" for number, text in enumerate(texts)]
    return "", "".join(lines)


def peak(data: Path, scratch: Path) -> dict[str, object]:
    scratch.mkdir(exist_ok=True)
    environment = {**os.environ, "BURNISH_CACHE": str(data.parent / "cache")}
    done = subprocess.run(
        [sys.executable, str(CASE), str(data), str(scratch)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("suffix", "write"), [("csv", csv_rows), ("jsonl", json_rows)])
def test_memory_at_sixteen_times_the_rows_is_that_of_one(tmp_path, suffix, write):
    header, block = write([row(number, random.Random(number)) for number in range(600)])
    peaks = {}
    for times in (1, 16):
        data = tmp_path / f"{times}.{suffix}"
        with data.open("w") as file:
            file.write(header)
            file.writelines(block for _ in range(times))
        told = peak(data, tmp_path / str(times))
        assert told["rows"] == 480 * times
        peaks[times] = told["peak"]
    assert data.stat().st_size > 0.25 * 1024 * peaks[1]  # or the ratio would show nothing
    assert peaks[16] < 1.2 * peaks[1]
