"""Reads a tuning config of Google's training service: `hptuning_config.yaml`."""

from collections.abc import Sequence

from burnish.commands.imports.draft import LAUNCH, TUNE, Draft
from burnish.commands.imports.ranges import read_range
from burnish.config.nodes import Branch, Items, Leaf, Node

_JOB, _SEARCH = "trainingInput", "hyperparameters"
_SCALES = {"UNIT_LOG_SCALE": "log", "UNIT_REVERSE_LOG_SCALE": "reverse_log"}


def is_google(config: Branch) -> bool:
    """Tell whether a config is one of the service."""
    return _JOB in config.nodes or "params" in _find_search(config).nodes


def read_google(config: Branch, draft: Draft) -> None:
    """Read the search, and what the job around it says."""
    search = _find_search(config)
    for name, node in search.nodes.items():
        if name == "params" and isinstance(node, Items):
            for each in node.nodes:
                _read_parameter(each, draft)
        else:
            draft.take(name, node, into=("", TUNE))
    job = config.nodes.get(_JOB)
    outside = [each for each in (config, job) if isinstance(each, Branch)]
    for section in outside if search is not config else ():
        _read_job(section, draft, prefix="")


def _find_search(config: Branch) -> Branch:
    job = config.nodes.get(_JOB)
    holder = job if isinstance(job, Branch) else config
    search = holder.nodes.get(_SEARCH)
    return search if isinstance(search, Branch) else holder


def _read_job(section: Branch, draft: Draft, *, prefix: str) -> None:
    for key, node in section.nodes.items():
        name = f"{prefix}{key}"
        if key in (_JOB, _SEARCH):
            continue
        if key == "args" and isinstance(node, Items):
            _read_arguments(node.nodes, draft)
        elif key == "scaleTier" and "masterType" in section.nodes:
            draft.leave(name, node, "masterType says which machine")
        elif isinstance(node, Branch):
            _read_job(node, draft, prefix=f"{name}.")
        else:
            draft.take(name, node, into=(LAUNCH,))


def _read_arguments(nodes: Sequence[Node], draft: Draft) -> None:
    """Read the fixed arguments of the trials: `--num-epochs=2`, `--num-epochs` and then `2`, or a flag alone."""
    words = [(node.value or "") if isinstance(node, Leaf) else "" for node in nodes]
    is_value = False
    for node, word, after in zip(nodes, words, [*words[1:], ""], strict=True):
        if is_value:
            is_value = False
            continue
        name, equals, value = word.partition("=")
        is_value = word.startswith("-") and not equals and after != "" and not after.startswith("-")
        given = after if is_value else value if equals else "true"
        draft.take(name.lstrip("-") or "args", Leaf(given or None, node.origin))


def _read_parameter(node: Node, draft: Draft) -> None:
    said = node.nodes if isinstance(node, Branch) else {}
    texts = {key: each.value or "" for key, each in said.items() if isinstance(each, Leaf)}
    name, kind = texts.get("parameterName", ""), texts.get("type", "")
    listed = said.get("categoricalValues") or said.get("discreteValues")
    if not name:
        draft.leave("params", node, "it has no parameterName")
    elif kind in ("CATEGORICAL", "DISCRETE") and isinstance(listed, Items):
        draft.search(name, node, [each.value or "" for each in listed.nodes if isinstance(each, Leaf)])
    elif kind in ("INTEGER", "DOUBLE"):
        scale = _SCALES.get(texts.get("scaleType", ""), "double")
        note = "whole numbers are drawn on a linear scale" if kind == "INTEGER" and scale != "double" else ""
        found = read_range("int" if kind == "INTEGER" else scale, texts.get("minValue"), texts.get("maxValue"))
        if isinstance(found, str):
            draft.leave(name, node, found)
        else:
            draft.search(name, node, found, said=note)
    else:
        draft.leave(name, node, f"its type must be INTEGER, DOUBLE, DISCRETE or CATEGORICAL with values, got {kind!r}")
