"""Draws the pictures of the architecture page from the source: `python -m bench.picture` writes them, a test compares.

The layers are those that import-linter enforces, what a package imports is read from its modules, and the words are its
docstring's; the steps of a run are the calls in the worker's own function, in their order.
"""

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from bench.structure import SOURCE, Module, read_modules

ROOT = SOURCE.parents[1]
FOLDER = ROOT / "docs" / "explanation"
WIDTH, GAP, LINE = 1080, 22, 15
LOOK = """<style>
text { font: 11px system-ui, sans-serif; fill: #57606a } .imports { fill: #0969da }
.name { font-size: 14px; font-weight: 600; fill: #24292f }
rect { fill: #f6f8fa; stroke: #8c959f } path { fill: none; stroke: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #9ea7b3 } .name { fill: #e6edf3 } .imports { fill: #58a6ff }
  rect { fill: #161b22; stroke: #6e7681 } path { stroke: #58a6ff }
}
</style>"""


@dataclass(frozen=True)
class Box:
    """A name with a few lines of words below it."""

    name: str
    job: str
    imports: str
    x: float
    width: float

    @property
    def lines(self) -> list[tuple[str, str]]:
        room = int(self.width / 6.3)
        wrapped = [("job", self.job), ("imports", f"→ {self.imports}" if self.imports else "")]
        return [(kind, line) for kind, words in wrapped for line in textwrap.wrap(words, room)]

    @property
    def height(self) -> float:
        return 34 + LINE * len(self.lines)

    def draw(self, y: float, height: float) -> str:
        left = self.x + 10
        words = [f'<text class="name" x="{left:g}" y="{y + 20:g}">{escape(self.name)}</text>']
        for number, (kind, line) in enumerate(self.lines):
            words.append(f'<text class="{kind}" x="{left:g}" y="{y + 38 + LINE * number:g}">{escape(line)}</text>')
        return f'<rect x="{self.x:g}" y="{y:g}" width="{self.width:g}" height="{height:g}" rx="6"/>' + "".join(words)


def draw_tree() -> str:
    """Draw the packages in their layers, each with what it imports."""
    modules = read_modules()
    layers = [[name for name in layer if name != "__main__"] for layer in _read_layers()]
    inside = {name for layer in layers for name in layer}
    rows = [
        _spread(
            [(name, _first_line(modules[f"burnish.{name}"].tree), _imports(name, modules, inside)) for name in layer]
        )
        for layer in layers
        if layer
    ]
    return _draw_rows(rows, title="The packages of Burnish in their layers: imports only point down")


def draw_run() -> str:
    """Draw what the worker does, as its own function calls it."""
    steps = [(name, job, "") for name, job in _read_steps(SOURCE / "run" / "worker.py", function="_train")]
    rows = [_spread([step], margin=220) for step in steps]
    return _draw_rows(rows, title="One run, as run/worker.py reads", arrows=True)


def _read_layers() -> list[list[str]]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (each for each in config["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    return [re.findall(r"\w+", layer) for layer in contract["layers"]]


def _imports(package: str, modules: Mapping[str, Module], inside: set[str]) -> str:
    ours = [module for name, module in modules.items() if _package(name) == package]
    found = {_package(name) for module in ours for name in module.imported(modules)}
    return ", ".join(sorted(found & inside - {package}))


def _package(module: str) -> str:
    return f"{module}.".split(".")[1]


def _first_line(node: ast.Module | ast.FunctionDef) -> str:
    return (ast.get_docstring(node) or "").partition("\n")[0].rstrip(".")


def _read_steps(file: Path, *, function: str) -> Iterator[tuple[str, str]]:
    modules = read_modules()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    sources = {
        alias.asname or alias.name: (modules[node.module], alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in modules
        for alias in node.names
    }
    (body,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    statements = [node.value for node in ast.walk(body) if isinstance(node, ast.Assign | ast.Expr)]
    calls = [value for value in statements if isinstance(value, ast.Call) and isinstance(value.func, ast.Name)]
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        module, name = sources.get(call.func.id, (None, ""))
        for node in module.tree.body if module else ():
            if isinstance(node, ast.FunctionDef) and node.name == name:
                yield f"{name} · {module.path.relative_to(SOURCE).as_posix()}", _first_line(node)


def _spread(items: Sequence[tuple[str, str, str]], *, margin: float = GAP) -> list[Box]:
    width = (WIDTH - 2 * margin - GAP * (len(items) - 1)) / len(items)
    return [Box(*item, x=margin + number * (width + GAP), width=width) for number, item in enumerate(items)]


def _draw_rows(rows: Sequence[Sequence[Box]], *, title: str, arrows: bool = False) -> str:
    shapes, y = [], float(GAP)
    for number, row in enumerate(rows):
        height = max(box.height for box in row)
        shapes += [box.draw(y, height) for box in row]
        y += height + GAP
        if arrows and number + 1 < len(rows):
            shapes.append(f'<path d="M{WIDTH / 2:g} {y - GAP:g}v{GAP:g}m-5 -7l5 7l5 -7"/>')
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:g}" role="img"><title>{escape(title)}</title>'
    )
    return "\n".join([head, LOOK, *shapes, "</svg>", ""])


PICTURES = {"architecture.svg": draw_tree, "run.svg": draw_run}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
