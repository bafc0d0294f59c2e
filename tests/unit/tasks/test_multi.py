"""Several tasks as one: how often each comes, what the network must end in, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from burnish.data.truncation import Head
from burnish.metrics.classification import Accuracy
from burnish.spec.parts import join_profiles
from burnish.spec.values import Profile
from burnish.tasks.multi import Multi, Sampling
from burnish.tasks.text_classification import TextClassification

ONE = TextClassification(truncation=Head())


def test_proportional_and_uniform_are_powers_of_the_size() -> None:
    assert [Sampling().power(epoch, num_epochs=3) for epoch in range(3)] == [1.0, 1.0, 1.0]
    assert [Sampling(kind="uniform").power(epoch, num_epochs=3) for epoch in range(3)] == [0.0, 0.0, 0.0]


def test_annealed_goes_from_proportional_towards_uniform_with_the_epochs() -> None:
    powers = [Sampling(kind="annealed").power(epoch, num_epochs=5) for epoch in range(7)]
    assert powers == pytest.approx([1 - 0.8 * min(epoch, 4) / 4 for epoch in range(7)])
    early = Sampling(kind="annealed", end=0.0, epochs=3)
    assert [early.power(epoch, num_epochs=9) for epoch in range(5)] == pytest.approx([1, 0.5, 0, 0, 0])


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 20), st.integers(0, 40))
def test_powers_stay_between_start_and_end(start: float, end: float, epochs: int, epoch: int) -> None:
    power = Sampling(kind="annealed", start=start, end=end).power(epoch, num_epochs=epochs)
    assert min(start, end) - 1e-9 <= power <= max(start, end) + 1e-9


def test_options_without_effect_are_refused() -> None:
    with pytest.raises(ValidationError, match="has `end`, without effect on uniform"):
        Sampling(kind="uniform", end=0.5)
    assert Sampling(kind="uniform", start=1.0, end=0.2, epochs=None) == Sampling(kind="uniform")  # a plan has them all


def test_the_head_has_one_for_every_task_with_its_weight() -> None:
    task = Multi(tasks={"mood": ONE, "stars": ONE}, weights={"stars": 0.5})
    profile = join_profiles({"mood": Profile("binary", ("bad", "good")), "stars": Profile("regression")})
    head = task.head(profile)
    assert {name: (part.size, part.labels, part.weight) for name, part in head.parts.items()} == {
        "mood": (2, ("bad", "good"), 1.0),
        "stars": (1, (), 0.5),
    }
    assert head.of_group(1) is head.parts["stars"]
    assert head.parts["mood"].of_group(1) is head.parts["mood"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tasks": {}}, "at least 1 item"),
        ({"tasks": {"mean": ONE}}, "has a task called mean"),
        ({"tasks": {"a.b": ONE, "../x": ONE, "2nd": ONE, "ok": ONE}}, "has a task called a.b, ../x, 2nd;"),
        ({"tasks": {"all": Multi(tasks={"mood": ONE})}}, "has several tasks in all; put all of them side by side"),
        ({"tasks": {"mood": ONE}, "weights": {"mod": 2}}, "has `weights` for mod, and `tasks` are mood"),
        ({"tasks": {"mood": ONE}, "scores": {"mod": (Accuracy(),)}}, "has `scores` for mod, and `tasks` are mood"),
        ({"tasks": {"mood": ONE}, "scores": {"mood": ()}}, "has no metric in `scores` for mood"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said.replace(".", r"\.")):
        Multi(**options)  # type: ignore[arg-type]  # that is the test
