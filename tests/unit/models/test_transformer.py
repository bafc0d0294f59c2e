"""A transformer's options: what is refused before anything is loaded, and limits read from JSON alone."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from burnish.models.transformer import Transformer
from burnish.spec.protocols import Architecture


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "needs a `name`"),
        ({"pretrained": False}, "needs a `tokenizer` or a `name`"),
        ({"name": "a/b", "size": {"hidden_size": 8}}, "takes `size` only with `pretrained: false`"),
        ({"name": "a/b", "start": "neighbours"}, "takes `start` only with `pretrained: false`"),
        ({"name": "a/b", "architecture": "bert"}, "takes `architecture` only without `name` and `config`"),
        ({"name": "a/b", "lora": {}, "freeze": {"layers": 1}}, "takes `lora` or `freeze`, not both"),
        ({"name": "a/b", "lora": {}, "pretrained": False}, "takes `lora` only with pretrained weights"),
        (
            {"name": "a b"},
            "a folder, gs:// or s3://bucket/folder, or package:module/folder, got 'a b'",
        ),
        ({"name": "package:mod/../../etc"}, "must be written package:module/folder, without `..`"),
        ({"name": "package:a.b/c"}, "must be written package:module/folder"),
        ({"name": "a/b", "dropout": 1.0}, "less than 1"),
        ({"name": "a/b", "layer_decay": 0}, "greater than 0"),
        (
            {"tokenizer": "a/b", "pretrained": False, "size": {"hidden_size": 10, "num_attention_heads": 3}},
            "needs `hidden_size` to be a multiple of `num_attention_heads`, got 10 and 3",
        ),
    ],
)
def test_options_that_disagree_are_refused_in_a_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Transformer(**options)
    assert sentence in str(caught.value)


def test_all_disagreements_are_told_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        Transformer(size={"hidden_size": 8})
    assert "needs a `name`" in str(caught.value)
    assert "takes `size` only" in str(caught.value)


def test_what_it_dumps_loads_back_equal() -> None:
    model = Transformer(tokenizer="a/b", pretrained=False, size={"hidden_size": 8}, freeze={"embeddings": True})
    assert Transformer.model_validate(model.model_dump(mode="json")) == model


def test_it_is_an_architecture() -> None:
    assert isinstance(Transformer(name="a/b"), Architecture)


def _folder(path: Path, **config: Any) -> str:
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))
    return str(path)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512}, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 514}, 512),
        ({"model_type": "gpt2", "n_positions": 1024}, 1024),
        ({"model_type": "xlnet"}, None),
        ({"model_type": "deberta-v2", "max_position_embeddings": -1}, None),
    ],
)
def test_the_longest_input_is_read_from_json(tmp_path: Path, config: dict[str, Any], expected: int | None) -> None:
    assert Transformer(name=_folder(tmp_path / "m", **config)).max_positions() == expected


def test_the_size_that_was_asked_for_decides_the_longest_input(tmp_path: Path) -> None:
    size = {"max_position_embeddings": 34}
    folder = _folder(tmp_path / "m", model_type="gpt2", n_positions=1024)
    assert Transformer(name=folder, pretrained=False, size=size).max_positions() == 34
    assert Transformer(tokenizer=folder, pretrained=False, size=size).max_positions() == 34
    assert Transformer(tokenizer=folder, architecture="roberta", pretrained=False, size=size).max_positions() == 32


@pytest.mark.parametrize("name", ["org/model", "model", "./nowhere", "package:no_such_package_here/model"])
def test_the_longest_input_is_unknown_where_no_config_lies_here(name: str) -> None:
    assert Transformer(name=name).max_positions() is None


def test_a_broken_config_leaves_the_longest_input_unknown(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{no json")
    assert Transformer(name=str(tmp_path)).max_positions() is None


def test_options_and_limits_need_no_torch(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "m", model_type="bert", max_position_embeddings=7)
    code = (
        "import sys; from burnish.models.transformer import Transformer; import burnish.optim.schedules, "
        f"burnish.optim.optimizers; print(Transformer(name={folder!r}).max_positions(), "
        "sorted({'torch', 'transformers', 'numpy', 'pyarrow', 'huggingface_hub'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "7 []"
