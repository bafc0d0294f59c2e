from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.config.render import diff, fingerprint, render
from burnish.config.resolve import Resolved, load, resolve
from burnish.config.sources import override
from burnish.registry import Registry
from burnish.spec.experiment import Batching, Experiment, TrainPolicy
from burnish.spec.interval import Interval
from tests.unit.config import fakes
from tests.unit.config.fakes import HERE, fake_registry, layer

GOLDEN = Path(__file__).parents[2] / "golden" / "config"
REGISTRY = fake_registry()


def made(text: str = "task: guess", *overrides: str) -> Resolved:
    return resolve([layer(text), *map(override, overrides)], registry=REGISTRY)


def reloaded(text: str) -> Experiment:
    return resolve([layer(text)], registry=REGISTRY).experiment


intervals = st.builds(
    Interval,
    st.integers(1, 10**9).map(float) | st.sampled_from([0.5, 0.125]),
    st.sampled_from(["steps", "epochs", "minutes"]),
)
texts = st.text(max_size=10)
experiments = st.builds(
    Experiment,
    name=texts,
    description=texts,
    task=st.builds(
        fakes.Guess,
        text=texts,
        labels=st.none() | st.lists(texts, max_size=3).map(tuple),
        max_length=st.integers(1, 512),
        truncation=st.just(fakes.Front()) | st.builds(fakes.Ends, share=st.floats(0.001, 0.999)),
        views=st.sampled_from([1, 3]),
        weights=st.sampled_from(["none", "balanced", (1.0, 2e-7)]),
    ),
    data=st.builds(
        fakes.Table,
        path=st.none() | texts,
        filter=st.dictionaries(texts, texts, max_size=2),
        cut=st.none() | st.builds(fakes.Cut, rows=st.integers(1, 9)),
        cuts=st.lists(st.builds(fakes.Cut, rows=st.integers(1, 9)), max_size=2).map(tuple),
        header=st.booleans(),
    ),
    model=st.just(fakes.Line()) | st.builds(fakes.Net, name=texts, fallback=st.none() | st.just(fakes.Ends())),
    optimizer=st.builds(fakes.Down, learning_rate=st.floats(1e-300, 1e300)),
    schedule=st.just(fakes.Flat()),
    train=st.builds(
        TrainPolicy,
        length=intervals,
        batch=st.builds(Batching, tokens=st.none() | st.integers(1, 10**6)),
        clip=st.none() | st.just(0.3),
    ),
    metrics=st.none() | st.lists(st.just(fakes.Right()) | st.just(fakes.Mean(average="macro")), max_size=2).map(tuple),
    track=st.just(()) | st.just((fakes.Watch(),)),
)  # fmt: skip


@given(experiments)
def test_canonical_yaml_loads_back_to_the_same_experiment(experiment: Experiment) -> None:
    text = render(experiment, registry=REGISTRY)
    assert reloaded(text) == experiment
    assert render(reloaded(text), registry=REGISTRY) == text


@settings(max_examples=40)
@given(experiments, texts)
def test_it_loads_back_with_origins_in_comments_too(experiment: Experiment, origin: str) -> None:
    assert reloaded(render(experiment, origin=lambda path: origin, registry=REGISTRY)) == experiment


@given(experiments, experiments)
def test_experiments_differ_exactly_when_their_differences_say_so(left: Experiment, right: Experiment) -> None:
    assert (diff(left, right, registry=REGISTRY) == []) == (left == right)


def test_a_difference_names_both_values() -> None:
    changes = diff(
        made().experiment, made("task: guess", "model=line", "train.clip=null").experiment, registry=REGISTRY
    )
    assert ("model.type", "transformer", "line") in [(each.path, each.left, each.right) for each in changes]
    assert ("model.bias", None, "true") in [(each.path, each.left, each.right) for each in changes]
    assert ("train.clip", "1.0", "null") in [(each.path, each.left, each.right) for each in changes]


@pytest.mark.parametrize("change", ["name=x", "description=x", "track=watch"])
def test_a_fingerprint_ignores_what_changes_nothing_learned(change: str) -> None:
    assert fingerprint(made().experiment, registry=REGISTRY) == fingerprint(
        made("task: guess", change).experiment, registry=REGISTRY
    )


@pytest.mark.parametrize(
    "change",
    ["runtime.seed=1", "model=x", "task.max_length=5", "train.batch=3", "metrics=right", "task.truncation=ends"],
)
def test_a_fingerprint_notices_everything_else(change: str) -> None:
    assert fingerprint(made().experiment, registry=REGISTRY) != fingerprint(
        made("task: guess", change).experiment, registry=REGISTRY
    )


def test_a_fingerprint_does_not_depend_on_how_it_was_written() -> None:
    long = f"task: {{type: '{HERE}:Guess', max_length: 128.0}}\noptimizer: {{type: adamw, learning_rate: 0.001}}"
    assert fingerprint(made(long).experiment, registry=REGISTRY) == fingerprint(
        made("task: g").experiment, registry=REGISTRY
    )


def test_a_component_that_nobody_lists_is_written_by_its_address() -> None:
    bare = made(f"task: guess\nmetrics: {HERE}:Right").experiment
    unlisted = Registry(entry_points=lambda group: [], catalog={**fakes.CATALOG, "metrics": {}})
    assert f"type: {HERE}:Right" in render(bare, registry=unlisted)


def test_the_canonical_form_is_as_the_golden_file_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("task: guess\nmodel: tiny\nmetrics: [right, mean]\ntrain:\n  length: 2 epochs\n")
    found = load("mine.yaml", overrides=["train.batch=16", "data.filter={lang: en}"], registry=REGISTRY)
    text = render(found.experiment, origin=found.origin, registry=REGISTRY)
    assert text == (GOLDEN / "canonical.yaml").read_text()


def test_components_by_name_load_back() -> None:
    address = f"{fakes.__name__}:Bundle"
    text = (
        f"task: {{type: '{address}', tasks: {{one: guess, two: {{type: guess, text: b}}}}, scores: {{two: [right]}}}}"
    )
    experiment = made(text).experiment
    assert reloaded(render(experiment, registry=REGISTRY)) == experiment
    changed = made(text, "task.tasks.two.text=c").experiment
    assert [each.path for each in diff(experiment, changed, registry=REGISTRY)] == ["task.tasks.two.text"]
