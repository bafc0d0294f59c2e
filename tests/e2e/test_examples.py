"""What the folder `examples` holds can be run: scripts parse, and experiments fit together."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.tasks.rows import sentence
from tests.project import BAD, GOOD, PLAIN

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("script", sorted(EXAMPLES.rglob("*.sh")), ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_a_script_parses(script: Path) -> None:
    assert subprocess.run(["bash", "-n", str(script)], capture_output=True).returncode == 0


def test_a_tiny_bert_is_pretrained_and_compared_with_random_weights(tmp_path: Path) -> None:
    draw = random.Random(0)
    wiki, sst2, runs = (tmp_path / name for name in ("wiki", "sst2", "runs"))
    wiki.mkdir()
    sst2.mkdir()
    for part in ("train", "valid", "test"):
        paragraphs = ["\n".join(f"{sentence(draw, PLAIN)} ." for _ in range(4)) for _ in range(20)]
        (wiki / f"wiki.{part}.raw").write_text("\n\n".join(paragraphs))
    for part in ("train", "dev"):
        rows = [f"{sentence(draw, words)}\t{int(words is GOOD)}" for words in (GOOD, BAD) for _ in range(30)]
        (sst2 / f"{part}.tsv").write_text("\n".join(["sentence\tlabel", *rows]) + "\n")
    script = str(EXAMPLES / "pretrain-from-nothing" / "run.sh")
    command = ["bash", script, str(wiki), str(sst2), str(runs), "train.length=3 steps", "train.evaluate_every=3 steps"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    models = (runs / name / "artifact/model/config.json" for name in ("from-random-0", "from-pretrained-0"))
    random_config, pretrained_config = (json.loads(model.read_text()) for model in models)
    for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "hidden_dropout_prob"):
        assert random_config[name] == pretrained_config[name], name
    assert "points (95% interval" in done.stdout
