"""A process of its own that prepares a data set, walks an epoch and writes predictions, and tells its largest size."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from burnish.data.batching.batches import BatchStream, evaluation_plan
from burnish.data.cache import spill
from burnish.data.files import Files
from burnish.data.options import Portion, SplitPlan
from burnish.data.readers import stream
from burnish.data.tokens.tokens import TextAssets
from burnish.data.truncation import Head
from burnish.run.predicting.prediction_tables import prediction_tables
from burnish.run.preparation.prepare import prepare
from burnish.run.record.directory import RunDirectory
from burnish.spec.experiment import Batching, TrainPolicy
from burnish.spec.values import Outcome, RandomKey
from burnish.tasks.text_classification import TextClassification


def main(data: str, scratch: str) -> None:
    # small pieces, so that some megabytes show what gigabytes do
    spill.LARGE_BYTES = stream.LARGE_BYTES = spill._PART_BYTES = stream._BLOCK = 1 << 19
    stream.BLOCKS = (1 << 17,)  # of which 32 are read ahead
    stream._PART_BYTES = 1 << 20
    spill._CHUNK_BYTES = 1 << 20
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, **{f"w{n}": n + 1 for n in range(50)}}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    assets = TextAssets(tokenizer, 0, 0, "right", None, False, {"tokenizer.json": tokenizer.to_str().encode()})
    experiment = SimpleNamespace(
        data=Files(train=(data,), split=SplitPlan(validation=Portion(0.2))),
        task=TextClassification(max_length=64, truncation=Head()),
        model=SimpleNamespace(assets=lambda: assets),
        runtime=SimpleNamespace(seed=0),
        metrics=None,
        train=TrainPolicy(),
    )
    prepared = prepare(experiment, RunDirectory(Path(scratch)), tell=lambda _sentence: None)
    walk(prepared)
    table = prepared.features["train"]
    sys.stdout.write(json.dumps({"peak": largest_size(), "rows": len(table)}))


def largest_size() -> int:
    """Give the most memory this process had, in kB; what `getrusage` tells begins with the size of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def walk(prepared) -> None:
    features = prepared.features["train"]
    stream = BatchStream(features["length"].to_numpy(), Batching(), 0)
    collate = prepared.collate("train")
    for _ in range(stream.batches_in(0)):
        drawn = stream.draw()
        collate(drawn.indices, RandomKey(0, drawn.epoch, is_training=True))
    evaluated = prepared.collate("validation")
    for indices in evaluation_plan(prepared.features["validation"]["length"].to_numpy()):
        evaluated(indices, RandomKey(0, 0, is_training=False))
    shown(prepared)


def shown(prepared) -> None:
    rows = prepared.rows["validation"]
    outputs = np.full((len(rows), 2), 0.5)
    decisions = np.zeros(len(rows), dtype=np.int64)
    outcome = Outcome("binary", np.arange(len(rows)), outputs, decisions, decisions, ("0", "1"))
    for _ in prediction_tables(outcome, rows, shown=("text",)):
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
