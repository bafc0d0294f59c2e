"""What holds of every experiment that Burnish ships."""

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from burnish.config.locate import experiments, layers, locate
from burnish.config.nodes import Branch, Node, Path, find, write_path
from burnish.config.reader import read_file
from burnish.config.render import diff, document, fingerprint, render
from burnish.config.resolve import load, resolve
from burnish.errors import ConfigError
from burnish.registry import Registry
from burnish.spec.parts import MEAN
from burnish.spec.protocols import Joint
from tests.unit.config.fakes import given_to

REGISTRY = Registry(entry_points=lambda group: [])
NAMES = [each.name for each in experiments(registry=REGISTRY)]
GOLDEN = FilePath(__file__).parents[2] / "golden" / "config"
COLUMNS = {("data", "filter"), ("data", "also"), ("task", "columns"), ("task", "derived"), ("model", "fields")}
"""Mappings whose keys are columns of the data, or names of another: only the data, or the model, can refuse those."""
NAMED = {("task", "tasks"), ("task", "scores"), ("data", "sets")}
"""Mappings from names of one's own to components: `test_check_several` sees names that do not match."""
HEAVY = ("torch", "transformers", "numpy", "pyarrow", "datasets")
WRONG = """
import sys, time
from burnish.commands.config import check
from burnish.errors import ConfigError
try:
    check(sys.argv[1], overrides=["train.batch_siz=3", "optimizer.learning_rate=fast"])
except ConfigError as error:
    assert len(error.problems) == 2, error
    print(time.process_time(), *(m for m in sys.argv[2:] if m in sys.modules))
"""


def test_the_promised_experiments_are_there() -> None:
    glue = [f"glue/{each}" for each in ("cola", "mnli", "mrpc", "multi", "qnli", "qqp", "rte", "sst2", "stsb", "wnli")]
    tables = {"demo/taxi", "taxi/tips", "taxi/fare", "taxi/fare_nyc", "adult", "california_housing"}
    texts = {"conll2003", "swag", "dream", "squad", "squad/v2", "squad/beam", "xnli", "similarity/stsb"}
    language = {"lm/wikitext2-masked", "lm/shakespeare-causal", "pretrain/bert-tiny"}
    driver = {f"bert/{each}" for each in ("sentence_prediction", "sentence_prediction_text", "squad", "tagging")}
    driver |= {f"bert/{each}" for each in ("pretraining", "pretraining_dynamic", "text_wiki_pretraining")}
    driver |= {"electra/pretraining", "wmt_transformer/large"}
    wanted = {"demo/reviews", "imdb", *texts, *language, *glue, *tables, *driver}
    assert wanted <= set(NAMES)


@pytest.mark.parametrize("name", [*filter(given_to, NAMES)])
def test_one_that_leaves_its_data_to_the_user_asks_for_it(name: str) -> None:
    with pytest.raises(ConfigError, match=r"data\.train is required") as caught:
        load(name, registry=REGISTRY)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("name", [each.name for each in layers()])
def test_a_layer_names_a_model_and_its_rate_and_leaves_the_rest_alone(name: str) -> None:
    plain = load("glue/sst2", registry=REGISTRY)
    layered = load("glue/sst2", configs=[name], registry=REGISTRY)
    changed = {each.path for each in diff(plain.experiment, layered.experiment, registry=REGISTRY)}
    assert changed <= {"model.name", "optimizer.learning_rate"}
    assert "model.name" in changed or name == "models/minilm"
    assert layered.origin("model.name").place == f"{name}.yaml:2"


@pytest.mark.parametrize("name", NAMES)
def test_it_resolves_and_its_canonical_form_loads_back(name: str, tmp_path: FilePath) -> None:
    resolved = load(name, overrides=given_to(name), registry=REGISTRY)
    plan = tmp_path / "plan.yaml"
    plan.write_text(render(resolved.experiment, origin=resolved.origin, registry=REGISTRY))
    again = load(str(plan), registry=REGISTRY).experiment
    assert again == resolved.experiment
    assert fingerprint(again, registry=REGISTRY) == fingerprint(resolved.experiment, registry=REGISTRY)


GOLDEN_NAMES = (
    "demo/reviews",
    "demo/reviews_by_source",
    "glue/multi",
    "glue/sst2",
    "glue/stsb",
    "imdb",
    "conll2003",
    "dream",
    "squad/v2",
    "similarity/stsb",
)


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_it_resolves_to_its_golden_file(name: str) -> None:
    resolved = load(name, registry=REGISTRY)
    golden = GOLDEN / f"{name.replace('/', '-')}.yaml"
    remake = f"if that is meant: burnish config show {name} --origins > {golden}"
    assert render(resolved.experiment, origin=resolved.origin, registry=REGISTRY) == golden.read_text(), remake


@pytest.mark.parametrize("name", NAMES)
def test_it_selects_by_its_first_metric(name: str) -> None:
    experiment = load(name, overrides=given_to(name), registry=REGISTRY).experiment
    if isinstance(experiment.task, Joint):
        assert experiment.train.select.score == MEAN
        assert experiment.task.scores.keys() == experiment.task.tasks.keys()
        return
    assert experiment.metrics
    assert experiment.train.select.score == experiment.metrics[0].names()[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_slip_in_a_key_is_refused_with_the_key_that_was_meant(name: str) -> None:
    located = locate(name, registry=REGISTRY)
    tree = read_file(located.path, source=located.source)
    asked = load(name, overrides=given_to(name), registry=REGISTRY)
    written = document(asked.experiment, registry=REGISTRY)
    count = 0
    for path, key in keys_of(tree):
        legal = legal_keys(written, path)
        for slip in slips(key):
            if slip not in legal:
                assert_refused(renamed(tree, path, key=key, slip=slip), (*path, slip), meant=(*path, key))
                count += 1
    assert count > 100


def keys_of(node: Node, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(node, Branch) and path not in COLUMNS:
        for key, below in node.nodes.items():
            if path not in NAMED:
                yield path, key
            yield from keys_of(below, (*path, key))


def legal_keys(written: object, path: Path) -> set[str]:
    for part in path:
        written = written[part]  # type: ignore[index]
    assert isinstance(written, dict)
    return set(written)


def slips(word: str) -> list[str]:
    """Drop, change, add and swap a letter at every position."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    dropped = [left + right[1:] for left, right in cuts if right]
    changed = [left + ("x" if right[0] != "x" else "z") + right[1:] for left, right in cuts if right]
    added = [left + "aeiou_st"[len(left) % 8] + right for left, right in cuts]
    swapped = [left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1]
    return [slip for slip in dict.fromkeys([*dropped, *changed, *added, *swapped]) if slip != word]


def renamed(tree: Branch, path: Path, *, key: str, slip: str) -> Branch:
    if path:
        head, *rest = path
        below = tree.nodes[str(head)]
        assert isinstance(below, Branch)
        return replace(tree, nodes={**tree.nodes, str(head): renamed(below, tuple(rest), key=key, slip=slip)})
    return replace(tree, nodes={slip if each == key else each: node for each, node in tree.nodes.items()})


def assert_refused(tree: Branch, path: Path, *, meant: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve([tree], registry=REGISTRY)
    node = find(tree, path)
    assert node is not None
    (problem,) = [
        each for each in caught.value.problems if each.message.startswith(f"{write_path(path)}: no such option")
    ]
    assert f"`{write_path(meant)}`" in problem.message, problem.message
    assert problem.details == (f"set by {node.origin.place}",)


@pytest.mark.parametrize("name", ["demo/reviews", "glue/sst2"])
def test_a_wrong_config_is_refused_quickly_and_without_the_heavy_packages(name: str) -> None:
    pairs = [(cpu_seconds(WRONG, name, *HEAVY), cpu_seconds(LIBRARIES)) for _ in range(3)]
    # A ratio, as machines differ: what it takes beyond the libraries it stands on must stay small.
    assert min(refusing for refusing, _ in pairs) < 8 * min(importing for _, importing in pairs)


def test_resolving_takes_little_of_that_time() -> None:
    load("glue/sst2", registry=REGISTRY)
    started = time.process_time()
    load("glue/sst2", registry=REGISTRY)
    assert time.process_time() - started < cpu_seconds(LIBRARIES)


LIBRARIES = "import time, pydantic, typer, yaml; print(time.process_time())"


def cpu_seconds(script: str, *arguments: str) -> float:
    """Run a script that prints the processor time it took, and nothing else."""
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seconds, *heavy = done.stdout.split()
    assert heavy == []
    return float(seconds)
