"""Heavy packages are imported where they may be, and the command line starts without them."""

import ast
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import burnish

PACKAGE = Path(burnish.__file__).parent
ONLY_IN_TORCH_FILES = {"torch", "transformers"}
ONLY_INSIDE_FUNCTIONS = {
    "peft",
    "datasets",
    "sklearn",
    "tensorboard",
    "lightgbm",
}
TOO_HEAVY_TO_START = ("torch", "transformers", "numpy", "pyarrow", "pandas", "sklearn", "tensorboard", "datasets")
_HELP = "import sys; sys.argv[1:] = ['--help']; from burnish.cli.main import main; sys.exit(main())"
SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_packages_are_imported_at_the_top_of_torch_files_only(path: Path) -> None:
    refused = ONLY_INSIDE_FUNCTIONS if path.stem.endswith("_torch") else ONLY_INSIDE_FUNCTIONS | ONLY_IN_TORCH_FILES
    assert set(imports_at_import_time(path.read_text())) & refused == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import torch.nn as nn", ["torch"]),
        ("from transformers import AutoModel", ["transformers"]),
        ("try:\n    import peft\nexcept ImportError:\n    peft = None", ["peft"]),
        ("class A:\n    import torch", ["torch"]),
        ("if TYPE_CHECKING:\n    import torch\nelse:\n    import numpy", ["numpy"]),
        ("def f():\n    import torch", []),
        ("async def f():\n    import torch", []),
    ],
)
def test_the_rule_sees_what_runs_when_a_module_is_imported(source: str, found: list[str]) -> None:
    assert list(imports_at_import_time(source)) == found


@pytest.mark.parametrize(
    "module", ["burnish.cli.main", "burnish.config", "burnish.registry", "burnish.spec.experiment"]
)
def test_what_only_reads_configs_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}\nprint([m for m in {TOO_HEAVY_TO_START!r} if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_training_a_table_does_not_wait_for_transformers() -> None:
    code = "import sys, burnish.run.attempt\nprint(*(name in sys.modules for name in ('torch', 'transformers')))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("word", ["train.lenght=1", "--lenght", "learning_rate=1", "--learning-rate"])
def test_a_refusal_waits_for_nothing_that_only_runs_need(word: str) -> None:
    refused = f"import sys; from burnish.cli.main import run; run(['train', 'demo/reviews', {word!r}])"
    code = f"{refused}\nprint([m for m in {(*TOO_HEAVY_TO_START, 'fsspec', 'rich')!r} if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "no such option" in answer.stderr
    assert answer.stdout.strip() == "[]"


def test_help_waits_for_nothing_that_reads_configs() -> None:
    code = "import sys, burnish.cli.main\nprint([m for m in ('pydantic', 'yaml', 'rich') if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_help_costs_little_more_than_the_library_under_it() -> None:
    """Compare with an interpreter that only imports the command-line library, in turn."""
    libraries = [sys.executable, "-c", "import typer"]
    pairs = [(cpu_seconds([sys.executable, "-c", _HELP]), cpu_seconds(libraries)) for _ in range(3)]
    help_page, baseline = (min(each) for each in zip(*pairs, strict=True))
    assert help_page < 2 * baseline, f"--help took {help_page:.2f} s, its library alone {baseline:.2f} s"


def cpu_seconds(command: list[str]) -> float:
    """Give the processor time of a command: unlike the clock's, it does not count what others do meanwhile."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def imports_at_import_time(source: str) -> Iterator[str]:
    """Give the top package of every import that runs when the module is imported."""
    yield from _imports(ast.parse(source).body)


def _imports(nodes: list[ast.stmt]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _imports(_nested(node))


def _nested(node: ast.stmt) -> list[ast.stmt]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return node.orelse
    blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    handlers = [handler.body for handler in getattr(node, "handlers", [])]
    return [inner for block in blocks + handlers for inner in block]
