"""BERT's pre-training: pairs in order and out of order, hidden tokens on both sides."""

import numpy as np
import pytest

from burnish.data.batching.ragged import view
from burnish.spec.values import Profile, RandomKey
from burnish.tasks.language_modeling.pair_encoder import PairEncoder
from burnish.tasks.language_modeling.task import Masking, Pretraining
from tests.language import LINES, assets, table

PROFILE = Profile("likelihood")
ROWS = table(LINES * 40)


def encoder(pairing: str = "sentence_order", **options: object) -> PairEncoder:
    made = Pretraining(max_length=20, pairing=pairing, **options).encoder(PROFILE, assets())  # type: ignore[arg-type]
    assert isinstance(made, PairEncoder)
    return made


def draw(epoch: int, *, is_training: bool = True) -> RandomKey:
    return RandomKey(seed=5, epoch=epoch, is_training=is_training)


def test_a_pair_in_order_is_the_stretch_and_a_turned_one_its_halves_turned() -> None:
    made = encoder()
    features = made.encode(ROWS)
    whole = view(features["tokens"].combine_chunks())
    indices = np.arange(features.num_rows)
    first, second, is_wrong = made.pairs(features, indices, draw(0))
    for at in indices:
        sides = [second[at], first[at]] if is_wrong[at] else [first[at], second[at]]
        assert np.concatenate(sides).tolist() == whole[at].tolist()
        assert min(len(first[at]), len(second[at])) > 0
    assert is_wrong.mean() == pytest.approx(0.5, abs=0.12)


def test_every_epoch_cuts_and_turns_anew_and_scoring_never() -> None:
    made = encoder()
    features = made.encode(ROWS)
    indices = np.arange(features.num_rows)
    one, other = (made.pairs(features, indices, draw(epoch))[2] for epoch in (0, 1))
    assert (one != other).any()
    scored = [made.collate(features, indices, draw(epoch, is_training=False)) for epoch in (0, 3)]
    assert all((scored[0][name] == scored[1][name]).all() for name in scored[0])


def test_a_stranger_is_of_another_document() -> None:
    made = encoder("next_sentence")
    features = made.encode(ROWS)
    indices = np.arange(features.num_rows)
    first, second, is_wrong = made.pairs(features, indices, draw(0))
    whole = view(features["tokens"].combine_chunks())
    assert is_wrong.mean() == pytest.approx(0.5, abs=0.12)
    assert (first.lengths + second.lengths <= 17).all()
    for at in np.flatnonzero(~is_wrong):
        assert np.concatenate([first[at], second[at]]).tolist() == whole[at].tolist()


def test_one_document_alone_has_no_strangers() -> None:
    made = encoder("next_sentence")
    features = made.encode(table(LINES[4:5]))
    assert not made.pairs(features, np.arange(features.num_rows), draw(0))[2].any()


def test_a_batch_is_framed_and_labels_restore_it() -> None:
    made = encoder(masking=Masking(probability=0.4))
    features = made.encode(ROWS)
    indices = np.arange(30)
    batch = made.collate(features, indices, draw(2))
    first, second, is_wrong = made.pairs(features, indices, draw(2))
    assert batch["pair_label"].tolist() == is_wrong.astype(int).tolist()
    cls, sep = (assets().tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
    for at in indices:
        whole = np.where(batch["scored"][at], batch["label"][at], batch["input_ids"][at])
        kept = whole[batch["attention_mask"][at].astype(bool)]
        assert kept.tolist() == [cls, *first[at], sep, *second[at], sep]
        assert batch["token_type_ids"][at].sum() == len(second[at]) + 1
    assert batch["input_ids"].shape[1] <= 20


def test_an_example_is_the_same_in_any_batch() -> None:
    made = encoder("next_sentence")
    features = made.encode(ROWS)
    together = made.collate(features, np.arange(12), draw(1))
    for at in range(12):
        alone = made.collate(features, np.array([at]), draw(1))
        width = int(alone["attention_mask"].sum())
        for name in ("input_ids", "label", "token_type_ids"):
            assert (alone[name][0, :width] == together[name][at, :width]).all()
