"""Pairs of texts as features and batches, and what is refused of them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from burnish.data.tokens.tokens import TextAssets
from burnish.errors import ConfigError
from burnish.models.transformer import Transformer
from burnish.spec.values import Profile, RandomKey
from burnish.tasks.seq2seq import Seq2Seq
from burnish.tasks.seq2seq.task import Generation
from burnish.testing.tiny_torch import tiny_model

LEARNING = RandomKey(seed=0, epoch=0, is_training=True)
ASKING = RandomKey(seed=0, epoch=0, is_training=False)
PROFILE = Profile("generated")
TABLE = pa.table({"source": ["a good film", "bad"], "target": ["a fine story", "dull plot and a film"]})


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> TextAssets:
    return Transformer(name=str(tiny_model(tmp_path_factory.mktemp("tiny") / "t5", architecture="t5"))).assets()


def texts(ids: np.ndarray, assets: TextAssets) -> list[str]:  # type: ignore[type-arg]
    return [" ".join(assets.tokenizer.id_to_token(each) for each in row) for row in ids.tolist()]


def test_a_batch_holds_both_texts_each_with_its_end_and_scores_no_padding(assets: TextAssets) -> None:
    encoder = Seq2Seq(max_target_length=4, prefix="the ").encoder(PROFILE, assets)
    batch = encoder.collate(encoder.encode(TABLE), np.array([0, 1]), LEARNING)
    assert texts(batch["input_ids"], assets) == ["the a good film </s>", "the bad </s> <pad> <pad>"]
    assert texts(batch["target_ids"], assets) == ["a fine story </s>", "dull plot and </s>"]  # the rest is cut
    short = Seq2Seq().encoder(PROFILE, assets)
    padded = short.collate(short.encode(TABLE), np.array([0, 1]), LEARNING)
    assert padded["scored"].sum(axis=1).tolist() == [4, 6]
    assert (padded["label"] == np.where(padded["scored"], padded["target_ids"], -100)).all()


def test_a_batch_to_answer_has_no_label_and_one_without_targets_asks_alone(assets: TextAssets) -> None:
    encoder = Seq2Seq().encoder(PROFILE, assets)
    assert {"target_ids", "target_mask"} <= encoder.collate(encoder.encode(TABLE), np.array([0]), ASKING).keys()
    asked = encoder.collate(encoder.encode(TABLE.select(["source"])), np.array([0]), ASKING)
    assert set(asked) == {"input_ids", "attention_mask", "row"}


def test_batches_are_planned_by_both_lengths(assets: TextAssets) -> None:
    encoder = Seq2Seq().encoder(PROFILE, assets)
    assert encoder.encode(TABLE)["length"].to_pylist() == [4 + 4, 2 + 6]
    assert encoder.encode(TABLE.select(["source"]))["length"].to_pylist() == [4, 2]


def test_a_target_without_room_is_refused_by_its_option(assets: TextAssets) -> None:
    with pytest.raises(ConfigError, match=r"task\.max_target_length must be at least 2, got 1"):
        Seq2Seq(max_target_length=1).encoder(PROFILE, assets)


def test_features_are_other_ones_with_another_prefix_or_target(assets: TextAssets) -> None:
    tasks = (Seq2Seq(), Seq2Seq(prefix="x "), Seq2Seq(max_target_length=9), Seq2Seq(target="other"))
    keys = [str(task.encoder(PROFILE, assets).key) for task in tasks]
    assert len(set(keys)) == len(keys)


def test_what_is_asked_of_generation_reaches_the_head_and_nothing_else() -> None:
    assert Seq2Seq().head(PROFILE).options == {"max_new_tokens": 128}
    task = Seq2Seq(generation=Generation(num_beams=4, max_new_tokens=7))
    assert task.head(PROFILE).options == {"num_beams": 4, "max_new_tokens": 7}


def test_t5_reads_any_length_whatever_its_config_says(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "t5", "n_positions": 512}')
    assert Transformer(name=str(tmp_path)).max_positions() is None


def test_batches_are_as_wide_as_a_multiple_asks_and_score_no_more(assets: TextAssets) -> None:
    wide = Seq2Seq().encoder(PROFILE, replace(assets, multiple=8))
    batch = wide.collate(wide.encode(TABLE), np.array([0, 1]), LEARNING)
    assert batch["input_ids"].shape == batch["target_ids"].shape == (2, 8)
    assert batch["attention_mask"].sum(axis=1).tolist() == [4, 2]
    assert batch["scored"].sum(axis=1).tolist() == [4, 6]
    assert wide.key == Seq2Seq().encoder(PROFILE, assets).key


def test_an_artifact_pads_as_its_model_did(assets: TextAssets, tmp_path: Path) -> None:
    replace(assets, multiple=16).save(tmp_path)
    assert TextAssets.load(tmp_path).multiple == 16
    description = json.loads((tmp_path / "assets.json").read_text())
    del description["multiple"]  # as earlier versions wrote it
    (tmp_path / "assets.json").write_text(json.dumps(description))
    assert TextAssets.load(tmp_path).multiple == 1
