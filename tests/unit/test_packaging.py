"""What a user installs holds all it needs, and nothing else."""

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "burnish"
MEGABYTE = 1024 * 1024
SOURCES = sorted(PACKAGE.rglob("*.py"))
DISTRIBUTIONS = {
    "fsspec": "fsspec",
    "huggingface_hub": "huggingface-hub",
    "jinja2": "jinja2",
    "markupsafe": "markupsafe",
    "numpy": "numpy",
    "pyarrow": "pyarrow",
    "pydantic": "pydantic",
    "pydantic_core": "pydantic-core",
    "rich": "rich",
    "safetensors": "safetensors",
    "tokenizers": "tokenizers",
    "torch": "torch",
    "transformers": "transformers",
    "typer": "typer",
    "typing_extensions": "typing-extensions",
    "yaml": "pyyaml",
}
"""Which distribution brings what the source imports."""
OPTIONAL = {
    "apprise": "apprise",
    "cmaes": "cmaes",
    "datasets": "datasets",
    "google": "google-cloud-aiplatform",
    "google_crc32c": "google-crc32c",
    "kubernetes": "kubernetes",
    "catboost": "catboost",
    "lightgbm": "lightgbm",
    "mlflow": "mlflow-skinny",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "onnxscript": "onnxscript",
    "optuna": "optuna",
    "peft": "peft",
    "prometheus_client": "prometheus-client",
    "sentencepiece": "sentencepiece",
    "pytest": "pytest",
    "ray": "ray",
    "sklearn": "scikit-learn",
    "starlette": "starlette",
    "tensorboard": "tensorboard",
    "urllib3": "urllib3",
    "uvicorn": "uvicorn",
    "wandb": "wandb",
}
"""Which distribution brings what the source asks for by `require`."""
BEHIND_AN_EXTRA = {"serve": "serve", "testing": "dev", "ui": "serve"}
"""Packages of ours that are imported only after `require` found what their extra brings."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("build", reason="the extra `dev` brings it")
    directory = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory), str(ROOT)]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return directory


def test_the_wheel_holds_every_file_of_the_package(built: Path) -> None:
    names = set(zipfile.ZipFile(next(built.glob("*.whl"))).namelist())
    wanted = {f"burnish/{path.relative_to(PACKAGE)}" for path in package_files()}
    assert wanted <= names
    assert {name.split("/")[0] for name in names} == {"burnish", f"burnish-{version()}.dist-info"}


def test_the_source_distribution_can_be_built_from(built: Path) -> None:
    top = f"burnish-{version()}"
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = set(archive.getnames())
    wanted = {f"{top}/src/burnish/{path.relative_to(PACKAGE)}" for path in package_files()}
    assert wanted | {f"{top}/LICENSE", f"{top}/README.md", f"{top}/pyproject.toml"} <= names
    assert not [name for name in names if ".venv" in name or "/runs/" in name or name.endswith(".pyc")]


def test_both_are_small(built: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in built.iterdir()}
    assert len(sizes) == 2
    assert all(size < 2 * MEGABYTE for size in sizes.values()), sizes


def test_every_shipped_experiment_is_package_data() -> None:
    experiments = [path for path in package_files() if path.suffix == ".yaml"]
    assert PACKAGE / "experiments" / "demo" / "reviews.yaml" in experiments
    assert PACKAGE / "layers" / "models" / "albert-base.yaml" in experiments


def test_everything_the_commands_install_has_an_exact_version() -> None:
    pinned = dict(line.split("==") for line in constraint_lines())
    extras = PROJECT["optional-dependencies"]
    asked = PROJECT["dependencies"] + extras["dev"] + extras["baselines"] + extras["tensorboard"]
    names = {requirement_name(item) for item in asked} - {"burnish"}
    assert names <= set(map(normalised, pinned))
    assert pinned["torch"] == "2.13.0"


def test_all_holds_every_extra_a_user_may_want() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    apart = {"all", "dev", "demo", "wandb"}  # demo is baselines by another name; wandb brings a pre-release of its own
    assert set(re.findall(r"\w+", everything)) == set(extras) - apart | {"burnish"}


def test_every_extra_has_something_behind_it() -> None:
    """Each is asked for by name in the source, or brings packages that fsspec loads for an address."""
    asked = {extra for path in SOURCES for _, extra in required(path)}
    by_address = {"gcp", "s3"}
    aliases = {"demo": "baselines"}
    assert {name: PROJECT["optional-dependencies"][name] for name in aliases} == {"demo": ["burnish[baselines]"]}
    assert set(PROJECT["optional-dependencies"]) == asked | by_address | set(aliases) | {"all", "dev"}


def test_every_package_that_is_imported_is_declared() -> None:
    extras = PROJECT["optional-dependencies"]
    third_party: set[str] = set()
    for path in SOURCES:
        found = imported(path) - set(sys.stdlib_module_names) - {"burnish"}
        extra = BEHIND_AN_EXTRA.get(path.relative_to(PACKAGE).parts[0])
        brought = set(map(requirement_name, extras[extra])) if extra else set()
        third_party |= {name for name in found if OPTIONAL.get(name) not in brought}
    assert third_party <= set(DISTRIBUTIONS), "add it to DISTRIBUTIONS and to pyproject.toml"
    declared = set(map(requirement_name, PROJECT["dependencies"]))
    assert {DISTRIBUTIONS[name] for name in third_party} - declared == set()
    assert declared <= set(DISTRIBUTIONS.values()), "declared, and imported nowhere"


def test_every_package_that_is_asked_for_comes_with_the_extra_that_is_named() -> None:
    extras = PROJECT["optional-dependencies"]
    for path in SOURCES:
        for module, extra in required(path):
            brought = set(map(requirement_name, extras[extra]))
            wanted = "protobuf" if extra == "tfrecord" and "protobuf" in module else OPTIONAL[module.partition(".")[0]]
            assert wanted in brought, f"{path}: {module}"


def test_the_readme_lists_every_extra() -> None:
    table = (ROOT / "README.md").read_text().partition("| extra | brings |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if "|" in line)))
    assert listed == set(PROJECT["optional-dependencies"]) - {"demo", "all"}


def test_the_command_is_installed() -> None:
    assert PROJECT["scripts"] == {"burnish": "burnish.__main__:main"}


def test_no_file_of_the_build_names_a_host() -> None:
    for name in ("pyproject.toml", "constraints.txt", "Makefile", ".ci/run", ".pre-commit-config.yaml"):
        assert "://" not in (ROOT / name).read_text(), name


def imported(path: Path) -> set[str]:
    """Give the top packages of every import statement, wherever it is."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.split(".")[0] for name in plain | {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}}


def required(path: Path) -> Iterator[tuple[str, str]]:
    """Give the module and the extra of every call of `require`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require":
            extra = next(each.value for each in node.keywords if each.arg == "extra")
            assert isinstance(extra, ast.Constant), path
            assert isinstance(node.args[0], ast.Constant), path
            yield str(node.args[0].value), str(extra.value)


def package_files() -> list[Path]:
    return [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def version() -> str:
    match = re.search(r'__version__ = "(.+)"', (PACKAGE / "__init__.py").read_text())
    assert match is not None
    return match[1]


def constraint_lines() -> list[str]:
    return [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#"]


def requirement_name(requirement: str) -> str:
    return normalised(re.split(r"[\[<>=!~; ]", requirement)[0])


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
