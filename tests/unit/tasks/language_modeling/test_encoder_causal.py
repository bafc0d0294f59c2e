"""Causal language modelling: every token is guessed from those before it, and counted for its own row."""

import numpy as np
import pyarrow as pa
import pytest

from burnish.data.batching.ragged import view
from burnish.data.tokens.tokens import tokenize
from burnish.errors import DataError
from burnish.spec.values import Profile, RandomKey
from burnish.tasks.language_modeling.task import CausalLm
from tests.language import LINES, assets, table

PROFILE = Profile("likelihood")
TRAIN = RandomKey(seed=3, epoch=2, is_training=True)
SCORE = RandomKey(seed=3, epoch=0, is_training=False)


def batch_of(rows: pa.Table, draw: RandomKey, **options: object) -> dict[str, np.ndarray]:
    made = CausalLm(max_length=16, **options).encoder(PROFILE, assets("bpe", "decoder"))  # type: ignore[arg-type]
    features = made.encode(rows)
    return dict(made.collate(features, np.arange(features.num_rows), draw))


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("draw", [TRAIN, SCORE])
def test_each_place_is_asked_for_the_token_after_it(pack: bool, draw: RandomKey) -> None:
    batch = batch_of(table(), draw, pack=pack)
    attended = batch["attention_mask"].astype(bool)
    assert batch["scored"].sum() == attended.sum() - len(attended)
    for ids, labels, scored in zip(batch["input_ids"], batch["label"], batch["scored"], strict=True):
        assert labels[scored].tolist() == ids[1:][scored[:-1]].tolist()


def test_a_token_is_counted_for_its_own_row() -> None:
    batch = batch_of(table(), SCORE, join="\n")
    texts = view(tokenize(pa.chunked_array([[line + "\n" for line in LINES]]), assets("bpe", "decoder").tokenizer))
    rows, tokens = batch["at_row"][batch["scored"]], batch["label"][batch["scored"]]
    assert all(token in texts[int(row)] for row, token in zip(rows, tokens, strict=True))
    # Of each block only the first token is not guessed.
    assert np.bincount(rows, minlength=len(LINES)).sum() == texts.lengths.sum() - len(batch["input_ids"])


def test_a_prompt_is_asked_for_what_comes_after_its_end() -> None:
    task = CausalLm(max_length=16)
    asked = task.table([{"prompt": "The old"}, {"prompt": "The fox sleeps under the old house and dreams of"}], PROFILE)
    batch = batch_of(asked, SCORE)
    assert "label" not in batch
    assert batch["scored"].sum(axis=1).tolist() == [1, 1]
    assert (batch["attention_mask"].sum(axis=1) - 1 == batch["scored"].argmax(axis=1)).all()
    last = [batch["input_ids"][row, place] for row, place in enumerate(batch["scored"].argmax(axis=1))]
    tokenizer = assets("bpe", "decoder").tokenizer
    assert tokenizer.decode([int(last[1])]).strip() in "dreams of"


@pytest.mark.parametrize("draw", [TRAIN, SCORE])
def test_a_column_of_the_data_may_be_called_prompt(draw: RandomKey) -> None:
    plain, beside = table(), table().append_column("prompt", pa.array(LINES))
    for rows, options in ((beside, {}), (plain.rename_columns(["prompt"]), {"text": "prompt"})):
        batch, expected = batch_of(rows, draw, **options), batch_of(plain, draw)
        assert batch.keys() == expected.keys()
        assert all(np.array_equal(batch[name], expected[name]) for name in expected)


def test_a_row_of_a_text_column_called_prompt_is_scored_as_it_was_in_training() -> None:
    scored = CausalLm(text="prompt").table([{"prompt": "The old house"}], PROFILE)
    assert "label" in batch_of(scored, SCORE, text="prompt")


def test_texts_and_prompts_are_not_mixed() -> None:
    with pytest.raises(DataError, match="give them separately"):
        CausalLm().table([{"prompt": "a"}, {"text": "b"}], PROFILE)
    with pytest.raises(DataError, match="row 1: give `text` or `prompt`"):
        CausalLm().table([{"other": "a"}], PROFILE)
    assert CausalLm().table([{"text": "a"}], PROFILE).column_names == ["text"]
