"""A small language is learned from nothing: own tokenizer, random weights, two processes."""

import json
import random
from pathlib import Path

from burnish.commands import tokenizer
from burnish.testing.exams import Examined, read_steps
from tests.harness.fork_server import ForkServer
from tests.integration.tasks.exam import train

WORDS = ["one", "two", "three", "red", "green", "blue", "cat", "dog", "sees", "and"]
EXPERIMENT = """\
task: {{type: seq2seq, max_length: 16, max_target_length: 16}}
data: {{train: {root}/train.jsonl, validation: {root}/dev.jsonl}}
model:
  pretrained: false
  architecture: t5
  tokenizer: {root}/words
  size: {{hidden_size: 48, num_hidden_layers: 1, num_attention_heads: 3, intermediate_size: 96}}
  fields: {{d_kv: 16}}
  dropout: 0
optimizer: {{learning_rate: 5e-3}}
schedule: constant
train: {{length: 60 steps, batch: 32, evaluate_every: 60 steps, evaluate_at_start: true}}
runtime: {{threads: 1, precision: fp32}}
"""


def test_the_loss_falls_and_bleu_rises_from_nothing(tmp_path: Path, server: ForkServer) -> None:
    draw = random.Random(0)
    sentences = [draw.choices(WORDS, k=draw.randint(2, 4)) for _ in range(480)]
    rows = [{"source": " ".join(each), "target": " ".join(word[::-1].upper() for word in each)} for each in sentences]
    for name, part in (("train", rows[:400]), ("dev", rows[400:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT.format(root=tmp_path))
    files, columns = [str(tmp_path / "train.jsonl")], ("source", "target")
    tokenizer.train(files, columns=columns, out=tmp_path / "words", kind="unigram", vocab_size=100, lowercase=False)
    result = train(Examined.read(tmp_path), "run", server, processes=2)
    losses = [step["loss"] for step in read_steps(result.directory)]
    assert losses[-1] < losses[0] / 2
    events = (json.loads(line) for line in (result.directory / "events.jsonl").read_text().splitlines())
    first, *_, last = [event["scores"]["bleu"] for event in events if event["event"] == "evaluated"]
    assert first == 0
    assert last > 0.01
