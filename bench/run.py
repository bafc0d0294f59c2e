"""`make bench`: every measurement in turn, written into docs/benchmarks.md.

python -m bench.run                     all of it: hours
python -m bench.run --quick             a few minutes: one set, few rows, one round and no trials, to see that it works
python -m bench.run --only training     one part: machine, training, accuracy, evaluation, tokenising, startup,
                                        processes, scale, contention, foresight, growth, checkpoints, tables,
                                        table_scores, small_sets or quality
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
SHARED = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "benchmarks.md"
SCALE = ROOT / "docs" / "explanation" / "scale.md"
QUICK_ROUNDS, ROUNDS = 1, 5
MOST_TABLE_ROUNDS = 3


def main() -> None:
    """Measure what was asked for, each part as soon as it is done."""
    asked = _asked()
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.only:
            lines = list(PARTS[name](asked, Path(folder)))
            print("\n".join([f"## {name}", "", *lines, ""]), flush=True)
            if name != "quality" and lines:
                from bench.page import put

                put(SCALE if name == "scale" else asked.page, name, [*lines, "", _how(name, asked)])


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="one set, few rows, one round, no trials")
    parser.add_argument("--rounds", type=int, help="how often everyone has a turn")
    parser.add_argument("--data", type=Path, default=SHARED, help="the folder of the real data sets")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where runs are kept, to be read again")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page that is written into")
    asked = parser.parse_args()
    asked.rounds = asked.rounds or (QUICK_ROUNDS if asked.quick else ROUNDS)
    asked.only = asked.only or [name for name in PARTS if not (asked.quick and name in SLOW)]
    return asked


def _how(name: str, asked: argparse.Namespace) -> str:
    words = [
        "python -m bench.run",
        "--only",
        name,
        *(["--quick"] if asked.quick else []),
        "--rounds",
        str(asked.rounds),
    ]
    return f"Measured by `{' '.join(words)}`."


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _machine(_asked: argparse.Namespace, _folder: Path) -> Iterable[str]:
    from bench.machine import machine

    return machine()


def _on_sets(module: str) -> Callable[[argparse.Namespace, Path], Iterable[str]]:
    def measure(asked: argparse.Namespace, folder: Path) -> Iterable[str]:
        from importlib import import_module

        from bench.sets import data_sets

        sets = data_sets(asked.data.resolve(), folder)
        sets = [sets[0].quick()] if asked.quick else sets
        part: Callable[..., Iterator[str]] = getattr(import_module(f"bench.{module}"), module)
        return part(sets, rounds=asked.rounds, tell=_tell)

    return measure


def _contention(asked: argparse.Namespace, folder: Path) -> Iterable[str]:
    from bench.contention import contention
    from bench.sets import data_sets

    sets = [] if asked.quick else data_sets(asked.data.resolve(), folder)[:2]
    return contention(sets, folder, rounds=asked.rounds, is_quick=asked.quick, tell=_tell)


def _startup(asked: argparse.Namespace, _folder: Path) -> Iterable[str]:
    from bench.startup import startup

    return startup(rounds=asked.rounds, tell=_tell)


def _script(name: str, *arguments: str) -> list[str]:
    command = [sys.executable, str(HERE / name), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip().splitlines()


def _growth(asked: argparse.Namespace, _folder: Path) -> Iterable[str]:
    if not (HERE / "growth.py").is_file():
        _tell("left out: growth, for there is no bench/growth.py")
        return []
    return _script("growth.py", *(["--quick"] if asked.quick else []))


def _checkpoints(asked: argparse.Namespace, _folder: Path) -> Iterable[str]:
    return _script("checkpoints.py", *(["--pairs", "1", "--every", "10"] if asked.quick else []))


def _tables(asked: argparse.Namespace, folder: Path) -> Iterable[str]:
    from bench.table_speed import table_speed

    return table_speed(folder, rounds=min(asked.rounds, MOST_TABLE_ROUNDS), is_quick=asked.quick, tell=_tell)


def _table_scores(asked: argparse.Namespace, _folder: Path) -> Iterable[str]:
    from bench.table_scores import SEEDS, table_scores

    if not asked.data.is_dir():
        _tell(f"left out: the scores of tables, for the real data sets are not at {asked.data}")
        return []
    seeds = SEEDS[:1] if asked.quick else SEEDS
    return table_scores(asked.data.resolve(), asked.runs / "table_scores", seeds=seeds, tell=_tell)


def _small_sets(asked: argparse.Namespace, _folder: Path) -> Iterable[str]:
    from bench.small_sets import SEEDS, small_sets

    if not asked.data.is_dir():
        _tell(f"left out: small sets, because the real data sets are not at {asked.data}")
        return []
    runs, seeds = asked.runs / "small_sets", SEEDS[:1] if asked.quick else SEEDS
    older = asked.runs / "small_sets_before"
    return small_sets(asked.data.resolve(), runs, before=older if older.is_dir() else None, seeds=seeds, tell=_tell)


def _quality(asked: argparse.Namespace, _folder: Path) -> Iterable[str]:
    if not asked.data.is_dir():
        _tell(f"left out: the quality tables, for the real data sets are not at {asked.data}")
        return []
    return [line for kind in ("glue", "imdb") for line in _script("quality.py", kind, "--data", str(asked.data))]


PARTS: dict[str, Callable[[argparse.Namespace, Path], Iterable[str]]] = {
    "machine": _machine,
    "training": _on_sets("training"),
    "accuracy": _on_sets("accuracy"),
    "evaluation": _on_sets("evaluation"),
    "tokenising": _on_sets("tokenising"),
    "startup": _startup,
    "processes": _on_sets("processes"),
    "scale": _on_sets("scale"),
    "contention": _contention,
    "foresight": _on_sets("foresight"),
    "growth": _growth,
    "checkpoints": _checkpoints,
    "tables": _tables,
    "table_scores": _table_scores,
    "small_sets": _small_sets,
    "quality": _quality,
}
SLOW = ("table_scores", "small_sets", "quality")


if __name__ == "__main__":
    main()
