"""Masked language modelling: what is hidden, what is scored, and what comes back for each row."""

import numpy as np
import pyarrow as pa
import pytest

from burnish.data.batching.batches import plan_epoch
from burnish.data.batching.ragged import view
from burnish.data.tokens.tokens import tokenize
from burnish.errors import ConfigError
from burnish.spec.experiment import Batching
from burnish.spec.values import Profile, RandomKey, RowOrigins, Rows
from burnish.tasks.language_modeling.encoder import MaskedEncoder
from burnish.tasks.language_modeling.task import MaskedLm, Masking
from tests.language import LINES, assets, table

PROFILE = Profile("likelihood")
TRAIN = RandomKey(seed=3, epoch=0, is_training=True)
SCORE = RandomKey(seed=3, epoch=0, is_training=False)


def encoder(**options: object) -> MaskedEncoder:
    made = MaskedLm(max_length=16, **options).encoder(PROFILE, assets())  # type: ignore[arg-type]  # as given
    assert isinstance(made, MaskedEncoder)
    return made


def everything(
    made: MaskedEncoder, draw: RandomKey, rows: pa.Table | None = None
) -> tuple[pa.Table, dict[str, np.ndarray]]:
    features = made.encode(table() if rows is None else rows)
    return features, dict(made.collate(features, np.arange(features.num_rows), draw))


def corpus() -> list[int]:
    return view(tokenize(pa.chunked_array([LINES]), assets().tokenizer)).values.tolist()


@pytest.mark.parametrize("epoch", [0, 1, 5])
def test_an_epoch_of_packed_blocks_holds_every_token_once(epoch: int) -> None:
    made = encoder()
    features = made.encode(table())
    lengths = features["length"].to_numpy()
    seen: list[int] = []
    for indices in plan_epoch(lengths, seed=1, epoch=epoch, batching=Batching(examples=3)):
        batch = made.collate(features, indices, RandomKey(seed=1, epoch=epoch, is_training=True))
        whole = np.where(batch["scored"], batch["label"], batch["input_ids"])
        seen += whole[batch["attention_mask"].astype(bool) & ~made.codec.vocabulary.is_special[whole]].tolist()
    assert sorted(seen) == sorted(corpus())


def test_special_tokens_and_padding_are_never_hidden() -> None:
    made = encoder(masking=Masking(probability=0.9))
    _, batch = everything(made, TRAIN)
    assert not made.codec.vocabulary.is_special[batch["label"][batch["scored"]]].any()
    assert (batch["label"][~batch["scored"]] == -100).all()
    assert not (batch["scored"] & (batch["attention_mask"] == 0)).any()
    assert (batch["input_ids"][:, 0] == assets().tokenizer.token_to_id("[CLS]")).all()


def test_special_tokens_inside_a_text_are_never_hidden() -> None:
    made = encoder(join=" [SEP]", masking=Masking(probability=0.9, masked=1.0, random=0.0))
    _, batch = everything(made, TRAIN)
    separator = assets().tokenizer.token_to_id("[SEP]")
    assert separator not in batch["label"]
    assert (batch["input_ids"] == separator).sum() == len(LINES) + len(batch["input_ids"])


def test_whole_words_are_hidden_whole() -> None:
    made = encoder(masking=Masking(probability=0.4, whole_words=True), pack=False)
    _, batch = everything(made, TRAIN)
    whole = np.where(batch["scored"], batch["label"], batch["input_ids"])
    for ids, scored in zip(whole, batch["scored"], strict=True):
        tokens = [assets().tokenizer.id_to_token(int(number)) for number in ids]
        for place in range(2, len(tokens)):  # a block may begin inside a word
            if tokens[place].startswith("##"):
                assert scored[place] == scored[place - 1], tokens


def test_scores_may_be_of_another_share_than_is_learned() -> None:
    made = encoder(masking=Masking(probability=0.6, scored=0.2))
    plain = encoder(masking=Masking(probability=0.2))
    learned, scored = (everything(made, draw)[1]["scored"] for draw in (TRAIN, SCORE))
    assert learned.sum() > 2 * scored.sum()
    np.testing.assert_array_equal(scored, everything(plain, SCORE)[1]["scored"])


def test_masks_are_new_each_epoch_unless_static_and_fixed_when_scored() -> None:
    later = RandomKey(seed=3, epoch=1, is_training=True)
    lines = {"pack": False}
    dynamic, static = encoder(**lines), encoder(masking=Masking(dynamic=False), **lines)
    assert not (everything(dynamic, TRAIN)[1]["scored"] == everything(dynamic, later)[1]["scored"]).all()
    assert (everything(static, TRAIN)[1]["input_ids"] == everything(static, later)[1]["input_ids"]).all()
    other = RandomKey(seed=9, epoch=4, is_training=False)
    assert (everything(dynamic, SCORE)[1]["input_ids"] == everything(dynamic, other)[1]["input_ids"]).all()


def answers_to(batch: dict[str, np.ndarray], parts: np.ndarray, answers: np.ndarray) -> dict[str, np.ndarray]:
    """Do as the engine does with what comes back."""
    scored = batch["scored"]
    kept = {name: batch[name][scored] for name in ("label", "at_row", "at_place") if name in batch}
    return {"logits": answers, "part": np.repeat(parts, scored.sum(axis=1)), **kept}


def test_every_row_gets_the_sums_of_its_own_tokens_in_any_order() -> None:
    made = encoder(masking=Masking(probability=0.5))
    features, batch = everything(made, SCORE)
    count = int(batch["scored"].sum())
    answers = np.stack([np.arange(count) / 7, np.arange(count) % 2], axis=1)
    outputs = answers_to(batch, np.arange(features.num_rows), answers)
    outcome = MaskedLm().decode(outputs, PROFILE, table())
    shuffled = np.random.default_rng(0).permutation(count)
    again = MaskedLm().decode({name: values[shuffled] for name, values in outputs.items()}, PROFILE, table())
    assert (again.outputs == outcome.outputs).all()
    assert outcome.rows.tolist() == [*range(len(LINES))]
    wanted = [answers[outputs["at_row"] == row].sum(axis=0) for row in range(len(LINES))]
    assert outcome.outputs[:, [0, 2]] == pytest.approx(np.array(wanted))
    per_row = view(tokenize(pa.chunked_array([LINES]), assets().tokenizer)).lengths
    assert (outcome.outputs[:, 1] <= per_row).all()
    assert outcome.outputs[2].tolist() == [0, 0, 0]


def test_scored_tokens_are_of_the_row_they_are_counted_for() -> None:
    made = encoder(masking=Masking(probability=0.9))
    _, batch = everything(made, SCORE)
    texts = view(tokenize(pa.chunked_array([LINES]), assets().tokenizer))
    for row, token in zip(batch["at_row"][batch["scored"]], batch["label"][batch["scored"]], strict=True):
        assert token in texts[int(row)]


def test_masks_in_a_text_are_filled_in() -> None:
    made = encoder()
    asked = pa.table({"text": ["The [MASK] house stands on a [MASK].", "Night.", "[MASK]"]})
    _, batch = everything(made, SCORE, asked)
    assert "label" not in batch
    assert batch["at_row"][batch["scored"]].tolist() == [0, 0, 2]
    ids = [made.codec.vocabulary.assets.tokenizer.token_to_id(token) for token in ("old", "hill", "night")]
    best = np.array([[number, 7, -0.1, -3.0] for number in ids])
    outcome = MaskedLm().decode(answers_to(batch, np.arange(3), best), PROFILE, asked)
    told = made.put_into_words(outcome).answers
    assert told is not None
    assert told["predicted"].to_pylist() == ["old, hill", "", "night"]
    assert told["guesses"][0].as_py()[0][0] == {"token": "old", "probability": pytest.approx(np.exp(-0.1))}


def test_training_texts_that_hold_the_mask_are_faults() -> None:
    rows = pa.table({"text": ["fine", "a [MASK] here", None]})
    places = RowOrigins(("a.txt",), np.zeros(3, np.int32), np.arange(3), (1,))
    faults = encoder().faults(Rows(rows, places))
    assert [(fault.row, "[MASK]" in fault.what) for fault in faults] == [(1, True)]


def test_a_tokenizer_without_a_mask_is_refused() -> None:
    with pytest.raises(ConfigError, match="no mask token"):
        MaskedLm(max_length=16).encoder(PROFILE, assets("bpe", "decoder"))


def test_a_block_longer_than_the_model_reads_is_refused() -> None:
    with pytest.raises(ConfigError, match="at most 64"):
        MaskedLm(max_length=65).encoder(PROFILE, assets())


def test_left_padding_moves_no_mask() -> None:
    left = MaskedLm(max_length=16, pack=False).encoder(PROFILE, assets("unigram", "xlnet"))
    features = left.encode(table())
    together = left.collate(features, np.arange(features.num_rows), TRAIN)
    for index in range(features.num_rows):
        alone = left.collate(features, np.array([index]), TRAIN)
        assert alone["label"][alone["scored"]].tolist() == together["label"][index][together["scored"][index]].tolist()
