"""Schedules: equal to published recipes at every step, and sound everywhere else."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from burnish.config import load, render
from burnish.optim.schedules import (
    Constant,
    Cosine,
    CosineRestarts,
    Exponential,
    InverseSqrt,
    LinearDecay,
    Polynomial,
    ReduceOnPlateau,
    Span,
    Stepwise,
    WarmupStableDecay,
)

TOTAL = 40
FALLING = [
    LinearDecay(end=0.1, warmup="10%"),
    Cosine(end=0.1, warmup="3 steps"),
    Polynomial(power=3, end=0.1),
    CosineRestarts(cycles=3, end=0.1, warmup="20%"),
    CosineRestarts(cycles=3, growth=2, peak=0.5, end=0.1),
    WarmupStableDecay(end=0.1, warmup="10%", decay="30%"),
]
SMOOTH = [*FALLING, Constant(warmup="10%"), Exponential(warmup="5 steps"), Stepwise(), InverseSqrt(warmup="4 steps")]


def _published(name: str, *, warmup: int, **extra: Any) -> list[float]:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = transformers.get_scheduler(
        name, optimizer, num_warmup_steps=warmup, num_training_steps=TOTAL, scheduler_specific_kwargs=extra
    )
    factors = []
    for _ in range(TOTAL + 1):
        factors.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return factors


@pytest.mark.parametrize("warmup", [0, 1, 4, 7])
@pytest.mark.parametrize(
    ("ours", "name", "extra"),
    [
        (LinearDecay, "linear", {}),
        (Cosine, "cosine", {}),
        (CosineRestarts, "cosine_with_restarts", {}),
        (CosineRestarts, "cosine_with_restarts", {"cycles": 3}),
        (Polynomial, "polynomial", {"end": 1e-7}),
        (Polynomial, "polynomial", {"power": 2.5, "end": 0.01}),
        (InverseSqrt, "inverse_sqrt", {}),
        (Constant, "constant_with_warmup", {}),
    ],
)
def test_every_step_equals_the_published_schedule(ours: Any, name: str, extra: dict[str, Any], warmup: int) -> None:
    theirs = {"cycles": "num_cycles", "power": "power", "end": "lr_end"}
    expected = _published(name, warmup=warmup, **{theirs[key]: value for key, value in extra.items()})
    schedule = ours(warmup=f"{warmup} steps", **extra)
    assert [schedule.factor(step, TOTAL) for step in range(TOTAL + 1)] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("schedule", ["{type: polynomial, power: 2.0}", "{type: cosine_restarts, cycles: 2}"])
def test_a_recorded_plan_states_its_schedule_whatever_the_defaults_become(tmp_path: Path, schedule: str) -> None:
    planned = load("demo/reviews", overrides=[f"schedule={schedule}"]).experiment
    plan = tmp_path / "plan.yaml"
    plan.write_text(render(planned))
    stated = yaml.safe_load(plan.read_text())["schedule"]
    assert stated.keys() == {"type", *type(planned.schedule).model_fields}
    assert load(str(plan)).experiment.schedule == planned.schedule


@pytest.mark.parametrize("shape", ["linear", "cosine", "1-sqrt"])
@pytest.mark.parametrize(("warmup", "decay", "end"), [(0, 10, 0.2), (4, 10, 0.0), (7, 33, 0.0), (0, 40, 0.1)])
def test_a_plateau_between_warmup_and_decay_is_the_published_one(
    shape: str, warmup: int, decay: int, end: float
) -> None:
    stable = {"num_decay_steps": decay, "decay_type": shape, "min_lr_ratio": end}
    expected = _published("warmup_stable_decay", warmup=warmup, **stable)
    schedule = WarmupStableDecay(warmup=f"{warmup} steps", decay=f"{decay} steps", shape=shape, end=end)
    assert [schedule.factor(step, TOTAL) for step in range(TOTAL + 1)] == pytest.approx(expected, abs=1e-12)


def test_cycles_that_grow_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=5, T_mult=2, eta_min=0.1)
    schedule = CosineRestarts(cycles=3, growth=2, end=0.1)
    for step in range(35):  # 5 + 10 + 20
        assert schedule.factor(step, 35) == pytest.approx(theirs.get_last_lr()[0], abs=1e-9)
        optimizer.step()
        theirs.step()
    lower = CosineRestarts(cycles=3, growth=2, peak=0.5)
    assert [lower.factor(step, 35) for step in (0, 5, 15)] == pytest.approx([1, 0.5, 0.25])


@given(
    st.lists(st.floats(-2, 2) | st.sampled_from([0.5, float("nan")]), max_size=40),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from(["min", "max"]),
)
def test_a_rate_reduced_on_a_plateau_is_that_of_torch(
    scores: list[float], patience: int, cooldown: int, direction: Any
) -> None:
    torch = pytest.importorskip("torch")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    options = {"patience": patience, "cooldown": cooldown, "threshold": 0.01}
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode=direction, factor=0.5, min_lr=0.01, eps=0, **options
    )
    ours, memory = ReduceOnPlateau(rate=0.5, end=0.01, **options), {}
    for score in scores:
        theirs.step(score)
        memory = json.loads(json.dumps(ours.heed(memory, score, direction=direction), allow_nan=False))
        assert memory["factor"] == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)


@given(st.sampled_from(SMOOTH), st.integers(1, 5000), st.integers(0, 6000))
def test_a_factor_is_a_share_and_never_more(schedule: Any, total: int, step: int) -> None:
    assert 0 <= schedule.factor(step, total) <= 1 + 1e-12


@given(st.sampled_from(FALLING), st.integers(50, 5000))
def test_a_fall_ends_at_its_end(schedule: Any, total: int) -> None:
    assert schedule.factor(total, total) == pytest.approx(schedule.end)
    assert schedule.factor(total + 10, total) == pytest.approx(schedule.end)


@given(st.integers(1, 400), st.integers(1, 300), st.floats(0.5, 3))
def test_a_warmup_climbs_from_zero_to_the_full_rate(total: int, warmup: int, power: float) -> None:
    schedule = Constant(warmup=f"{warmup} steps", warmup_power=power)
    factors = [schedule.factor(step, total) for step in range(warmup + 1)]
    assert factors[0] == 0
    assert factors[-1] == 1
    assert factors == sorted(factors)


def test_a_polynomial_warmup_climbs_along_its_power() -> None:
    assert LinearDecay(warmup="10 steps", warmup_power=2).factor(5, 100) == 0.25


def test_exponential_multiplies_once_a_period_after_the_warmup() -> None:
    schedule = Exponential(rate=0.5, every="10 steps", warmup="4 steps")
    assert [schedule.factor(step, 100) for step in (4, 14, 24)] == pytest.approx([1, 0.5, 0.25])
    stairs = Exponential(rate=0.5, every="10%", staircase=True)
    assert [stairs.factor(step, 100) for step in (9, 10, 19, 20)] == [1, 0.5, 0.5, 0.25]


def test_stepwise_drops_at_its_points() -> None:
    shares = Stepwise(at=("50%", "75%"), factors=(0.1, 0.01))
    assert [shares.factor(step, 100) for step in (0, 49, 50, 74, 75, 100)] == [1, 1, 0.1, 0.1, 0.01, 0.01]
    steps = Stepwise(at=("3 steps",), factors=(0.5,))
    assert [steps.factor(step, 100) for step in (2, 3)] == [1, 0.5]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Stepwise(at=("50%",)), "needs one factor for each point, got 1 `at` and 2 `factors`"),
        (lambda: Stepwise(at=("50%", "3 steps")), "needs all points of `at` in the same unit"),
        (lambda: Stepwise(at=("75%", "50%")), "needs the points of `at` in rising order"),
        (lambda: Exponential(every="0%"), "needs `every` to be more than zero"),
        (lambda: LinearDecay(warmup=100), 'like "6%" or "100 steps"'),
        (lambda: LinearDecay(warmup="0.06"), 'like "6%" or "100 steps"'),
        (lambda: LinearDecay(warmup="2 epochs"), 'like "6%" or "100 steps"'),
        (lambda: LinearDecay(warmup="2.5 steps"), "must be a whole number of steps"),
        (lambda: LinearDecay(warmup="120%"), "must be at most 100%"),
        (lambda: LinearDecay(end=2), "less than or equal to 1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(make: Any, sentence: str) -> None:
    with pytest.raises(ValidationError) as caught:
        make()
    assert sentence in str(caught.value)


@given(st.integers(0, 100), st.integers(0, 10**6))
@example(7, 100)  # in floating point, 7 / 100 * 100 is more than 7
def test_a_share_is_rounded_up_exactly(percent: int, total: int) -> None:
    assert Span.parse(f"{percent}%").steps(total) == -(-percent * total // 100)


@given(
    st.one_of(st.integers(0, 10**9).map(lambda n: f"{n} steps"), st.decimals(0, 100, places=3).map(lambda d: f"{d}%"))
)
def test_a_span_reads_back_what_it_writes(text: str) -> None:
    assert Span.parse(str(Span.parse(text))) == Span.parse(text)


def test_a_schedule_dumps_to_what_it_loads() -> None:
    dumped = Stepwise(warmup="6%").model_dump(mode="json")
    assert dumped["warmup"] == "6%"
    assert dumped["at"] == ["50%", "75%"]
    assert Stepwise.model_validate(dumped) == Stepwise(warmup="6%")
