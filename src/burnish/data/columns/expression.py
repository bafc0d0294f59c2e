"""Reads an expression over columns, like `trip_miles / (trip_seconds / 3600)`, and refuses all else by its place."""

import ast
from dataclasses import dataclass
from typing import Literal

Reading = Literal["number", "text", "time"]

LONGEST = 1000
_DEEPEST = 50

FUNCTIONS = {
    **dict.fromkeys(
        ("log", "log1p", "exp", "sqrt", "abs", "floor", "ceil", "round", "sin", "cos", "is_missing"), (1, 1)
    ),
    **dict.fromkeys(("min", "max"), (2, 20)),
    "clip": (3, 3),
    "fill": (2, 2),
    "if_": (3, 3),
    "col": (1, 1),
    **dict.fromkeys(("lower", "length"), (1, 1)),
}
"""What may be called, with the fewest and the most arguments."""
PARTS = {
    "hour": "hour",
    "minute": "minute",
    "weekday": "weekday",
    "dayofweek": "weekday",
    "day": "day",
    "dayofyear": "day_of_year",
    "month": "month",
    "year": "year",
    "days": "elapsed",
}
"""Functions of a time, and the part that each takes out of it."""
_NODES = (
    *(ast.Expression, ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Call),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.USub, ast.UAdd, ast.Not, ast.And),
    *(ast.Or, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.IfExp, ast.Tuple, ast.List),
)


@dataclass(frozen=True)
class Expression:
    """An expression that holds nothing but arithmetic over columns."""

    text: str
    tree: ast.expr
    columns: tuple[str, ...]
    """The columns it reads, in order."""


def parse(text: str) -> Expression:
    """Read an expression; raise ValueError with a sentence and the place for anything that is none."""
    if len(text) > LONGEST:
        raise ValueError(f"must have at most {LONGEST} characters, got {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"is not an expression: {error.msg} at character {error.offset or 1} of {text!r}") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise ValueError(f"is not an expression that can be read: {error}") from None
    _check(tree, text, depth=0)
    return Expression(text, tree, tuple(dict.fromkeys(_columns(tree))))


def find_column(node: ast.expr) -> str | None:
    """Find the column that a node names, if it names one: `fare`, or `col("marital-status")`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "col":
        assert isinstance(node.args[0], ast.Constant)  # checked when it was read
        return str(node.args[0].value)
    return None


def is_text(node: ast.expr) -> bool:
    """Tell whether a node is text: in quotes, or the work of `lower`."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lower"


def _check(node: ast.AST, text: str, *, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError(f"is nested more than {_DEEPEST} deep{_place(node, text)}")
    if not isinstance(node, _NODES):
        raise ValueError(
            f"may hold arithmetic, comparisons and functions of columns, not {_name_node(node)}{_place(node, text)}"
        )
    if isinstance(node, ast.Call):
        _check_call(node, text)
    if isinstance(node, ast.Constant) and not isinstance(node.value, int | float | str):
        raise ValueError(f"may hold numbers and text, not {node.value!r}{_place(node, text)}")
    if isinstance(node, ast.Tuple | ast.List) and not all(isinstance(each, ast.Constant) for each in node.elts):
        raise ValueError(f"may hold lists of plain values only{_place(node, text)}")
    if isinstance(node, ast.Compare):
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.In | ast.NotIn) != isinstance(right, ast.Tuple | ast.List):
                raise ValueError(f"takes `in` with a list of values, like kind in ('a', 'b'){_place(right, text)}")
    for child in _operands(node):
        _check(child, text, depth=depth + 1)


def _check_call(node: ast.Call, text: str) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else None
    if name not in FUNCTIONS and name not in PARTS:
        known = ", ".join(sorted([*FUNCTIONS, *PARTS]))
        what = f"`{name}` is not a function" if name else "only a function may be called"
        raise ValueError(f"{what}{_place(node, text)}; there are {known}")
    fewest, most = FUNCTIONS.get(name or "", (1, 1))
    if node.keywords or not fewest <= len(node.args) <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise ValueError(f"`{name}` takes {wanted} value{'s' * (wanted != '1')}{_place(node, text)}")
    is_quoted = isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    if name == "col" and not is_quoted:
        raise ValueError(f'`col` takes the name of a column in quotes, like col("zip code"){_place(node, text)}')
    if name in (*PARTS, "lower", "length") and find_column(node.args[0]) is None:
        raise ValueError(f"`{name}` takes a column{_place(node, text)}")


def _operands(node: ast.AST) -> list[ast.AST]:
    """List what is inside a node; the name of a function is no column."""
    if isinstance(node, ast.Call):
        return [*node.args]
    return [*ast.iter_child_nodes(node)]


def _columns(node: ast.AST) -> list[str]:
    name = find_column(node) if isinstance(node, ast.expr) else None
    return [name] if name is not None else [found for child in _operands(node) for found in _columns(child)]


def _name_node(node: ast.AST) -> str:
    return {
        "Attribute": "a dot",
        "Subscript": "an index in brackets",
        "Lambda": "a lambda",
        "NamedExpr": "an assignment",
        "JoinedStr": "a formatted text",
        "Starred": "a star",
    }.get(type(node).__name__, type(node).__name__)


def _place(node: ast.AST, text: str) -> str:
    # The parser counts bytes; a user counts characters.
    at = getattr(node, "col_offset", 0)
    stripped = text.strip()
    return f" at character {len(stripped.encode()[:at].decode(errors='ignore')) + 1} of {stripped!r}"
