from pathlib import Path

import pytest

from burnish.commands import config
from burnish.errors import ConfigError
from tests.unit.config.fakes import fake_registry

REGISTRY = fake_registry()


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("task: guess\ntrain:\n  batch: 8\n")
    Path("more.yaml").write_text("train: {batch: 16}\n")
    return "mine.yaml"


def test_show_gives_yaml_that_loads_back(mine: str) -> None:
    Path("shown.yaml").write_text(config.show(mine, overrides=["model.layers=7"], origins=True, registry=REGISTRY))
    assert config.diff("shown.yaml", "shown.yaml", registry=REGISTRY) == []
    assert [each.path for each in config.diff(mine, "shown.yaml", registry=REGISTRY)] == ["model.layers"]


def test_show_has_no_comments_unless_asked(mine: str) -> None:
    assert "#" not in config.show(mine, registry=REGISTRY)


def test_why_tells_the_chain_newest_first(mine: str) -> None:
    lines = config.why(
        "train.batch.examples", mine, configs=["more.yaml"], overrides=["train.batch=32"], registry=REGISTRY
    )
    assert lines == [
        "train.batch.examples = 32",
        "  set by train.batch=32 on the command line",
        "  replacing 16 from more.yaml:1",
        "  replacing 8 from mine.yaml:3",
    ]


def test_why_of_a_section_tells_each_option(mine: str) -> None:
    lines = config.why("train.batch", mine, registry=REGISTRY)
    assert lines[:4] == ["train.batch.examples = 8", "  set by mine.yaml:3", "train.batch.tokens = null", "  default"]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("train.bach", "train.batch"),
        ("seed", "runtime.seed"),
        ("runtime.sed", "runtime.seed"),
        ("lr", "optimizer.learning_rate"),
        ("batch_size", "train.batch"),
    ],
)
def test_why_of_an_unknown_key_suggests_one(mine: str, key: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}: no such option. Did you mean `{meant}`"):
        config.why(key, mine, registry=REGISTRY)


def test_diff_takes_a_run_directory(mine: str, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    (run / "plan.yaml").write_text(config.show(mine, overrides=["runtime.seed=3"], origins=True, registry=REGISTRY))
    (change,) = config.diff(mine, "runs/one", registry=REGISTRY)
    assert (change.path, change.left, change.right) == ("runtime.seed", "0", "3")


def test_check_gives_the_experiment_or_refuses(mine: str) -> None:
    assert config.check(mine, registry=REGISTRY).experiment.name == "mine"
    with pytest.raises(ConfigError, match="has 2 problems"):
        config.check(mine, overrides=["train.btach=1", "runtime.seed=-1"], registry=REGISTRY)


def test_what_does_not_fit_together_is_told_with_what_is_wrong_by_itself() -> None:
    wrong = ["optimizer.learning_rate=fast", "metrics=[entities]", "train.select=speed"]
    with pytest.raises(ConfigError) as caught:
        config.check("glue/sst2", overrides=[*wrong, "task.kind=binary"])
    told = [problem.message.split()[0] for problem in caught.value.problems]
    assert told == ["optimizer.learning_rate", "metrics:", "train.select.score"]


@pytest.mark.parametrize("broken", ["task.kind=round", "task.max_lenght=3", "task=null", "metrics=[speed]"])
def test_nothing_is_held_against_a_section_that_is_wrong_itself(broken: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.check("glue/sst2", overrides=["train.select=f1_of_nothing", broken])
    assert len(caught.value.problems) == 1


def test_schema_covers_every_top_level_option() -> None:
    assert {"task", "data", "model", "train", "metrics"} <= set(config.schema(registry=REGISTRY)["properties"])


def test_a_complaint_tells_where_the_options_it_names_were_set_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    data = "data:\n  train: a.csv\n  bad_rows: skip\n  split:\n    test: 5%\n"
    path.write_text(f"task: text_classification\nmodel: some/model\n{data}")
    with pytest.raises(ConfigError) as caught:
        config.check(str(path), overrides=["data.test=b.csv"])
    assert str(caught.value).splitlines()[2:] == [
        "data takes `test` (files) or `split.test` (a part of train), not both; null removes the part",
        "  `test` set by data.test=b.csv on the command line",
        f"  `split.test` set by {path}:7",
    ]
    config.check(str(path), overrides=["data.test=b.csv", "data.split.test=null"])
