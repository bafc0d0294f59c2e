"""Configs of other tools become files of Burnish, with a note on each line; they are hostile input."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.cli.main import run
from burnish.commands.imports.draft import OTHER_SECTIONS
from burnish.commands.imports.files import import_config, read_config, read_layers
from burnish.config import load, load_section
from burnish.config.reader import read_file
from burnish.errors import ConfigError
from burnish.launch.kubernetes.launcher import Kubernetes
from burnish.launch.options import read_launcher
from burnish.launch.slurm import Slurm
from burnish.tuning.settings import TuneSettings

HERE = Path(__file__).parent
DETERMINED, GOOGLE = HERE / "determined.yaml", HERE / "hptuning_config.yaml"
GARDEN, LUDWIG = HERE / "model_garden.yaml", HERE / "ludwig.yaml"


def written(tmp_path: Path, config: Path | str) -> dict[str, object]:
    source = config if isinstance(config, Path) else tmp_path / "theirs.yaml"
    if isinstance(config, str):
        source.write_text(config)
    import_config(source, tmp_path / "out")
    return {path.stem: yaml.safe_load(path.read_text()) for path in (tmp_path / "out").iterdir()}


@pytest.mark.parametrize("source", [DETERMINED, GOOGLE, GARDEN, LUDWIG], ids=lambda path: path.stem)
def test_the_files_are_as_they_were(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    imported = read_config(Path(source.name))
    text = "".join(f"--- {name}\n{content}" for name, content in imported.files.items())
    assert text == source.with_suffix(".expected").read_text()


def test_an_experiment_of_determined_loads(tmp_path: Path) -> None:
    files = written(tmp_path, DETERMINED)
    experiment = load(str(tmp_path / "out" / "experiment.yaml")).experiment
    assert experiment.name == "glue_cola"
    assert str(experiment.train.length) == "3 epochs"
    assert str(experiment.train.evaluate_every) == "500 steps"
    assert experiment.train.select.score == "matthews"
    assert files["space"]["tune"]["searcher"] == {"type": "adaptive_asha", "mode": "standard"}
    space = files["space"]["tune"]["space"]
    assert space["optimizer.learning_rate"] == {"type": "log", "min": "1e-05", "max": 0.001, "count": 4}
    assert space["schedule.warmup"] == ["0 steps", "1 steps", "2 steps", "3 steps"]
    assert space["model.dropout"] == {"type": "double", "min": 0.0, "max": 0.5}
    assert experiment.task.label == ("label",)  # type: ignore[attr-defined]


@pytest.mark.parametrize("source", [DETERMINED, GOOGLE, GARDEN, LUDWIG], ids=lambda path: path.stem)
def test_every_line_with_a_value_is_mapped_or_named(source: Path) -> None:
    imported = read_config(source)
    told = "".join(imported.files.values())
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        is_of_feature = line.startswith("    type: ")  # what a feature is goes into the task
        has_value = line.partition(":")[2].strip() and not is_of_feature
        assert not has_value or f"{source.name}:{number} " in told, line


def test_a_config_of_model_garden_loads(tmp_path: Path) -> None:
    written(tmp_path, GARDEN)
    experiment = load(str(tmp_path / "out" / "experiment.yaml")).experiment
    assert type(experiment.task).__name__ == "QuestionAnswering"
    assert str(experiment.train.length) == "3699 steps"
    assert (experiment.schedule.power, experiment.schedule.end) == (1, 0.1)  # type: ignore[attr-defined]
    assert experiment.optimizer.betas == (0.9, 0.98)  # type: ignore[attr-defined]
    assert experiment.train.batch.examples == 48
    assert any("cosine.alpha: not mapped: its `type` is polynomial" in each for each in read_config(GARDEN).left)


SIZED = """\
task:
  model:
    num_classes: 1
    encoder: {type: bert, bert: {hidden_size: 64, num_layers: 2, num_attention_heads: 4, type_vocab_size: 2}}
  train_data: {input_path: [a.csv, b.csv], global_batch_size: 8}
trainer:
  train_steps: 10
  optimizer_config:
    optimizer: {type: adamw, adamw: {exclude_from_weight_decay: [LayerNorm, bias, embeddings]}}
    learning_rate: {type: exponential, exponential: {initial_learning_rate: 1e-3, decay_steps: 5, decay_rate: 0.9}}
    ema: {average_decay: 0.99, start_step: 3, dynamic_decay: true}
"""


def test_sizes_of_an_encoder_without_a_checkpoint_are_read(tmp_path: Path) -> None:
    experiment = written(tmp_path, SIZED)["experiment"]
    assert isinstance(experiment, dict)
    assert experiment["model"]["pretrained"] is False
    assert experiment["model"]["size"] == {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    assert experiment["task"] == {"type": "text_classification", "kind": "regression"}
    assert experiment["data"]["train"] == ["a.csv", "b.csv"]
    assert experiment["optimizer"]["no_decay"] == ["embeddings"]
    assert experiment["schedule"] == {"type": "exponential", "every": "5 steps", "rate": 0.9}
    assert experiment["train"]["ema"] == {"decay": 0.99, "start_step": 3, "dynamic": True}


def test_a_config_of_ludwig_needs_only_its_file(tmp_path: Path) -> None:
    written(tmp_path, LUDWIG)
    loaded = load(str(tmp_path / "out" / "experiment.yaml"), overrides=["data.train=rows.csv"]).experiment
    assert type(loaded.task).__name__ == "TextAndColumns"
    assert loaded.task.columns["stars"].kind == "number"  # type: ignore[attr-defined]
    assert loaded.train.patience == 2
    assert str(loaded.data.split.test) == "20%"  # type: ignore[attr-defined]


LUDWIG_TREES = """\
model_type: gbm
input_features:
  - {name: age, type: number}
  - {name: photo, type: image}
output_features: [{name: survived, type: binary}, {name: deck, type: category}]
trainer: {learning_rate: 0.1, num_leaves: 16, boosting_type: gbdt}
hyperopt:
  parameters: {trainer.learning_rate: {space: uniform, lower: 0.01, upper: 0.3}}
"""


def test_trees_of_ludwig_are_trees_with_their_own_rate(tmp_path: Path) -> None:
    files = written(tmp_path, LUDWIG_TREES)
    experiment, left = files["experiment"], read_config(tmp_path / "theirs.yaml").left
    assert isinstance(experiment, dict)
    assert experiment["model"] == {"type": "gbdt", "learning_rate": 0.1, "leaves": 16}
    assert experiment["task"]["columns"] == {"age": {"kind": "number"}}
    assert files["space"]["tune"]["space"].keys() == {"model.learning_rate"}  # type: ignore[index]
    for name in ("input_features.photo", "output_features.deck", "trainer.boosting_type"):
        assert any(f" {name}: not mapped" in each for each in left), name


@pytest.mark.parametrize(
    ("features", "task"),
    [
        (
            "input_features: [{name: a, type: text}]\noutput_features: [{name: y, type: category}]",
            "text_classification",
        ),
        ("input_features: [{name: a, type: text}]\noutput_features: [{name: y, type: text}]", "seq2seq"),
        ("input_features: [{name: a, type: number}]\noutput_features: [{name: y, type: number}]", "tabular"),
    ],
)
def test_the_features_of_ludwig_decide_the_task(tmp_path: Path, features: str, task: str) -> None:
    experiment = written(tmp_path, features)["experiment"]
    assert experiment["task"]["type"] == task  # type: ignore[index]


def test_the_task_of_determined_follows_from_options_that_only_one_has(tmp_path: Path) -> None:
    text = "hyperparameters: {global_batch_size: 12}\ndata: {n_best_size: 20, max_seq_length: 384}\n"
    experiment = written(tmp_path, text)["experiment"]
    assert experiment["task"] == {"type": "question_answering", "n_best": 20, "max_length": 384}  # type: ignore[index]


def test_batches_that_are_parts_of_a_step_are_counted_as_steps(tmp_path: Path) -> None:
    text = (
        "hyperparameters: {global_batch_size: 16}\nsearcher: {max_length: {batches: 16500}}\n"
        "min_validation_period: {batches: 500}\noptimizations: {aggregation_frequency: 3}\n"
    )
    train = written(tmp_path, text)["experiment"]["train"]  # type: ignore[index]
    assert train == {
        "batch": {"examples": 48},
        "length": "5500 steps",
        "evaluate_every": "167 steps",
        "accumulate": 3,
    }


def test_layers_of_a_foreign_config_know_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    layers, left = read_layers(Path(GOOGLE.name))
    resolved = load("demo/reviews", overrides=layers)
    assert str(resolved.experiment.train.length) == "2 epochs"
    assert resolved.origin("train.length").place == "hptuning_config.yaml:5 num-epochs"
    settings = load_section("tune", TuneSettings, "demo/reviews", overrides=layers).value
    assert settings is not None
    assert (settings.trials, settings.parallel, settings.max_failed_trials) == (50, 10, 3)
    assert left == list(read_config(Path(GOOGLE.name)).left)


def test_arguments_may_be_one_word_two_words_or_a_flag_alone(tmp_path: Path) -> None:
    search = "hyperparameters: {goal: MAXIMIZE, params: []}"
    files = written(tmp_path, f"trainingInput:\n  args: [--num-epochs, '2', --fp16, --seed=7]\n  {search}\n")
    experiment = files["experiment"]
    assert experiment["train"]["length"] == "2 epochs"  # type: ignore[index]
    assert experiment["runtime"] == {"precision": "fp16", "seed": 7}  # type: ignore[index]


def test_where_an_experiment_of_determined_runs_is_read_by_slurm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "x")
    text = DETERMINED.read_text() + "slurm: {sbatch_args: [--exclusive, --constraint=a100]}\n"
    written(tmp_path, text)
    launcher = read_launcher("slurm", [str(tmp_path / "out" / "launch.yaml")])
    assert isinstance(launcher, Slurm)
    assert (launcher.gpus, launcher.partition, launcher.max_restarts) == (2, "gpu", 2)
    assert launcher.mounts == ("/a:/b",)
    assert launcher.sbatch == ("--exclusive", "--constraint=a100")


def test_where_an_experiment_of_determined_runs_is_read_by_kubernetes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "x")
    written(tmp_path, DETERMINED)
    launcher = read_launcher("kubernetes", [str(tmp_path / "out" / "kubernetes.yaml"), "priority_class=urgent"])
    assert isinstance(launcher, Kubernetes)
    assert (launcher.gpus, launcher.image, launcher.max_restarts) == (2, "determinedai/model-hub:0.15.6", 2)
    assert (launcher.shared_memory, launcher.volumes) == ("4Gi", {"/b": "host:/a"})
    assert "HF_TOKEN" in launcher.env


@pytest.mark.parametrize(
    ("size", "ours"), [("4294967296", 4294967296), ("4g", "4Gi"), ("512 MB", "512Mi"), ("1GiB", "1Gi"), ("7b", 7)]
)
def test_a_size_of_shared_memory_is_one_of_kubernetes(tmp_path: Path, size: str, ours: object) -> None:
    files = written(tmp_path, f"entrypoint: x\nresources: {{shm_size: {size}}}\n")
    assert files["kubernetes"] == {"launch": {"shared_memory": ours}}


@pytest.mark.parametrize("said", ["shm_size: lots", "shm_size: [1]", "priority: [1]"])
def test_what_kubernetes_cannot_take_is_noted(tmp_path: Path, said: str) -> None:
    (tmp_path / "a.yaml").write_text(f"entrypoint: x\nresources: {{{said}}}\n")
    assert any(said.partition(":")[0] in each for each in read_config(tmp_path / "a.yaml").left)


@pytest.mark.parametrize("mounts", ["[{host_path: /a}]", "[/a]", "[{container_path: {}}]"])
def test_a_mount_that_means_nothing_is_noted(tmp_path: Path, mounts: str) -> None:
    (tmp_path / "a.yaml").write_text(f"entrypoint: x\nbind_mounts: {mounts}\n")
    assert any("bind_mounts: not mapped: each needs" in each for each in read_config(tmp_path / "a.yaml").left)


def test_a_tuning_config_of_google_lies_over_any_experiment(tmp_path: Path) -> None:
    files = written(tmp_path, GOOGLE)
    resolved = load("demo/reviews", configs=[str(tmp_path / "out" / "experiment.yaml")])
    assert str(resolved.experiment.train.length) == "2 epochs"
    tune = files["space"]["tune"]
    assert (tune["trials"], tune["parallel"], tune["max_failed_trials"]) == (50, 10, 3)
    assert tune["metric"] == "validation/f1"
    assert tune["searcher"] == {"type": "random", "stopper": "median"}
    assert tune["space"]["train.length"] == ["2 epochs", "3 epochs"]
    assert files["launch"]["launch"] == {"machine": "standard_p100", "region": "us-central1"}


@pytest.mark.parametrize("source", [DETERMINED, GOOGLE], ids=lambda path: path.stem)
def test_every_file_is_plain_yaml_with_known_keys(source: Path, tmp_path: Path) -> None:
    import_config(source, tmp_path)
    for section, known in OTHER_SECTIONS.items():
        path = tmp_path / f"{'space' if section == 'tune' else section}.yaml"
        if section == "kubernetes" and source == GOOGLE:
            assert not path.exists()
            continue
        (root,) = read_file(path, source="x").nodes.items()
        assert root[0] == ("launch" if section == "kubernetes" else section)
        assert set(root[1].nodes) <= set(known)  # type: ignore[union-attr]


def test_every_line_is_mapped_or_noted(tmp_path: Path) -> None:
    texts = "".join(read_config(GOOGLE).files.values())
    for number, line in enumerate(GOOGLE.read_text().splitlines(), start=1):
        if not line.rstrip().endswith(":"):
            assert f"hptuning_config.yaml:{number} " in texts, line


def test_no_secret_is_copied(tmp_path: Path) -> None:
    imported = read_config(DETERMINED)
    assert "SUPERSECRET" in DETERMINED.read_text()
    assert "SUPERSECRET" not in str(imported)
    assert "HF_TOKEN: null " in imported.files["launch.yaml"]


@pytest.mark.parametrize(
    ("parameter", "why"),
    [
        ("{type: log, base: 10, minval: 400, maxval: 900}", "its ends must be exponents"),
        ("{type: double, minval: 2, maxval: 1}", "its range is empty"),
        ("{type: int, minval: 1.5, maxval: 3}", "a range needs whole numbers"),
        ("{type: double, minval: nan, maxval: 1}", "its range is empty"),
        ("{type: categorical, vals: [fast, slow]}", "the value does not fit optimizer.learning_rate"),
        ("{type: double}", "a range needs numbers"),
    ],
)
def test_a_range_that_means_nothing_is_noted(parameter: str, why: str, tmp_path: Path) -> None:
    source = tmp_path / "a.yaml"
    source.write_text(f"hyperparameters:\n  learning_rate: {parameter}\n")
    (left,) = read_config(source).left
    assert f"{source}:2 learning_rate: not mapped: {why}" in left


def test_nothing_is_replaced_and_a_file_of_neither_kind_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", str(GOOGLE), "--out", str(tmp_path)]) == 0
    assert "not mapped: " in capsys.readouterr().out
    assert run(["import", str(GOOGLE), "--out", str(tmp_path)]) == 2
    assert f"{tmp_path / 'space.yaml'} is there already" in capsys.readouterr().err
    (tmp_path / "mine.yaml").write_text("task: tabular\n")
    assert run(["import", str(tmp_path / "mine.yaml"), "--out", str(tmp_path / "x")]) == 2
    assert "is neither a tuning config" in capsys.readouterr().err


TEXT = st.sampled_from(
    ["", "a", "1", "-1", "1e999", "null", "type", "log", "${env:HOME}", "../x", "\u2028", "tune.space"]
)
NAMES = """
    hyperparameters searcher params goal trainingInput type minval maxval vals learning_rate name metric data
    environment environment_variables args parameterName minValue discreteValues resources max_length
    bind_mounts host_path container_path slurm sbatch_args resources shm_size priority
"""
KEYS = st.sampled_from(NAMES.split())
TREES = st.recursive(TEXT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))


@settings(max_examples=60, deadline=None)
@given(tree=st.dictionaries(KEYS, TREES, max_size=5))
def test_whatever_a_file_holds_is_written_or_refused(tree: object, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "theirs.yaml").write_text(yaml.safe_dump(tree))
    try:
        imported = read_config(folder / "theirs.yaml")
    except ConfigError:
        return
    for name, text in imported.files.items():
        (folder / name).write_text(text)
        read_file(folder / name, source=name)
