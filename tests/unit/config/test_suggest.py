import shlex
from pathlib import Path

import pytest

from burnish.config import load
from burnish.config.nodes import Node
from burnish.config.shape import describe_fields
from burnish.config.sources import override, read_value
from burnish.config.suggest import KnownOption, assignment, every_option, suggestion
from burnish.errors import ConfigError
from burnish.registry import default_registry
from burnish.spec.experiment import Experiment, Runtime, TrainPolicy

REGISTRY = default_registry()
EVERYWHERE = list(every_option(REGISTRY))
ROOT = [KnownOption("", *each) for each in describe_fields(Experiment).items()]
TRAIN = [KnownOption("train", *each) for each in describe_fields(TrainPolicy).items()]
RUNTIME = [KnownOption("runtime", *each) for each in describe_fields(Runtime).items()]
ONE_SLIP = [KnownOption("data", "speed")]


def hint(typed: str, siblings: list[KnownOption] = ROOT, everywhere: list[KnownOption] = EVERYWHERE) -> str:
    path, _, value = typed.partition("=")
    return suggestion(path, given(value), siblings=siblings, everywhere=everywhere, registry=REGISTRY)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "model=bert-base-uncased",
            "`name` of the type transformer, write `model={type: transformer, name: bert-base-",
        ),
        ("data.decimal=x", "data.decimal must be one of '.', ',', got 'x'\n"),
        ("optimizer.type=sideways", "no optimizer is called 'sideways'. Known are adamw"),
    ],
)
def test_a_table_with_a_value_of_another_kind_is_answered(tmp_path: Path, typed: str, said: str) -> None:
    (tmp_path / "a.yaml").write_text("task: {type: tabular, target: y}\ndata: {train: rows.csv}\n")
    with pytest.raises(ConfigError) as refused:
        load(str(tmp_path / "a.yaml"), overrides=[typed])
    assert said in str(refused.value)
    assert "If it is meant" not in str(refused.value) or "bert" in typed


def given(value: str) -> Node:
    return read_value(value, source="here")


@pytest.mark.parametrize(
    ("typed", "siblings", "meant"),
    [
        ("train.batch_siz=3", TRAIN, "Did you mean `train.batch`?"),
        ("batch_size=3", ROOT, "Did you mean `train.batch=3`?"),
        ("train.seed=3", TRAIN, "Did you mean `runtime.seed=3`?"),
        ("weight_deca=0.1", ROOT, "Did you mean `optimizer.weight_decay`?"),
        ("num_train_epochs=3", ROOT, "Did you mean `train.length=\"3 epochs\"`?"),
        ("model.size.d_model=32", [], "Did you mean `model.size.hidden_size=32`?"),
        ("model.size.n_layer=2", [], "Did you mean `model.size.num_hidden_layers=2`?"),
        ("adam_beta1=0.8", ROOT, "Did you mean `optimizer.betas=\"[0.8, 0.999]\"`?"),
        ("train.batch=3", ROOT, "Did you mean `train.batch=3`?"),
        ("checkpoint_every=50", ROOT,
         'Did you mean `train.checkpoint_every="50 steps"` or `train.checkpoint_every="50 epochs"`?'),
        ("checkpoint_every=5 minutes", ROOT, 'Did you mean `train.checkpoint_every="5 minutes"`?'),
        ("checkpoint_every=often", ROOT, "Did you mean `train.checkpoint_every`?"),
        ("runtime.xyzzy=1", RUNTIME, "Options here are seed, precision, device, threads, deterministic, profile."),
        ("strength=1", ROOT, f"Options here are {', '.join(option.key for option in ROOT)}."),
        ("xyzzy=1", [], "Options here are none."),
        ("output_dir=out", ROOT, "It is a flag here: `--dir out`."),
        ("do_train=true", ROOT, "It is a command here: `burnish train EXPERIMENT`."),
        ("max_steps=-1", ROOT, "Did you mean `train.length`?"),
        ("fp16=true", ROOT, "Did you mean `runtime.precision=fp16`?"),
        ("fp16=false", ROOT, "Did you mean `runtime.precision`?"),
        ("save_steps=50", ROOT, "Did you mean `train.checkpoint_every=\"50 steps\"`?"),
    ],
)  # fmt: skip
def test_the_option_that_was_meant_is_named(typed: str, siblings: list[KnownOption], meant: str) -> None:
    assert hint(typed, siblings) == meant


def test_a_near_sibling_comes_before_the_same_key_elsewhere() -> None:
    assert hint("data.seed=1", ONE_SLIP) == "Did you mean `data.speed` or `runtime.seed=1`?"


@pytest.mark.parametrize("typed", ["searcherr={name: single}", "runtime.seeds=many", "max_lenght=true"])
def test_a_guess_by_spelling_needs_a_value_that_fits(typed: str) -> None:
    assert "Did you mean" not in hint(typed)


def test_accumulation_is_told_apart_from_theirs() -> None:
    said = hint("gradient_accumulation_steps=4")
    assert "Did you mean" not in said
    assert said.startswith("In other tools it multiplies the batch. Here `train.batch` is the whole batch")
    assert "multiply `train.batch` by 4 and set `train.accumulate=4`" in said
    assert "set `train.accumulate=4` alone" in said


def test_what_the_types_of_this_experiment_do_not_take_is_said_so() -> None:
    assert hint("max_seq_length=64", everywhere=TRAIN) == "It would be `task.max_length`, which not every task takes."


def test_a_suggested_value_can_be_typed_and_read_back() -> None:
    for value in ("5 epochs", "[0.9, 0.98]", "{type: f1, average: macro}", 'a "b"', "plain", "a$b"):
        (word,) = shlex.split(assignment("a.b", value))
        assert override(word).nodes["a"].nodes["b"] is not None  # type: ignore[union-attr]
        assert word == f"a.b={value}"
