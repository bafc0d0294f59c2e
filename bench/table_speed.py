"""How much processor time and memory a table takes, beside LightGBM and beside a loop over single rows.

One thread, and contestants take turns. What counts is the processor time of each, for others use the machine too;
starting Python and importing libraries is left out on all sides.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.harness.blocks import compare_rates
from bench.harness.pairs import take_turns
from bench.table_synthetic import write_table
from bench.tables import spread
from burnish.commands.bench import Spread

SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000), (2_000, 20_000)
LOOP_ROWS, QUICK_LOOP_ROWS = 50_000, 4_000
CONTESTS = (("linear", 1024), ("small wide_deep", 128), ("small wide_deep", 1024), ("wide_deep", 1024))

Turn = dict[str, Any]
Tell = Callable[[str], None]


def table_speed(folder: Path, *, rounds: int, is_quick: bool, tell: Tell) -> Iterator[str]:
    """Give two tables: against rows one by one, and against LightGBM as tables grow."""
    yield from _against_rows(folder, rounds=rounds, rows=QUICK_LOOP_ROWS if is_quick else LOOP_ROWS, tell=tell)
    yield ""
    yield from _growth(folder, rounds=rounds, sizes=QUICK_SIZES if is_quick else SIZES, tell=tell)


def _against_rows(folder: Path, *, rounds: int, rows: int, tell: Tell) -> Iterator[str]:
    file = write_table(folder / f"{rows}.csv", rows=rows)
    yield "| network, rows a batch | rows a second of a core | rows as dicts | times | rows of a data frame | times |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for network, batch in CONTESTS:
        found: dict[str, list[float]] = _asked(
            "bench.table_contest", (str(file), network, str(batch), str(rounds)), tell
        )
        ours, *others = found.values()
        told = [spread(Spread.of(ours), 0)]
        for theirs in others:
            told += [spread(Spread.of(theirs), 0), spread(compare_rates(ours, theirs), 1, unit="x")]
        yield f"| {network}, {batch:,} | {' | '.join(told)} |"


def _growth(folder: Path, *, rounds: int, sizes: Sequence[int], tell: Tell) -> Iterator[str]:
    yield (
        "| rows | read | train an epoch | evaluate | LightGBM | times its time | table | at the start "
        "| memory on top | without mapped pages | LightGBM's |"
    )
    yield f"|{' ---: |' * 11}"
    for size in sizes:
        file = write_table(folder / f"{size}.csv", rows=size)
        turns = _rounds({who: (who, str(file), "wide_deep") for who in ("ours", "trees")}, rounds=rounds, tell=tell)
        yield _grown(size, turns["ours"], turns["trees"])
        file.unlink()


def _grown(size: int, ours: Sequence[Turn], theirs: Sequence[Turn]) -> str:
    table = theirs[0]["table_bytes"]
    stages = [f"{_median(ours, name):.2f} s" for name in ("read", "train", "evaluate")]
    ratio = compare_rates([_total(turn) for turn in ours], [_total(turn) for turn in theirs])
    their_time = f"{Spread.of([_total(turn) for turn in theirs]).median:.2f} s"
    cells = [f"{size:,}", *stages, their_time, spread(ratio, 2, unit="x"), *_memory(ours[0], theirs[0], table=table)]
    return f"| {' | '.join(cells)} |"


def _memory(ours: Turn, theirs: Turn, *, table: int) -> list[str]:
    """Tell what one turn of each took; the others took the same."""
    on_top = [max(turn["memory"].values()) for turn in (ours, theirs)]
    counted = [on_top[0], ours["anonymous"], on_top[1]]
    return [
        _megabytes(table),
        _megabytes(ours["base"]),
        *(f"{_megabytes(each)}, {each / table:.2f}x" for each in counted),
    ]


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _median(turns: Sequence[Turn], stage: str) -> float:
    return Spread.of([turn["stages"][stage] for turn in turns]).median


def _total(turn: Turn) -> float:
    return float(sum(turn["stages"].values()))


def _rounds(asked: dict[str, tuple[str, ...]], *, rounds: int, tell: Tell) -> dict[str, list[Turn]]:
    return take_turns({who: _turn(words, tell) for who, words in asked.items()}, rounds=rounds, warmups=0)


def _turn(words: tuple[str, ...], tell: Tell) -> Callable[[], Turn]:
    def take() -> Turn:
        found: Turn = _asked("bench.table_turn", words, tell)
        return found

    return take


def _asked(module: str, words: tuple[str, ...], tell: Tell) -> Any:
    """Run a module in a process of its own, and give what it says."""
    with TemporaryDirectory() as cache:  # nobody finds what another turn has encoded
        environment = {**os.environ, "BURNISH_CACHE": cache, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", module, *words]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    tell(f"{' '.join(words)}: {done.stdout.strip()}")
    return json.loads(done.stdout.splitlines()[-1])
