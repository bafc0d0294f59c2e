"""Reads a config of Model Garden's driver: task, trainer and runtime, with one member of each choice."""

from collections.abc import Iterator

from burnish.commands.imports.draft import Draft
from burnish.config.nodes import Branch, Items, Leaf, Node, find

_SECTIONS = {"task", "trainer", "runtime"}
_OWN = {"optimizer_config", "train_data", "validation_data", "train_steps", "init_checkpoint", "hub_module_url"}
"""Keys that tell such a config from others with a section `trainer`."""
_WEIGHTS = ("task.init_checkpoint", "task.hub_module_url")
_RATE = "trainer.optimizer_config.learning_rate"
_WARMUP = "trainer.optimizer_config.warmup"
_SCHEDULES = ("polynomial", "exponential", "cosine", "constant")
"""Those of the same name and course here."""
_NEVER_DECAY = ("layernorm", "layer_norm", "bias")
_ENCODER = "task.model.encoder"
_SAID = "the training data say it"


def is_model_garden(config: Branch) -> bool:
    """Tell whether a config is one of the driver."""
    inside = [node for name, node in config.nodes.items() if name in _SECTIONS and isinstance(node, Branch)]
    return "input_features" not in config.nodes and any(_OWN & section.nodes.keys() for section in inside)


def read_model_garden(config: Branch, draft: Draft) -> None:
    """Read every option; of a choice only the member that its `type` names counts."""
    leaves = dict(_walk("", config))
    _read_rate(config, leaves, draft)
    _read_betas(leaves, draft)
    _read_exempt(leaves, draft)
    has_weights = any(_text(leaves, name) for name in _WEIGHTS)
    for path, node in leaves.items():
        text = node.value if isinstance(node, Leaf) else None
        chosen = _find_choice(config, path)
        if isinstance(node, Leaf) and not text:
            draft.leave(path, node, "it is empty there")
        elif chosen is not None:
            draft.leave(path, node, f"its `type` is {chosen}, so that this is not used")
        elif path.startswith(_ENCODER) and has_weights:
            draft.leave(path, node, "the weights that `model.name` names have a size already")
        elif path == f"{_WARMUP}.type" and text in ("linear", "polynomial"):
            draft.leave(path, node, "a warm-up climbs along `schedule.warmup_power`, which is 1 for a straight line")
        elif path == "task.train_data.input_path":
            _read_training_files(node, draft)
        elif path.startswith("task.validation_data.") and _text(leaves, path.replace("validation", "train")) == text:
            draft.leave(path, node, _SAID)
        elif path == "task.model.num_classes":
            _read_classes(node, draft)
        else:
            draft.take(path, node)
    if not has_weights and any(path.startswith(_ENCODER) for path in leaves):
        node = leaves[next(path for path in leaves if path.startswith(_ENCODER))]
        draft.put("model.pretrained", "false", name=_ENCODER, node=node, said="no checkpoint is named")


def _walk(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    if isinstance(node, Branch):
        for key, each in node.nodes.items():
            yield from _walk(f"{path}.{key}".removeprefix("."), each)
    else:
        yield path, node


def _text(leaves: dict[str, Node], path: str) -> str | None:
    node = leaves.get(path)
    return node.value if isinstance(node, Leaf) else None


def _find_choice(config: Branch, path: str) -> str | None:
    """Find the type of a choice that an option is no part of; None for one that counts."""
    parts = tuple(path.split("."))
    for end in range(1, len(parts) - 1):
        holder = find(config, parts[:end])
        kind = holder.nodes.get("type") if isinstance(holder, Branch) else None
        is_member = isinstance(holder, Branch) and isinstance(holder.nodes.get(parts[end]), Branch)
        if is_member and isinstance(kind, Leaf) and kind.value not in (None, parts[end]):
            return kind.value
    return None


def _read_rate(config: Branch, leaves: dict[str, Node], draft: Draft) -> None:
    """Read the course of the learning rate: its last value becomes a share of the first, its steps the length."""
    kind = _text(leaves, f"{_RATE}.type")
    if kind is None:
        return
    node = leaves.pop(f"{_RATE}.type")
    if kind not in _SCHEDULES:
        draft.leave(f"{_RATE}.type", node, f"there is no schedule like {kind}; see `burnish list schedules`")
        return
    draft.put("schedule.type", kind, name=f"{_RATE}.type", node=node)
    first, last = _text(leaves, f"{_RATE}.{kind}.initial_learning_rate"), f"{_RATE}.{kind}.end_learning_rate"
    share = _divide(_text(leaves, last), first)
    if share is not None:
        node = leaves.pop(last)
        draft.put("schedule.end", f"{share:g}", name=last, node=node, said="as a share of the first rate")
    steps = f"{_RATE}.{kind}.decay_steps"
    if steps in leaves and kind == "exponential":
        draft.put("schedule.every", f"{_text(leaves, steps)} steps", name=steps, node=leaves.pop(steps))
    elif steps in leaves and _text(leaves, steps) == _text(leaves, "trainer.train_steps"):
        draft.leave(steps, leaves.pop(steps), "a schedule ends with the training, as it does there")


def _read_betas(leaves: dict[str, Node], draft: Draft) -> None:
    """Read the two averages of Adam and its kind, which are one option here."""
    for path in [each for each in leaves if each.endswith(".beta_1")]:
        other = path.replace(".beta_1", ".beta_2")
        if _text(leaves, path) and _text(leaves, other):
            node = leaves.pop(path)
            betas = [_text({path: node}, path), _text(leaves, other)]
            leaves.pop(other)
            draft.put("optimizer.betas", betas, name=f"{path}, beta_2", node=node)


def _read_exempt(leaves: dict[str, Node], draft: Draft) -> None:
    """Read the weights that do not decay, without those that never do here."""
    for path in [each for each in leaves if each.endswith(".exclude_from_weight_decay")]:
        node = leaves.pop(path)
        names = [each.value or "" for each in node.nodes if isinstance(each, Leaf)] if isinstance(node, Items) else []
        others = [name for name in names if name.lower() not in _NEVER_DECAY]
        if others:
            draft.put("optimizer.no_decay", others, name=path, node=node, said="biases and norms never decay")
        else:
            draft.leave(path, node, "biases and norms never decay")


def _read_training_files(node: Node, draft: Draft) -> None:
    texts = [each.value for each in node.nodes if isinstance(each, Leaf)] if isinstance(node, Items) else []
    first = node.value if isinstance(node, Leaf) else next(iter(texts), None)
    if first and ("tfrecord" in first or "tf_record" in first):
        said = "records of token ids need their tokenizer as well, `data.tokenizer`"
        draft.put("data.type", "tfrecord", name="task.train_data.input_path", node=node, said=said)
    if isinstance(node, Items):
        draft.put("data.train", texts, name="task.train_data.input_path", node=node)
    else:
        draft.take("task.train_data.input_path", node)


def _read_classes(node: Node, draft: Draft) -> None:
    name, count = "task.model.num_classes", node.value if isinstance(node, Leaf) else None
    draft.put("task.type", "text_classification", name=name, node=node, said="classes are counted in the training rows")
    if count == "1":
        draft.put("task.kind", "regression", name=name, node=node, said="one output is a number")


def _divide(part: str | None, whole: str | None) -> float | None:
    try:
        return float(part or "") / float(whole or "")
    except (ValueError, ZeroDivisionError):
        return None
