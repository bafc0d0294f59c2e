from pathlib import Path

from burnish.config.nodes import write_path
from burnish.config.render import document, leaves
from burnish.config.resolve import Resolved, load
from tests.unit.config.fakes import fake_registry


def resolved(tmp_path: Path, *overrides: str) -> Resolved:
    path = tmp_path / "mine.yaml"
    path.write_text("task: {type: guess}\nmodel: tiny\nmetrics: [right, mean]\ntrain:\n  batch: 8\n")
    return load(str(path), overrides=overrides, registry=fake_registry())


def test_every_path_has_an_origin(tmp_path: Path) -> None:
    found = resolved(tmp_path, "train.batch=16")
    paths = [write_path(path) for path, _ in leaves(document(found.experiment, registry=found.registry))]
    place = {path: found.origin(path).place.removeprefix(f"{tmp_path}/") for path in paths}
    assert place["model.name"] == "mine.yaml:2"
    assert place["metrics[1].type"] == "mine.yaml:3"
    assert place["metrics[1].average"] == place["model.type"] == place["runtime.seed"] == "default"
    assert place["train.batch.examples"] == "train.batch=16 on the command line"


def test_an_experiment_is_named_after_its_file_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert resolved(tmp_path).experiment.name == "mine"
    assert resolved(tmp_path, "name=other").experiment.name == "other"


def test_a_shorthand_keeps_the_other_options_of_lower_layers(tmp_path: Path) -> None:
    found = resolved(tmp_path, "model.layers=5", "model=package:weights/model")
    assert (found.experiment.model.layers, found.experiment.model.name) == (5, "package:weights/model")  # type: ignore[attr-defined]


def test_a_later_check_can_complain_with_the_same_origins(tmp_path: Path) -> None:
    assert resolved(tmp_path, "train.batch=16").origin("train.batch.examples").lines() == (
        "set by train.batch=16 on the command line",
        f"replacing 8 from {tmp_path}/mine.yaml:5",
    )


def test_a_null_section_explains_what_is_inside_it(tmp_path: Path) -> None:
    assert resolved(tmp_path, "train.ema=null").origin("train.ema").place == "train.ema=null on the command line"
