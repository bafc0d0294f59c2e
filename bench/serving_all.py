"""Compares `burnish serve` with other servers on short texts, long texts and table rows, in both precisions.

    python -m bench.serving_all --peers PEERS --infinity INFINITY --runs runs/serving

trains the three models if they are not there, then measures each set with `bench.serving`, whose rounds interleave the
servers. Every server computes in the same precision; in bf16 the others use autocast, and Infinity is left out, which
has none on a CPU. Three rounds of 4 seconds a rate take about an hour on a quiet machine.
"""

import argparse
import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.run import SHARED
from bench.sets import MODEL

SETS = {"sst2": "64", "imdb": "256", "adult": "1"}
_SERVERS = "litserve,mosec,bentoml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--infinity", type=Path)
    parser.add_argument("--runs", type=Path, default=Path("runs/serving"))
    parser.add_argument("--data", type=Path, default=SHARED, help="the folder of the real data sets")
    parser.add_argument("--only", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--precision", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    parser.add_argument("--rounds", default="3")
    parser.add_argument("--seconds", default="4")
    parser.add_argument("--closed", default="0", help="clients in a closed loop, for a machine that others use")
    asked = parser.parse_args()
    asked.runs.mkdir(parents=True, exist_ok=True)
    for name in asked.only:
        for precision in asked.precision if name != "adult" else ["fp32"]:
            print(f"## {name}, {precision}", flush=True)
            run = train(name, precision, data=asked.data, runs=asked.runs)
            rows = write_rows(name, run, data=asked.data)
            subprocess.run([*command(name, precision, run, asked), "--rows", str(rows)], check=True)


def train(name: str, precision: str, *, data: Path, runs: Path) -> Path:
    run = runs / f"{name}-{precision}"
    if (run / "artifact").is_dir():
        return run
    burnish = [sys.executable, "-m", "burnish"]
    few = ["train.length=40 steps", f"runtime.precision={precision}"]
    texts = [f"model={MODEL}", f"task.max_length={SETS[name]}", "data.limit={train: 2000, validation: 200}"]
    words = {
        "sst2": ["glue/sst2", f"data.dir={data}/glue/SST-2", *texts],
        "imdb": ["imdb", "data.type=files", f"data.train={data}/imdb/train.jsonl.gz", "task.truncation=head", *texts],
        "adult": ["adult", f"data.dir={data}/adult"],
    }[name]
    subprocess.run(
        [*burnish, "train", *words, *few, "--dir", str(run), "--quiet"], check=True, stdout=subprocess.DEVNULL
    )
    if precision == "fp32":
        subprocess.run([*burnish, "export", str(run), "--to", "onnx"], check=True, stdout=subprocess.DEVNULL)
    return run


def command(name: str, precision: str, run: Path, asked: argparse.Namespace) -> list[str]:
    is_table = name == "adult"
    has_infinity = asked.infinity is not None and not is_table and precision == "fp32"
    words = ["--peers", str(asked.peers), "--model", str(run / "artifact"), "--kind", "rows" if is_table else "text"]
    words += ["--length", SETS[name], "--drop", "income" if is_table else "label", "--dtype", precision]
    words += ["--rounds", asked.rounds, "--seconds", asked.seconds, "--first", "1000" if is_table else "30"]
    words += ["--closed", asked.closed]
    ours = "burnish,burnish-onnx" if precision == "fp32" else "burnish"
    words += ["--servers", f"{ours},{_SERVERS}" + ",infinity" * has_infinity]
    words += ["--infinity", str(asked.infinity)] if has_infinity else []
    return [sys.executable, "-m", "bench.serving", *words]


def write_rows(name: str, run: Path, *, data: Path) -> Path:
    path = run / "rows.csv"
    rows = list(read_rows(name, data))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def read_rows(name: str, data: Path) -> Iterator[dict[str, str]]:
    files = {"sst2": "glue/SST-2/dev.tsv.gz", "imdb": "imdb/test.jsonl.gz", "adult": "adult/test.csv.gz"}
    with gzip.open(data / files[name], "rt", encoding="utf-8", newline="") as stream:
        if name == "adult":
            yield from csv.DictReader(stream)
        elif name == "sst2":
            next(stream)
            yield from ({"text": line.split("\t")[0]} for line in stream)
        else:
            yield from ({"text": json.loads(line)["text"]} for line, _ in zip(stream, range(500), strict=False))


if __name__ == "__main__":
    main()
