"""Training speed on a machine that another program is using: with the launcher's thread settings, and without."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.harness.blocks import Block, compare_rates, rate
from bench.harness.contest import Contestant, Entrant, started
from bench.harness.pairs import take_turns
from bench.harness.stage import Stage, staged
from bench.sets import DataSet
from bench.table_synthetic import write_table
from bench.tables import spread
from burnish.commands.bench import Spread
from burnish.commands.config import check

_OPENMP_DEFAULT = {"GOMP_SPINCOUNT": "300000"}
"""What GNU OpenMP does when nobody says how threads wait."""
_ROWS, _BATCH = 20_480, 256
_BUSY = "while True: pass"

HEAD = [
    "| set | quiet, rows/s | busy, rows/s | of OpenMP's default, quiet | busy, of quiet | default busy, of quiet |",
    "| --- | ---: | ---: | ---: | ---: | ---: |",
]


def contention(
    sets: Sequence[DataSet], folder: Path, *, rounds: int, is_quick: bool, tell: Callable[[str], None]
) -> Iterator[str]:
    """Train a table and texts in turn: quiet and beside one busy process, with our setting and with OpenMP's own."""
    yield from HEAD
    for each in [_table(folder, is_quick=is_quick), *sets]:
        tell(f"contention on {each.name}")
        with staged(check(each.experiment, overrides=each.overrides), rows=each.rows) as stage:
            yield _line(each.name, _race(stage, rounds=rounds, tell=tell))


def _table(folder: Path, *, is_quick: bool) -> DataSet:
    rows = _ROWS // 8 if is_quick else _ROWS
    experiment = folder / "table.yaml"
    data = write_table(folder / "table.csv", rows=rows)
    experiment.write_text(
        f"task: {{type: tabular, target: y}}\ndata: {{train: {data}}}\nmodel: tab_m\n"
        f"train: {{batch: {_BATCH}}}\nruntime: {{precision: fp32}}\n"
    )
    return DataSet(f"a table, batches of {_BATCH}", str(experiment), (), rows=rows)


def _race(stage: Stage, *, rounds: int, tell: Callable[[str], None]) -> dict[str, list[Block]]:
    ours = stage.ours("train")
    with started({"ours": ours, "default": Entrant(ours.address, ours.request, env=_OPENMP_DEFAULT)}) as pair:
        turns: Mapping[str, Callable[[], Block]] = {
            "default quiet": pair["default"],
            "quiet": pair["ours"],
            "busy": lambda: _beside_a_busy_process(pair["ours"]),
        }
        results = take_turns(turns, rounds=rounds, tell=tell)
        tell("OpenMP's default next to a busy process, once: it is slow")
        return {**results, "default busy": [_beside_a_busy_process(pair["default"])]}


def _beside_a_busy_process(contestant: Contestant) -> Block:
    with _busy_process():
        return contestant()


@contextmanager
def _busy_process() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", _BUSY])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _line(name: str, results: Mapping[str, Sequence[Block]]) -> str:
    rates = {who: [rate(block) for block in blocks] for who, blocks in results.items()}
    cells = [
        spread(Spread.of(rates["quiet"]), 1),
        spread(Spread.of(rates["busy"]), 1),
        spread(compare_rates(rates["quiet"], rates["default quiet"]), 2),
        spread(compare_rates(rates["busy"], rates["quiet"]), 2),
        f"{rates['default busy'][0] / Spread.of(rates['default quiet']).median:.2f}",
    ]
    return f"| {name} | {' | '.join(cells)} |"
