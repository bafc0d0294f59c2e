"""A task alone is an experiment: what it leaves unsaid is a model it fits, and the usual way to train that."""

import subprocess
import sys
from pathlib import Path

import pytest

from burnish.commands.config import check
from burnish.registry import default_registry

NEEDED = {
    "tabular": "target: price",
    "text_and_columns": "columns: [price]",
    "multiple_choice": "choices: [first, second]",
    "multi": "tasks: {mood: {type: text_classification}}",
}
"""What only the user can know."""
PAGE = Path(__file__).parents[3] / "docs/reference/configuration.md"
NAMES = [listing.name for listing in default_registry().names("tasks") if listing.provider == "burnish"]


def alone(tmp_path: Path, name: str, *more: str) -> Path:
    path = tmp_path / "alone.yaml"
    data = "{type: several, sets: {mood: {train: rows.csv}}}" if name == "multi" else "{train: rows.csv}"
    path.write_text("\n".join([f"task: {{type: {name}, {NEEDED.get(name, '')}}}", f"data: {data}", *more, ""]))
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_task_alone_has_no_problem(name: str, tmp_path: Path) -> None:
    resolved = check(str(alone(tmp_path, name)))
    assert set(resolved.experiment.task.heads) & set(resolved.experiment.model.heads)
    for path in ("model.type", "optimizer.learning_rate", "train.length", "train.batch.examples"):
        assert str(resolved.origin(path)) == f"default of task {name}"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "tabular"])
def test_a_new_transformer_takes_no_name_from_the_task(name: str, tmp_path: Path) -> None:
    scratch = "model: {pretrained: false, architecture: bert, tokenizer: ./words}"
    assert check(str(alone(tmp_path, name, scratch))).experiment.model.name is None  # type: ignore[attr-defined]


def test_options_of_a_transformer_leave_the_tasks_choice(tmp_path: Path) -> None:
    model = check(str(alone(tmp_path, "text_classification", "model: {lora: 8}"))).experiment.model
    assert model.name == "bert-base-uncased"  # type: ignore[attr-defined]


def test_a_table_is_not_given_a_transformers_training(tmp_path: Path) -> None:
    for model in ("tab_m", "wide_deep", "linear", "deep"):
        experiment = check(str(alone(tmp_path, "tabular", f"model: {model}"))).experiment
        assert experiment.optimizer.learning_rate == "auto"
        assert (str(experiment.train.length), experiment.train.batch.examples) == ("30 epochs", "auto")


def test_defaults_import_nothing_heavy(tmp_path: Path) -> None:
    script = "import sys; from burnish.commands.config import check; check(sys.argv[1]); print('torch' in sys.modules)"
    path = alone(tmp_path, "tabular")
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_lists_the_defaults_as_they_are(name: str) -> None:
    defaults = default_registry().load("tasks", name).defaults
    model, train = defaults["model"], defaults["train"]
    cells = [
        f"`{name}`",
        f"`{model if isinstance(model, str) else model['name']}`",
        defaults["optimizer"]["learning_rate"],
        *(str(train.get(option, "")) for option in ("length", "batch", "select", "patience")),
    ]
    (row,) = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{name}` |")]
    assert [cell.strip() for cell in row.strip("|").split("|")] == cells
    assert train.keys() <= {"length", "batch", "select", "patience"}, "the table has no column for it"
