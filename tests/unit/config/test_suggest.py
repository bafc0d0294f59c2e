import pytest

from burnish.config.suggest import Option, suggestion

EVERYWHERE = [Option("", "train"), Option("train", "batch"), Option("train", "length"), Option("runtime", "seed"),
              Option("optimizer", "learning_rate"), Option("train.batch", "tokens")]  # fmt: skip
ROOT = [Option("", "task"), Option("", "train")]
TRAIN = [Option("train", "batch"), Option("train", "length")]


@pytest.mark.parametrize(
    ("key", "siblings", "meant"),
    [
        ("batch_siz", TRAIN, "Did you mean `train.batch`?"),
        ("batch_size", ROOT, "Did you mean `train.batch`?"),
        ("seed", TRAIN, "Did you mean `runtime.seed`?"),
        ("lr", ROOT, "Did you mean `optimizer.learning_rate`?"),
        ("learning_rat", ROOT, "Did you mean `optimizer.learning_rate`?"),
        ("num_train_epochs", ROOT, "Did you mean `train.length`?"),
        ("train.batch", ROOT, "Did you mean `train.batch`?"),
        ("xyzzy", TRAIN, "Options here are batch, length."),
        ("strength", ROOT, "Options here are task, train."),
        ("xyzzy", [], "Options here are none."),
    ],
)
def test_the_option_that_was_meant_is_named(key: str, siblings: list[Option], meant: str) -> None:
    assert suggestion(key, siblings=siblings, everywhere=EVERYWHERE) == meant


def test_a_near_sibling_comes_before_the_same_key_elsewhere() -> None:
    hint = suggestion("seed", siblings=[Option("data", "speed")], everywhere=EVERYWHERE)
    assert hint == "Did you mean `data.speed` or `runtime.seed`?"
