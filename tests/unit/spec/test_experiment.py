"""Numbers that no training can bear are refused with the experiment, not by what it runs into."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.commands.config import check
from burnish.config import load, render
from burnish.data.options import Portion, SplitPlan
from burnish.errors import ConfigError
from burnish.optim.schedules import LinearDecay, Span
from burnish.spec.experiment import Batching, Keep, Runtime, TrainPolicy
from burnish.spec.interval import NEVER, Interval


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "table.yaml"
    path.write_text("task: {type: tabular, target: y}\ndata: rows.csv\nmodel: linear\n")
    return path


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("train.length=never", 'train.length must end: give a number with a unit, like "3 epochs", got '),
        ("runtime.seed=4294967296", "runtime.seed must be less than 4294967296, got 4294967296"),
        ("runtime.threads=100000", "runtime.threads must be at most 1024, got 100000"),
        ("train.batch=1000000000000000000000", "train.batch takes whole numbers below 2^63, and `examples` is 1e+21"),
        ("train.accumulate=1000000000000000000000", "train takes whole numbers below 2^63, and `accumulate` is 1e+21"),
        (f"train.accumulate='{'9' * 400}'", "train takes whole numbers below 2^63, and `accumulate` is 1e+400"),
        ("optimizer.learning_rate=inf", "optimizer.learning_rate must be a finite number, got inf"),
        ("train.clip=nan", "train.clip must be a finite number, got nan"),
    ],
)
def test_an_extreme_number_is_refused(written: str, sentence: str, table: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        check(str(table), overrides=[written])
    assert sentence in str(refused.value)


numbers = st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False)
counts = st.integers(1, 2**63 - 1)
intervals = st.builds(Interval, numbers, st.sampled_from(["steps", "epochs", "examples", "minutes"]))
policies = st.builds(
    TrainPolicy,
    length=intervals,
    evaluate_every=intervals | st.just(NEVER),
    checkpoint_every=intervals | st.just(NEVER),
    batch=st.builds(Batching, examples=counts) | st.builds(Batching, tokens=counts),
    accumulate=counts,
    clip=numbers | st.none(),
    patience=counts | st.none(),
    keep=st.builds(Keep, last=counts, every=intervals),
    loss_limit=numbers | st.none(),
    max_minutes=numbers | st.none(),
)
warmups = st.builds(Span, st.floats(0, 100), st.just("%")) | st.builds(Span, counts.map(float), st.just("steps"))


@settings(max_examples=25)
@given(policies, warmups, st.floats(0, 1, exclude_min=True, exclude_max=True), st.integers(0, 2**32 - 1))
def test_whatever_its_numbers_an_experiment_is_read_back_from_what_is_written(
    table: Path, policy: TrainPolicy, warmup: Span, share: float, seed: int
) -> None:
    plain = check(str(table)).experiment
    data = plain.data.model_copy(update={"split": SplitPlan(validation=Portion(share))})  # type: ignore[attr-defined]  # files
    parts = {"data": data, "schedule": LinearDecay(warmup=warmup), "train": policy, "runtime": Runtime(seed=seed)}
    experiment = plain.model_copy(update=parts)
    written = table.with_name("plan.yaml")
    written.write_text(render(experiment), encoding="utf-8")
    assert load(str(written)).experiment == experiment


@given(st.integers(1, 10**9))
def test_an_automatic_batch_leaves_enough_steps_an_epoch(num_rows: int) -> None:
    size = Batching(examples="auto").settled(num_rows).examples
    assert size in (8, 16, 32, 64, 128, 256)
    assert size == 8 or num_rows // size >= 16
    assert size == 256 or num_rows // (2 * size) < 16


@given(st.integers(1, 10**6), st.sampled_from([Batching(), Batching(examples=3), Batching(tokens=512)]))
def test_a_batch_that_is_stated_stays(num_rows: int, batching: Batching) -> None:
    assert batching.settled(num_rows) == batching


@given(st.integers(1, 10**9), st.sampled_from([32, 256]))
def test_an_automatic_batch_is_no_larger_than_suits_the_model(num_rows: int, most: int) -> None:
    assert Batching(examples="auto").settled(num_rows, most=most).examples == min(
        most, Batching(examples="auto").settled(num_rows).examples or 0
    )


@pytest.mark.parametrize(
    ("epoch_steps", "length"),
    [(1, "30 epochs"), (7, "29 epochs"), (20, "10 epochs"), (66, "4 epochs"), (67, "3 epochs"), (10**6, "3 epochs")],
)
def test_an_automatic_length_gives_few_rows_more_epochs(epoch_steps: int, length: str) -> None:
    assert str(TrainPolicy(length="auto").length_for(epoch_steps)) == length


def test_a_length_that_is_stated_stays() -> None:
    assert str(TrainPolicy(length=Interval(7, "steps")).length_for(1)) == "7 steps"


def test_words_other_than_auto_are_no_length(table: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        check(str(table), overrides=["train.length=long", "optimizer.learning_rate=fast"])
    assert 'train.length must be a number with a unit, like "500 steps"' in str(refused.value)
    assert "optimizer.learning_rate must be a number or auto, got 'fast'" in str(refused.value)
