"""What the folder `examples` holds can be run: scripts parse, and experiments fit together."""

import subprocess
from pathlib import Path

import pytest

from burnish.commands.config import check

EXAMPLES = Path(__file__).parents[2] / "examples"
SIZE = "{hidden_size: 128, num_hidden_layers: 2, num_attention_heads: 2}"


@pytest.mark.parametrize("script", sorted(EXAMPLES.rglob("*.sh")), ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_a_script_parses(script: Path) -> None:
    assert subprocess.run(["bash", "-n", str(script)], capture_output=True).returncode == 0


@pytest.mark.parametrize("model", ["bert-base-uncased", f"{{pretrained: false, tokenizer: words, size: {SIZE}}}"])
def test_the_fine_tuning_of_a_tiny_bert_fits_together(model: str) -> None:
    config = EXAMPLES / "pretrain-from-nothing" / "finetune.yaml"
    assert check(str(config), overrides=["data.dir=sst2", f"model={model}"]).experiment.name == "sentiment"
