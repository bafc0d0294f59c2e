"""Options that the chosen model, task or optimizer does not read: named with their place, and never searched."""

from pathlib import Path

import pytest

from burnish.cli.main import run
from burnish.commands.tune import prepare_search
from burnish.config import load
from burnish.errors import ConfigError
from burnish.run.check import explain_unused, idle_options, unused_options

TREES = """\
task: {type: tabular, target: y}
data: {train: table.csv}
model: gbdt
optimizer: {type: adam, learning_rate: 0.5}
schedule: {warmup: 5%}
train: {batch: 16, length: 2 epochs, ema: null, max_minutes: 3}
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trees.yaml").write_text(TREES)
    rows = "".join(f"{number},{number % 2}\n" for number in range(40))
    Path("table.csv").write_text(f"x,y\n{rows}")


def idle(name: str, *overrides: str) -> dict[str, str]:
    found = idle_options(load(name, overrides=list(overrides)))
    return {each.message.partition(" has no effect: ")[0]: " ".join(each.details) for each in found}


def test_what_trees_do_not_read_is_named_with_its_line() -> None:
    assert idle("trees.yaml", "train.clip=2") == {
        "optimizer": "set by trees.yaml:4",
        "optimizer.learning_rate": "set by trees.yaml:4",
        "schedule.warmup": "set by trees.yaml:5",
        "train.batch.examples": "set by trees.yaml:6",
        "train.length": "set by trees.yaml:6",
        "train.clip": "set by train.clip=2 on the command line",
    }


def test_the_same_options_are_read_by_a_network() -> None:
    assert idle("trees.yaml", "model=linear") == {}


def test_only_what_the_user_set_is_named(tmp_path: Path) -> None:
    assert idle("taxi/tips", "model=gbdt") == {}
    assert idle("taxi/tips", "model=gbdt", "optimizer.learning_rate=0.1").keys() == {"optimizer.learning_rate"}
    plan = tmp_path / "run" / "plan.yaml"
    plan.parent.mkdir()
    plan.write_text(TREES)
    assert idle(str(plan)) == {}


@pytest.mark.parametrize(
    ("overrides", "unused"),
    [
        (["schedule={type: cosine, warmup_power: 2}"], {"schedule.warmup_power"}),
        (["schedule={type: cosine, warmup: 5%, warmup_power: 2}"], set()),
        (["schedule={type: cosine_restarts, peak: 0.5}"], {"schedule.peak"}),
        (["schedule={type: cosine_restarts, peak: 0.5, cycles: 2}"], set()),
        (["optimizer={type: adam, no_decay: [bias]}"], {"optimizer.no_decay"}),
        (["optimizer={type: adafactor, warmup_init: true, learning_rate: 1}"], {"optimizer.learning_rate"}),
        (["train.evaluate_every=never", "train.patience=3"], {"train.patience"}),
        (["train.recovery={action: skip, factor: 0.1}"], {"train.recovery.factor"}),
        (["train.recovery={action: lower, factor: 0.1}"], set()),
        (["task.focal_gamma=1.5"], {"task.focal_gamma"}),
        (["task.focal_gamma=1.5", "task.loss=focal"], set()),
        (["task.kind=binary", "task.threshold=0.4"], {"task.threshold"}),
        (["task={type: masked_lm, text: text, pack: false, join: x}"], {"task.join"}),
        (["task={type: masked_lm, text: text, masking: {max_span: 3}}"], {"task.masking.max_span"}),
        (["task={type: question_answering, end_n_top: 3}"], {"task.end_n_top"}),
    ],
)
def test_an_option_that_another_one_leaves_without_effect_is_named(overrides: list[str], unused: set[str]) -> None:
    assert idle("demo/reviews", *overrides).keys() == unused


@pytest.mark.parametrize(
    ("overrides", "unused"),
    [
        (["model=deep", "model.hidden=[8,4]", "model.first=16"], {"model.first"}),
        (["model=tab_m", "model.layers=1", "model.scale=0.5"], {"model.scale"}),
        (["model=deep", "model.numbers.frequencies=8"], {"model.numbers.frequencies"}),
        (["model=deep", "task.bins=8"], {"task.bins"}),
        (["model=tab_m", "task.bins=8"], set()),
        (["model=linear", "task.bins=8"], {"task.bins"}),
        (["model=deep", "task.crosses=[[x,x]]"], {"task.crosses"}),
        (["model=wide_deep", "task.crosses=[[x,x]]"], set()),
        (["model=linear", "task.quantile=0.9"], {"task.quantile"}),
    ],
)
def test_models_of_tables_say_what_they_do_not_read(overrides: list[str], unused: set[str]) -> None:
    assert idle("trees.yaml", *overrides).keys() == unused


def test_parts_of_several_tasks_are_named_with_their_place() -> None:
    overrides = ["task.tasks.sst2.focal_gamma=1.5"]
    assert idle("glue/multi", *overrides).keys() == {"task.tasks.sst2.focal_gamma"}


def test_a_section_covers_what_is_in_it_and_nothing_else() -> None:
    experiment = load("trees.yaml").experiment
    assert dict(unused_options(experiment)).keys() >= {"optimizer", "schedule", "train.length"}
    assert explain_unused(experiment, "optimizer.betas[0]")
    assert explain_unused(experiment, "optimizers") is None
    assert explain_unused(experiment, "model.learning_rate") is None


def test_checking_a_config_warns_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "check", "trees.yaml"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "trees has no problems"
    at = told.index("warning: train.length has no effect: `model.rounds` says how many trees are grown")
    assert told[at + 1] == "  set by trees.yaml:6"


@pytest.mark.parametrize(
    "space",
    ["{optimizer.learning_rate: [0.1, 0.2], model.leaves: [4, 8]}", "{optimizer: [adam, {type: sgd, momentum: 0.5}]}"],
)
def test_a_search_over_an_option_without_effect_is_refused(space: str) -> None:
    with pytest.raises(ConfigError) as refused:
        prepare_search("trees.yaml", overrides=[f"tune.space={space}"])
    (problem,) = refused.value.problems
    assert problem.message.startswith("tune.space.optimizer")
    assert "has no effect: trees are grown without an optimizer" in problem.message


def test_an_option_is_searched_where_another_choice_reads_it() -> None:
    space = "tune.space={model: [gbdt, linear], optimizer.learning_rate: [0.1, 0.2]}"
    assert prepare_search("trees.yaml", overrides=[space]).space.options.keys() == {"model", "optimizer.learning_rate"}
    space = "tune.space={schedule.warmup: ['0%', '5%'], schedule.warmup_power: [1, 2]}"
    assert prepare_search("trees.yaml", overrides=["model=linear", space]).space.options
