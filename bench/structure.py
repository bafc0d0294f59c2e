"""Measures the shape of the source: lines, modules, folders, imports, names. `python -m bench.structure` prints it."""

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "burnish"
SMALL_MODULE_LINES = 60


@dataclass(frozen=True)
class Module:
    """One file, parsed."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def num_lines(self) -> int:
        return self.text.count("\n")

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    def functions(self) -> Iterator[tuple[str, int]]:
        """Give each function with its lines."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{self.name}:{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1

    def classes(self) -> list[str]:
        """Name the classes at the top of the file."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]

    def imported(self, modules: Mapping[str, "Module"]) -> set[str]:
        """Name the modules that it imports, also inside functions and for type checkers."""
        found = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= {name for name in inner if name in modules} or {node.module}
        return {name for name in found if name in modules}


@dataclass(frozen=True)
class Structure:
    """The figures of one tree."""

    lines: int
    modules: int
    lines_by_package: Mapping[str, int] = field(default_factory=dict)
    largest_folder: tuple[str, int] = ("", 0)
    """The folder with most modules directly in it."""
    share_with_one_importer: float = 0.0
    small_with_one_importer: tuple[str, ...] = ()
    """Modules of few lines that only one other imports; those on the border to torch are none of them."""
    classes_named_twice: tuple[str, ...] = ()
    long_files: tuple[str, ...] = ()
    long_functions: tuple[str, ...] = ()
    kinds_asked: tuple[str, ...] = ()
    """Where `isinstance` asks for a kind of component outside of the package that defines it."""
    undocumented_methods: tuple[str, ...] = ()
    """Public methods without a docstring, of their own or of a class that theirs derives from."""


def measure(source: Path = SOURCE, *, max_file: int = 400, max_function: int = 40) -> Structure:
    """Read every file below a package and count."""
    modules = read_modules(source)
    code = {name: module for name, module in modules.items() if not module.is_package}
    importers = Counter(name for module in modules.values() for name in module.imported(modules))
    once = [name for name in code if importers[name] == 1]
    packages: Counter[str] = Counter()
    for name, module in modules.items():
        packages[_package(name)] += module.num_lines
    folders = Counter(module.path.parent.relative_to(source).as_posix() for module in code.values())
    names = Counter(name for module in modules.values() for name in module.classes())
    return Structure(
        lines=sum(module.num_lines for module in modules.values()),
        modules=len(code),
        lines_by_package=dict(sorted(packages.items())),
        largest_folder=folders.most_common(1)[0],
        share_with_one_importer=len(once) / len(code),
        small_with_one_importer=tuple(sorted(name for name in once if _should_join(code[name]))),
        classes_named_twice=tuple(sorted(name for name, number in names.items() if number > 1)),
        long_files=tuple(sorted(name for name, module in code.items() if module.num_lines > max_file)),
        long_functions=tuple(
            sorted(name for module in code.values() for name, lines in module.functions() if lines > max_function)
        ),
        kinds_asked=tuple(sorted(set(_kinds_asked(modules)))),
        undocumented_methods=tuple(sorted(_undocumented(modules))),
    )


def _kinds_asked(modules: Mapping[str, Module]) -> Iterator[str]:
    owners = {kind: _package(name) for name, module in modules.items() for kind in module.classes()}
    kinds = _component_kinds(modules)
    for name, module in modules.items():
        calls = (node for node in ast.walk(module.tree) if isinstance(node, ast.Call) and len(node.args) == 2)
        for call in calls:
            if isinstance(call.func, ast.Name) and call.func.id == "isinstance":
                asked = {node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)} & kinds
                yield from (f"{name}:{kind}" for kind in asked if owners[kind] != _package(name))


def _component_kinds(modules: Mapping[str, Module]) -> set[str]:
    """Name all classes that derive from Component or Encoder, and what of the protocols may stand for one."""
    nodes = [node for module in modules.values() for node in module.tree.body if isinstance(node, ast.ClassDef)]
    bases = {node.name: {base.id for base in node.bases if isinstance(base, ast.Name)} for node in nodes}
    kinds = {"Component", "Encoder", *_checkable(modules["burnish.spec.protocols"])}
    while more := {name for name, above in bases.items() if above & kinds} - kinds:
        kinds |= more
    return kinds - {"Component", "Experiment"}  # which are of no kind


def _checkable(module: Module) -> Iterator[str]:
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef) and any(isinstance(each, ast.Name) for each in node.decorator_list):
            yield node.name


def _undocumented(modules: Mapping[str, Module]) -> Iterator[str]:
    """Look for docstrings by the name of a class; one that derives from a class of another library may inherit them."""
    classes = {
        each.name: each for module in modules.values() for each in module.tree.body if isinstance(each, ast.ClassDef)
    }

    def is_documented(name: str, method: str) -> bool:
        if name not in classes:
            return name not in {"Protocol", "Component", "ABC", "Generic", "NamedTuple"}
        own = [each for each in classes[name].body if isinstance(each, ast.FunctionDef) and each.name == method]
        bases = (ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in classes[name].bases)
        return any(map(ast.get_docstring, own)) or any(is_documented(base, method) for base in bases)

    for name, each in classes.items():
        methods = [node.name for node in each.body if isinstance(node, ast.FunctionDef)]
        public = [method for method in methods if not name.startswith("_") and not method.startswith("_")]
        yield from (f"{name}.{method}" for method in public if not is_documented(name, method))


def read_modules(source: Path = SOURCE) -> dict[str, Module]:
    """Find every file below a package, by the name it is imported under."""
    modules = {}
    for path in sorted(source.rglob("*.py")):
        parts = (source.name, *path.relative_to(source).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = Module(name, path)
    return modules


def _package(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 2 else "top level"


def _should_join(module: Module) -> bool:
    return module.num_lines < SMALL_MODULE_LINES and not module.name.endswith("_torch")


if __name__ == "__main__":
    print(json.dumps(asdict(measure()), indent=2))
