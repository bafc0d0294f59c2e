"""How much processor time and memory a table takes, beside LightGBM and beside a loop over single rows.

Every turn is a process of its own with one thread, and they take turns. What counts is the processor time of each, for
that does not change when others use the machine; starting Python and importing libraries is left out on all sides.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.table_synthetic import write_table
from bench.tables import spread
from burnish.bench.pairs import Spread, take_turns

SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000), (2_000, 20_000)
LOOP_ROWS, QUICK_LOOP_ROWS = 50_000, 4_000
MODELS = ("linear", "wide_deep")

Turn = dict[str, Any]
Tell = Callable[[str], None]


def table_speed(folder: Path, *, rounds: int, is_quick: bool, tell: Tell) -> Iterator[str]:
    """Give two tables: against rows one by one, and against LightGBM as tables grow."""
    yield from _against_rows(folder, rounds=rounds, rows=QUICK_LOOP_ROWS if is_quick else LOOP_ROWS, tell=tell)
    yield ""
    yield from _growth(folder, rounds=rounds, sizes=QUICK_SIZES if is_quick else SIZES, tell=tell)


def _against_rows(folder: Path, *, rounds: int, rows: int, tell: Tell) -> Iterator[str]:
    file = write_table(folder / f"{rows}.csv", rows=rows)
    yield "| network, batches of 1,024 | rows a second of processor time | a Dataset of single rows | times as fast |"
    yield "| --- | ---: | ---: | ---: |"
    for model in MODELS:
        turns = _rounds({who: (who, str(file), model) for who in ("ours", "loop")}, rounds=rounds, tell=tell)
        ours, theirs = ([turn["rows"] / turn["stages"]["train"] for turn in turns[who]] for who in ("ours", "loop"))
        told = [spread(Spread.of(rates), 0) for rates in (ours, theirs)]
        yield f"| `{model}` | {told[0]} | {told[1]} | {spread(Spread.of_ratios(ours, theirs), 1, unit='x')} |"


def _growth(folder: Path, *, rounds: int, sizes: Sequence[int], tell: Tell) -> Iterator[str]:
    yield "| rows | read | train an epoch | evaluate | LightGBM | times its time | memory over the table | LightGBM's |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for size in sizes:
        file = write_table(folder / f"{size}.csv", rows=size)
        turns = _rounds({who: (who, str(file), "wide_deep") for who in ("ours", "trees")}, rounds=rounds, tell=tell)
        yield _grown(size, turns["ours"], turns["trees"])
        file.unlink()


def _grown(size: int, ours: Sequence[Turn], theirs: Sequence[Turn]) -> str:
    table = theirs[0]["table_bytes"]
    stages = [f"{_median(ours, name):.2f} s" for name in ("read", "train", "evaluate")]
    ratio = Spread.of_ratios([_total(turn) for turn in ours], [_total(turn) for turn in theirs])
    limits = [max(turn["memory"].values()) / table for turn in (ours[0], theirs[0])]
    their_time = f"{Spread.of([_total(turn) for turn in theirs]).median:.2f} s"
    cells = [f"{size:,}", *stages, their_time, spread(ratio, 2, unit="x"), *(f"{limit:.1f}x" for limit in limits)]
    return f"| {' | '.join(cells)} |"


def _median(turns: Sequence[Turn], stage: str) -> float:
    return Spread.of([turn["stages"][stage] for turn in turns]).median


def _total(turn: Turn) -> float:
    return float(sum(turn["stages"].values()))


def _rounds(asked: dict[str, tuple[str, ...]], *, rounds: int, tell: Tell) -> dict[str, list[Turn]]:
    return take_turns({who: _turn(words, tell) for who, words in asked.items()}, rounds=rounds, warmups=0)


def _turn(words: tuple[str, ...], tell: Tell) -> Callable[[], Turn]:
    def take() -> Turn:
        with TemporaryDirectory() as cache:  # nobody finds what another turn has encoded
            environment = {**os.environ, "BURNISH_CACHE": cache, "OMP_NUM_THREADS": "1"}
            command = [sys.executable, "-m", "bench.table_turn", *words]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        tell(f"{' '.join(words)}: {done.stdout.strip()}")
        found: Turn = json.loads(done.stdout.splitlines()[-1])
        return found

    return take
