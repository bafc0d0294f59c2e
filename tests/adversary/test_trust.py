"""Code that a stranger's folder names: every place it can be written in, and every verb that reads it."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from burnish.config.shape import describe_fields
from burnish.registry import default_registry
from burnish.spec.component import Component, RunsCode
from burnish.spec.experiment import Experiment
from burnish.storage import manifest
from tests.adversary.conftest import ROW
from tests.adversary.judge import Canary, judge

REQUIRED: Mapping[str, Mapping[str, Any]] = {
    "tabular": {"target": "y"},
    "transformer": {"name": "./model"},
    "several": {"sets": {}},
    "multi": {"tasks": {}},
}
"""What a component must be told besides the code that is planted in it."""


def slots(cls: type[Component] = Experiment, inside: tuple[str, str] | None = None) -> Iterator[tuple[str, Any]]:
    """Give every place of an experiment that takes a component: its kind, and the options that put an address there."""
    for name, shape in describe_fields(cls).items():
        if shape.slot is not None:
            value: Any = {"type": "ADDRESS"}
            value = {"any": value} if shape.is_named else [value] if shape.is_many else value
            value = {"any": [value["any"]]} if shape.is_named and shape.is_many else value
            yield shape.slot.kind, {name: value} if inside is None else {inside[0]: {"type": inside[1], name: value}}
        elif inside is None and shape.component is not None:
            yield from ((kind, {name: options}) for kind, options in slots(shape.component))


def places() -> Iterator[tuple[str, str, Any]]:
    registry = default_registry()
    sections = {
        kind: name for name, shape in describe_fields(Experiment).items() if shape.slot for kind in [shape.slot.kind]
    }
    for kind, options in slots():
        yield kind, next(iter(options)), options
    for section_kind, section in sections.items():
        for each in registry.names(section_kind):
            for kind, options in slots(registry.load(section_kind, each.name), (section, each.name)):
                options[section] |= {k: v for k, v in REQUIRED.get(each.name, {}).items() if k not in options[section]}
                yield kind, f"{section}={each.name}: {kind}", options


PLACES = list(places())


def marked() -> Iterator[str]:
    """Name every option of ours that is marked as leading to code."""
    registry = default_registry()
    classes = [registry.load(kind, each.name) for kind in registry.kinds() for each in registry.names(kind)]
    for cls in {inner for outer in classes for inner in parts(outer)}:
        for name, info in cls.model_fields.items():
            if any(isinstance(each, RunsCode) for each in info.metadata):
                yield f"{cls.__name__}.{name}"


def parts(cls: type[Component]) -> Iterator[type[Component]]:
    yield cls
    for info in cls.model_fields.values():
        for each in [info.annotation, *getattr(info.annotation, "__args__", ())]:
            if isinstance(each, type) and issubclass(each, Component):
                yield from parts(each)


MARKED: Mapping[str, Any] = {
    "Derived.function": {
        "task": {"type": "tabular", "target": "y", "derived": {"d": {"function": "ADDRESS", "inputs": {"a": "number"}}}}
    },
    "Transformer.trust_remote_code": {"model": {"type": "transformer", "name": "./m", "trust_remote_code": "true"}},
    "Transformer.allow_pickle_weights": {
        "model": {"type": "transformer", "name": "./m", "allow_pickle_weights": "true"}
    },
}

VERBS: Mapping[str, Callable[[Path], list[object]]] = {
    "predict": lambda run: ["predict", run / "artifact", "--row", ROW],
    "predict a file": lambda run: ["predict", run, "--in", run / "rows.csv", "--out", run / "out.csv"],
    "predict a payload": lambda run: ["predict", run, "--format", "csv", "--in", run / "rows.csv"],
    "predict glue": lambda run: ["predict", run, "--format", "glue", "--in", run, "--out", run / "out"],
    "evaluate": lambda run: ["evaluate", run],
    "evaluate a checkpoint": lambda run: ["evaluate", run, "--checkpoint", "last"],
    "evaluate and watch": lambda run: ["evaluate", run, "--watch"],
    "resume": lambda run: ["resume", run],
    "rerun": lambda run: ["rerun", run],
    "runs compare": lambda run: ["runs", "compare", run, run.parent / "other"],
    "train": lambda run: ["train", run / "plan.yaml", "--dir", run.parent / "new"],
    "train below": lambda run: ["train", "glue/sst2", "-c", run / "plan.yaml", "--dir", run.parent / "new"],
    "train the experiment of an artifact": lambda run: [
        *("train", run / "artifact" / "experiment.yaml", "--dir", run.parent / "new")
    ],
    "plan": lambda run: ["plan", run / "plan.yaml"],
    "prepare": lambda run: ["prepare", "features", run / "plan.yaml", "--out", run.parent / "new"],
    "config check": lambda run: ["config", "check", run / "plan.yaml"],
    "config show": lambda run: ["config", "show", run],
    "config diff": lambda run: ["config", "diff", run, run / "plan.yaml"],
}


def write_config(run: Path, options: Mapping[str, Any], *, address: str = "") -> None:
    """Put options over the plan and the artifact's experiment, and sign the artifact again, as a stranger can."""
    planted = json.loads(json.dumps(options).replace("ADDRESS", address))
    for path in (run / "plan.yaml", run / "artifact" / "experiment.yaml"):
        config = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump({**config, **planted}, sort_keys=False))
    sign(run / "artifact")


def sign(folder: Path) -> None:
    facts = json.loads((folder / manifest.NAME).read_text())
    manifest.commit(folder, {name: value for name, value in facts.items() if name not in ("files", "digest")})


def test_every_kind_and_every_marked_option_is_walked() -> None:
    # No run or artifact records the section `tune`, where a searcher stands, or the options of a launch.
    assert {kind for kind, _, _ in PLACES} == set(default_registry().kinds()) - {"searchers", "launchers"}
    assert set(marked()) == set(MARKED)


@pytest.mark.parametrize(("kind", "options"), [(k, o) for k, _, o in PLACES], ids=[place for _, place, _ in PLACES])
def test_an_address_is_refused_and_listed_wherever_it_stands(
    copy: Callable[[], Path], canary: Canary, kind: str, options: Mapping[str, Any]
) -> None:
    run = copy()
    write_config(run, options, address=canary.address)
    for verb in ("predict", "evaluate a checkpoint", "config check"):
        said = judge(VERBS[verb](run), keeps=[run], canary=canary)
        assert (said.code, canary.address in said.err) == (5, True)


@pytest.mark.parametrize("option", MARKED)
def test_an_option_that_leads_to_code_is_refused(copy: Callable[[], Path], canary: Canary, option: str) -> None:
    run = copy()
    write_config(run, MARKED[option], address=canary.address)
    said = judge(VERBS["predict"](run), keeps=[run], canary=canary)
    assert (said.code, option.rpartition(".")[2] in said.err) == (5, True)


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_imports_what_a_plan_or_an_artifact_names(
    original: Path, copy: Callable[[], Path], canary: Canary, verb: str
) -> None:
    run = copy()
    (run.parent / "other").symlink_to(original)
    write_config(run, {"metrics": [{"type": "ADDRESS"}]}, address=canary.address)
    (run / "rows.csv").write_text("a,b,c\n0.1,0.2,red\n")
    said = judge(VERBS[verb](run), keeps=[run], canary=canary)
    assert (said.code, canary.address in said.err) == (5, True)
    assert not (run.parent / "new").exists()


def test_the_refusal_lists_all_code_at_once_and_says_what_to_type(copy: Callable[[], Path], canary: Canary) -> None:
    run = copy()
    options = {
        "task": {"type": "ADDRESS", "inner": [{"type": "strange_code:Deep"}]},
        "metrics": [{"type": "accuracy"}, {"type": "ADDRESS"}],
        "model": MARKED["Transformer.trust_remote_code"]["model"],
    }
    write_config(run, options, address=canary.address)
    said = judge(VERBS["predict"](run), canary=canary)
    assert said.err == (
        f"error: {run}/artifact/experiment.yaml names code that would run here, and you did not train with it on this "
        "machine: task.type: strange_code:Thing; task.inner[0].type: strange_code:Deep; "
        "metrics[1].type: strange_code:Thing; model.trust_remote_code: true. "
        "If you know this code and trust the author of the file, add --trust-code (in Python, trust_code=True)\n"
    )
    said = judge(VERBS["config check"](run), canary=canary)
    assert "copy that file and name your copy instead" in said.err


def test_golden_rows_do_not_call_a_function_of_the_library(copy: Callable[[], Path], tmp_path: Path) -> None:
    run, trace = copy(), tmp_path / "EXECUTED"
    derived = {"d": {"function": "subprocess:call", "inputs": {"c": "text"}}}
    write_config(run, {"task": {"type": "tabular", "target": "y", "derived": derived}})
    golden = json.loads((run / "artifact" / "golden.json").read_text())
    golden["rows"] = [{**golden["rows"][0], "c": word} for word in ("touch", str(trace))]
    (run / "artifact" / "golden.json").write_text(json.dumps(golden))
    sign(run / "artifact")
    said = judge(["predict", run, "--row", ROW])
    assert not trace.exists()
    assert (said.code, "subprocess:call" in said.err) == (5, True)


def test_a_name_that_somebody_installed_needs_no_trust(copy: Callable[[], Path]) -> None:
    run = copy()
    write_config(run, {"model": {"type": "burnish.models.tabular.models:Linear"}})
    assert judge(VERBS["predict"](run)).code == 0


def test_own_code_runs_when_the_user_says_so_for_this_load(
    copy: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_metric.py").write_text("from burnish.metrics.classification import Recall as Own\n")
    monkeypatch.syspath_prepend(tmp_path)
    run = copy()
    write_config(run, {"metrics": [{"type": "own_metric:Own"}]})
    assert judge(["evaluate", run]).code == 5
    assert "recall" in judge(["evaluate", run, "--trust-code"]).out
    assert judge(["evaluate", run]).code == 5
