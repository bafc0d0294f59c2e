"""Reads an experiment file of Determined: hyperparameters, searcher, data, resources and environment."""

import re
from collections.abc import Iterator
from dataclasses import replace

from burnish.commands.imports.draft import KUBERNETES, LAUNCH, TUNE, Draft
from burnish.commands.imports.ranges import read_power_range, read_range
from burnish.config.environment import looks_secret
from burnish.config.foreign import find_foreign
from burnish.config.nodes import Branch, Items, Leaf, Node, find

_KINDS = ("const", "int", "double", "log", "categorical")
_VARIABLES, _MOUNTS = "environment.environment_variables", "bind_mounts"
_SHARED_MEMORY, _PRIORITY = "resources.shm_size", "resources.priority"
_SIZE = re.compile(r"(\d+) ?([bkmgt]?)(i?b)?", re.IGNORECASE)
_ON_KUBERNETES = {"container": "image", "gpus": "gpus", "max_restarts": "max_restarts"}
"""Options of Slurm's launcher by what that of Kubernetes calls them, besides variables."""


def is_determined(config: Branch) -> bool:
    """Tell whether a config is one of Determined."""
    return bool({"hyperparameters", "searcher", "entrypoint"} & config.nodes.keys())


def read_determined(config: Branch, draft: Draft) -> None:
    """Read every section; what is constant becomes the experiment, what varies the space."""
    for name, node in config.nodes.items():
        if name in ("name", "description") and isinstance(node, Leaf) and node.value:
            draft.put(name, node.value, name=name, node=node)
        elif name == "entrypoint":
            _read_entrypoint(node, draft)
        elif name == "hyperparameters":
            _read_hyperparameters(name, node, draft)
        else:
            for path, leaf in _walk(name, node):
                _read_leaf(path, leaf, draft)
    _divide_aggregated(config, draft)
    for path, option in [*draft.options.items()]:
        name = path.removeprefix(f"{LAUNCH}.")
        own = name if name.startswith("env.") else _ON_KUBERNETES.get(name)
        if own is not None and path != name:
            draft.options[f"{KUBERNETES}.{own}"] = option


def _divide_aggregated(config: Branch, draft: Draft) -> None:
    """Count optimizer steps where batches of Determined are parts of one: `aggregation_frequency` of them."""
    node = find(config, ("optimizations", "aggregation_frequency"))
    text = (node.value or "") if isinstance(node, Leaf) else ""
    count = int(text) if text.isdecimal() else 1
    if node is None or count < 2:
        return
    said = f"{count} batches there are a step here, by aggregation_frequency"
    for path in ("train.length", "train.evaluate_every", "train.checkpoint_every", "schedule.warmup"):
        option = draft.options.get(path)
        number, _, unit = str(option.value).partition(" ") if option else ("", "", "")
        if option is not None and unit == "steps" and number.isdecimal():
            steps = -(-int(number) // count)
            note = f"{option.note.partition(';')[0]}; {said}"
            draft.options[path] = replace(option, value=f"{steps} steps", note=note)
    batch = next((path for path in ("train.batch.examples", "train.batch") if path in draft.options), None)
    if batch is not None and str(draft.options[batch].value).isdecimal():
        option = draft.options[batch]
        draft.options[batch] = replace(option, value=str(int(str(option.value)) * count), note=f"{option.note}; {said}")
    draft.left = [each for each in draft.left if "aggregation_frequency: not mapped" not in each]
    draft.put("train.accumulate", str(count), name="optimizations.aggregation_frequency", node=node)


def _walk(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    if isinstance(node, Branch) and node.nodes and path != _VARIABLES:
        for key, each in node.nodes.items():
            yield from _walk(f"{path}.{key}", each)
    else:
        yield path, node


def _read_leaf(path: str, node: Node, draft: Draft) -> None:
    section = path.partition(".")[0]
    whole = find_foreign(section)
    if path.startswith(_VARIABLES):
        _read_variables(node, draft)
    elif path == _MOUNTS:
        _read_mounts(node, draft)
    elif path == _SHARED_MEMORY:
        _read_shared_memory(node, draft)
    elif path == _PRIORITY and isinstance(node, Leaf) and node.value:
        said = f"pods have a class and no number: name the PriorityClass of your cluster for {node.value}"
        draft.put(f"{KUBERNETES}.priority_class", None, name=path, node=node, said=said)
    elif path == "slurm.sbatch_args" and (lines := [each.value for each in _leaves(node) if each.value]):
        draft.put("launch.sbatch", lines, name=path, node=node)
    elif path == "environment.image":  # of a job on a cluster; a service of images takes the same word
        draft.take("image.cuda", node, into=(LAUNCH,))
    elif section == "searcher":
        draft.take(path, node, into=("", TUNE))
    elif whole is not None and not whole.ours:  # where it runs, as a section of its own
        draft.take(path, node, into=(LAUNCH,)) if find_foreign(path) else draft.leave(path, node, whole.explain(None))
    else:
        draft.take(path, node, into=("", LAUNCH))


def _read_hyperparameters(path: str, node: Node, draft: Draft) -> None:
    if not isinstance(node, Branch):
        draft.take(path.partition(".")[2], node)
        return
    kind = node.nodes.get("type")
    if not isinstance(kind, Leaf) or kind.value not in _KINDS:
        for key, each in node.nodes.items():
            _read_hyperparameters(f"{path}.{key}", each, draft)
        return
    _read_parameter(path.partition(".")[2], node, draft, kind=kind.value)


def _read_parameter(name: str, node: Branch, draft: Draft, *, kind: str) -> None:
    texts = {key: each.value or "" for key, each in node.nodes.items() if isinstance(each, Leaf)}
    low, high, listed = texts.get("minval"), texts.get("maxval"), node.nodes.get("vals")
    if kind == "const":
        draft.take(name, node.nodes.get("val", node))
    elif kind == "categorical" and isinstance(listed, Items):
        draft.search(name, node, [each.value or "" for each in listed.nodes if isinstance(each, Leaf)])
    else:
        found = read_power_range(texts.get("base", "10"), low, high) if kind == "log" else read_range(kind, low, high)
        if isinstance(found, str):
            draft.leave(name, node, found)
        else:
            draft.search(name, node, {**found, **({"count": texts["count"]} if texts.get("count") else {})})


def _read_entrypoint(node: Node, draft: Draft) -> None:
    """Take the task from the name of a trial of the model hub, like `ner_trial:NERTrial`."""
    module = ((node.value or "") if isinstance(node, Leaf) else "").partition(":")[0]
    entry = find_foreign(module.removesuffix("_trial"), of="tasks")
    if entry is not None and entry.ours and "task.type" not in draft.options:
        draft.put("task.type", entry.ours[0], name="entrypoint", node=node)
    else:
        draft.take("entrypoint", node)


def _read_variables(node: Node, draft: Draft) -> None:
    """Read variables as a list of NAME=VALUE or as a mapping; a secret is referred to, and not copied."""
    pairs = [each.value.partition("=")[::2] for each in _leaves(node) if each.value]
    if isinstance(node, Branch):
        pairs = [(key, each.value or "") for key, each in node.nodes.items() if isinstance(each, Leaf)]
    for name, value in pairs:
        is_secret = looks_secret(name, value)
        said = "its value is not copied: set the variable where you launch" if is_secret else ""
        shown = None if is_secret else value  # null takes the value that it has there
        draft.put(f"launch.env.{name}", shown, name=_VARIABLES, node=node, said=said)
    if not pairs:
        draft.leave(_VARIABLES, node, "write them as a list of NAME=VALUE")


def _read_shared_memory(node: Node, draft: Draft) -> None:
    """Read a size as Docker takes it: bytes, or with a unit, which counts in 1,024."""
    found = _SIZE.fullmatch((node.value or "") if isinstance(node, Leaf) else "")
    if found is None:
        return draft.leave(_SHARED_MEMORY, node, "a size is bytes, or like 4g")
    unit = found[2].upper().replace("B", "")
    said = "jobs of Slurm have that of their node"
    value = found[1] + (f"{unit}i" if unit else "")
    return draft.put(f"{KUBERNETES}.shared_memory", value, name=_SHARED_MEMORY, node=node, said=said)


def _read_mounts(node: Node, draft: Draft) -> None:
    """Read folders of the node that a container sees; a number says which of them cannot be understood."""
    mounts, volumes = [], {}
    for each in node.nodes if isinstance(node, Items) else ():
        inside = each.nodes.items() if isinstance(each, Branch) else ()
        texts = {key: leaf.value for key, leaf in inside if isinstance(leaf, Leaf)}
        inner = texts.get("container_path")
        if not texts.get("host_path") or not inner:
            return draft.leave(_MOUNTS, node, "each needs a host_path and a container_path")
        is_fixed = texts.get("read_only") == "true"
        mounts.append(f"{texts['host_path']}:{inner}" + (":ro" if is_fixed else ""))
        if not is_fixed and f"{texts['host_path']}".startswith("/") and inner.startswith("/"):
            volumes[inner] = f"host:{texts['host_path']}"
    if mounts:
        draft.put("launch.mounts", mounts, name=_MOUNTS, node=node)
    if volumes:
        draft.put(f"{KUBERNETES}.volumes", volumes, name=_MOUNTS, node=node)
    return None


def _leaves(node: Node) -> list[Leaf]:
    return [each for each in node.nodes if isinstance(each, Leaf)] if isinstance(node, Items) else []
