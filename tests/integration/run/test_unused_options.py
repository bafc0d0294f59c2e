"""What components say they do not read has no effect: the same plan of steps and the same bits, whatever it says."""

import hashlib
import itertools
from pathlib import Path

import pytest

from burnish.catalog import CATALOG
from burnish.config import load
from burnish.dist.world import Solo
from burnish.engine.loop import fit
from burnish.engine.state import TrainState
from burnish.run.build import build_feed, build_learner, build_milestones, build_stream
from burnish.run.check import explain_unused, unused_options
from burnish.run.predicting.scoring import Scorer
from burnish.run.preparation.prepare import prepare
from burnish.run.record.directory import RunDirectory

TABLES = [name for name in CATALOG["models"] if name != "transformer"]
STEPS = 9
OTHERWISE = {
    "optimizer": "optimizer={type: sgd, learning_rate: 0.7}",
    "optimizer.learning_rate": "optimizer.learning_rate=0.37",
    "optimizer.weight_decay": "optimizer.weight_decay=0.4",
    "optimizer.no_decay": "optimizer.no_decay=[weight]",
    "optimizer.deep.no_decay": "optimizer.deep.no_decay=[weight]",
    "optimizer.wide.no_decay": "optimizer.wide.no_decay=[weight]",
    "schedule": "schedule={type: exponential, rate: 0.1, every: 1 steps}",
    "schedule.warmup": "schedule.warmup=50%",
    "schedule.warmup_power": "schedule.warmup_power=3",
    "train.length": "train.length=2 steps",
    "train.evaluate_every": "train.evaluate_every=3 steps",
    "train.checkpoint_every": "train.checkpoint_every=3 steps",
    "train.patience": "train.patience=1",
    "train.batch": "train.batch=5",
    "train.accumulate": "train.accumulate=2",
    "train.recompute": "train.recompute=true",
    "train.clip": "train.clip=0.001",
    "train.clip_tensor": "train.clip_tensor=0.001",
    "train.clip_value": "train.clip_value=0.001",
    "train.ema": "train.ema=0.5",
    "train.loss_limit": "train.loss_limit=1e-9",
    "train.recovery": "train.recovery={action: stop}",
    "train.recovery.factor": "train.recovery.factor=0.1",
    "task.bins": "task.bins=3",
    "task.crosses": "task.crosses=[[color, shape]]",
    "task.focal_gamma": "task.focal_gamma=5",
    "task.quantile": "task.quantile=0.9",
    "task.threshold": "task.threshold=0.9",
    "model.scale": "model.scale=0.3",
    "model.first": "model.first=9",
    "model.layers": "model.layers=4",
    "model.numbers.size": "model.numbers.size=5",
    "model.numbers.frequencies": "model.numbers.frequencies=5",
    "model.numbers.scale": "model.numbers.scale=5",
}
"""Another value for each option that some component does not read."""
IN_SILENCE = {"train.accumulate", "train.recovery", "train.recovery.factor", "train.recompute", "train.loss_limit"}
"""What changes memory alone, or comes into play only when a step goes wrong."""


@pytest.fixture(autouse=True)
def _table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path / "cache"))
    colors, shapes = itertools.cycle("rgb"), itertools.cycle(("box", "ball"))
    rows = [f"{(7 * n) % 11 / 3},{next(colors)},{next(shapes)},{n % 2}" for n in range(60)]
    Path("table.csv").write_text("\n".join(["size,color,shape,y", *rows]))
    Path("table.yaml").write_text(
        "task: {type: tabular, target: y, min_count: 1}\ndata: {train: table.csv, split: {validation: 12}}\n"
        "train: {length: 9 steps, batch: 16}\nruntime: {threads: 1}\n"
    )


def learned(name: str, *overrides: str) -> tuple[str, list[object]]:
    """Train a few steps in this process, and give a digest of the weights and the plan of the steps."""
    experiment = load(name, overrides=list(overrides)).experiment
    prepared = prepare(experiment, RunDirectory(Path("run")))
    scorer, learner = Scorer(experiment, prepared), build_learner(experiment, prepared, Solo())
    stream = build_stream(experiment, prepared, Solo())
    pace = build_milestones(scorer, stream)
    taken = itertools.count()
    state = TrainState()
    for _event in fit(
        state,
        build_feed(scorer, learner, stream=stream),
        pace,
        evaluate=lambda: {pace.select: 0.5},
        save=lambda _state: None,
        should_stop=lambda: "enough" if next(taken) >= STEPS else None,
    ):
        pass
    digest = hashlib.sha256()
    with learner.averaged():
        for key, tensor in learner.network.state_dict().items():
            digest.update(key.encode() + tensor.numpy().tobytes())
    plan = [pace.length, pace.evaluate_every, pace.checkpoint_every, state.position.step]
    return digest.hexdigest(), plan


def check_unused(name: str, *overrides: str) -> None:
    declared = dict(unused_options(load(name, overrides=list(overrides)).experiment))
    unknown = declared.keys() - OTHERWISE.keys()
    assert unknown == set(), "give each of these another value in OTHERWISE"
    whole = [path for path in declared if "." not in path]
    parts = [path for path in declared if path.partition(".")[0] not in whole]
    others = [OTHERWISE[path] for path in (*whole, *parts)]
    assert learned(name, *overrides, *others) == learned(name, *overrides)


@pytest.mark.parametrize("model", TABLES)
@pytest.mark.parametrize("optimizer", CATALOG["optimizers"])
def test_no_option_that_a_model_and_an_optimizer_leave_unread_has_an_effect(model: str, optimizer: str) -> None:
    options = {
        "torch": "optimizer={type: torch, name: RAdam}",
        "split": "optimizer={type: split, deep: {type: adam}}",
    }.get(optimizer, f"optimizer={optimizer}")
    pytest.importorskip("lightgbm") if model == "gbdt" else None
    if optimizer == "split" and model not in ("linear", "wide_deep", "gbdt", "auto"):
        pytest.skip("it needs a wide part")
    small = {
        "auto": "model={type: auto, members: [linear], folds: 2}",
        "gbdt": "model={type: gbdt, rounds: 4, least_rows: 2}",
        "linear": "model=linear",
    }
    check_unused("table.yaml", small.get(model, f"model={{type: {model}, first: 8}}"), options)


@pytest.mark.parametrize(
    "overrides",
    [
        ["model={type: deep, hidden: [4, 3]}"],
        ["model={type: deep, first: 4, layers: 1}"],
        ["model={type: tab_m, first: 4, numbers: periodic}"],
        ["model=linear", "train.evaluate_every=never"],
        ["model=linear", "optimizer={type: adafactor, warmup_init: true}"],
        ["model=linear", "optimizer={type: adafactor, beta1: 0.9, scale_parameter: false}"],
    ],
)
def test_no_option_that_another_one_leaves_unread_has_an_effect(overrides: list[str]) -> None:
    check_unused("table.yaml", *overrides)


@pytest.mark.parametrize("optimizer", ["adamw", "adam", "adafactor"])
def test_no_option_left_unread_beside_a_transformer_has_an_effect(tiny_bert: Path, optimizer: str) -> None:
    rows = [f"{word} film,{number % 2}" for number, word in enumerate(["good", "dull"] * 20)]
    Path("texts.csv").write_text("\n".join(["text,label", *rows]))
    Path("texts.yaml").write_text(
        f"task: {{type: text_classification, max_length: 8}}\ndata: {{train: texts.csv, split: {{validation: 8}}}}\n"
        f"model: {tiny_bert}\ntrain: {{length: 4 steps, batch: 4}}\nruntime: {{threads: 1, precision: fp32}}\n"
    )
    check_unused("texts.yaml", f"optimizer={optimizer}")


@pytest.mark.parametrize("model", ["linear", "{type: gbdt, rounds: 4, least_rows: 2}"])
def test_every_option_that_changes_nothing_is_named(model: str) -> None:
    if "gbdt" in model:
        pytest.importorskip("lightgbm")
    base = [f"model={model}", "optimizer.learning_rate=0.01"]
    before, experiment = learned("table.yaml", *base), load("table.yaml", overrides=base).experiment
    for path, override in OTHERWISE.items():
        takes = path.split(".")[0] in ("schedule", "train", "task") or (path.count(".") == 1 and "optimizer" in path)
        if not takes or path in IN_SILENCE or path == "task.threshold":
            continue
        has_effect = learned("table.yaml", *base, override) != before
        assert has_effect == (explain_unused(experiment, path) is None), path


@pytest.mark.parametrize("truncation", ["tail", "windows", "random_spans", "{type: ht, head: 3, tail: 3}"])
@pytest.mark.parametrize(("words", "is_noted"), [(4, True), (40, False)])
def test_a_truncation_that_no_text_needs_is_noted(tiny_bert: Path, truncation: str, words: int, is_noted: bool) -> None:
    rows = [f"{' '.join([word] * words)},{number % 2}" for number, word in enumerate(["good", "dull"] * 20)]
    Path("texts.csv").write_text("\n".join(["text,label", *rows]))
    Path("texts.yaml").write_text(
        f"task: {{type: text_classification, max_length: 16, truncation: {truncation}}}\n"
        f"data: {{train: texts.csv, split: {{validation: 8}}}}\nmodel: {tiny_bert}\n"
    )
    told: list[str] = []
    prepare(load("texts.yaml").experiment, RunDirectory(Path("run")), tell=told.append)
    sentence = "task.truncation has no effect: the longest text is of 4 tokens, and all of them fit"
    assert (sentence in told) == is_noted
