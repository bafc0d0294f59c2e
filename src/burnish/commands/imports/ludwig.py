"""Reads a config of Ludwig: input and output features, encoders, trainer, preprocessing and hyperopt."""

from collections.abc import Iterator, Sequence

from burnish.commands.imports.draft import TUNE, Draft
from burnish.commands.imports.ranges import read_range
from burnish.config.foreign import find_foreign
from burnish.config.nodes import Branch, Items, Leaf, Node

_INPUTS, _OUTPUTS, _SPLIT = "input_features", "output_features", "preprocessing.split"
_TEXT, _CLASSES, _NUMBERS = "text", ("category", "binary"), ("number", "numerical")
_COLUMNS = {"number": "number", "numerical": "number", "category": "category", "binary": "boolean", "date": "datetime"}
"""The kinds of column of a table, by what they are called there."""
_KINDS = {"number": "regression", "numerical": "regression", "set": "multilabel"}
"""The kind of what a text is sorted into, where the training rows do not show it."""
_SCALES = {"zscore": "zscore", "log1p": "log"}
_PRETRAINED = {
    "bert": "bert-base-uncased",
    "roberta": "roberta-base",
    "distilbert": "distilbert-base-uncased",
    "electra": "google/electra-small-discriminator",
    "albert": "albert-base-v2",
    "xlmroberta": "xlm-roberta-base",
    "gpt2": "gpt2",
    "t5": "t5-small",
    "auto_transformer": None,
}
"""Encoders that are models of transformers, with the weights that they have there if no others are named."""
_SPACES = {
    "loguniform": "log",
    "uniform": "double",
    "quniform": "double",
    "randint": "int",
    "qrandint": "int",
    "int": "int",
    "float": "double",
}
_LISTS = ("choice", "category", "grid_search")
_TREES = {
    "learning_rate": "model.learning_rate",
    "num_boost_round": "model.rounds",
    "num_leaves": "model.leaves",
    "min_data_in_leaf": "model.least_rows",
    "min_child_samples": "model.least_rows",
    "lambda_l2": "model.l2",
    "reg_lambda": "model.l2",
}
_LAYERS = {"num_fc_layers": "model.layers", "output_size": "model.first", "dropout": "model.dropout"}


def is_ludwig(config: Branch) -> bool:
    """Tell whether a config is one of Ludwig."""
    return {_INPUTS, _OUTPUTS} <= config.nodes.keys()


def read_ludwig(config: Branch, draft: Draft) -> None:
    """Read every section; the kinds of the features decide the task."""
    model_type = config.nodes.get("model_type")
    is_grown = isinstance(model_type, Leaf) and model_type.value == "gbm"
    _read_features(config, draft)
    if is_grown and model_type is not None:
        draft.put("model.type", "gbdt", name="model_type", node=model_type)
    for name, node in config.nodes.items():
        if name in (_INPUTS, _OUTPUTS) or (name == "model_type" and is_grown):
            continue
        if name == "hyperopt" and isinstance(node, Branch):
            _read_hyperopt(node, draft, is_grown=is_grown)
        elif name == "preprocessing" and isinstance(node, Branch):
            _read_preprocessing(node, draft)
        elif name == "combiner" and isinstance(node, Branch):
            _read_combiner(node, draft)
        elif name == "trainer" and is_grown and isinstance(node, Branch):
            _read_growth(node, draft)
        else:
            for path, leaf in _walk(name, node):
                draft.take(path, leaf)


def _read_features(config: Branch, draft: Draft) -> None:
    inputs, outputs = _features(config, _INPUTS), _features(config, _OUTPUTS)
    for name, _kind, node in outputs[1:]:
        draft.leave(
            f"{_OUTPUTS}.{name}", node, "one output is learned from these rows; train a separate run for another"
        )
    texts = [feature for feature in inputs if feature[1] == _TEXT]
    columns = [feature for feature in inputs if feature[1] in _COLUMNS]
    for name, kind, node in inputs:
        if kind != _TEXT and kind not in _COLUMNS:
            draft.leave(f"{_INPUTS}.{name}", node, f"no model here reads features of type {kind}")
    if outputs:
        _choose_task(texts, columns, outputs[0], draft)
    for name, _kind, node in texts:
        _read_text(name, node, draft)
    for name, kind, node in columns:
        _read_column(name, kind, node, draft)
    for _, _, node in outputs[:1]:
        _leave_rest(_OUTPUTS, node, draft, known=("name", "type", "column"))


def _choose_task(
    texts: Sequence[tuple[str, str, Branch]],
    columns: Sequence[tuple[str, str, Branch]],
    output: tuple[str, str, Branch],
    draft: Draft,
) -> None:
    """Say which task it is by the kinds of inputs and output, and name its columns."""
    target, kind, node = output
    name = f"{_OUTPUTS}.{target}"
    names = [each for each, _, _ in texts]
    if kind == _TEXT and names and not columns:
        draft.put("task.type", "seq2seq", name=name, node=node)
        draft.put("task.source", names[0], name=f"{_INPUTS}.{names[0]}", node=texts[0][2])
        draft.put("task.target", target, name=name, node=node)
    elif texts and kind in (*_CLASSES, *_NUMBERS, "set"):
        draft.put("task.type", "text_and_columns" if columns else "text_classification", name=name, node=node)
        draft.put("task.text", names, name=_INPUTS, node=texts[0][2])
        draft.put("task.label", target, name=name, node=node)
        if kind in _KINDS:
            draft.put("task.kind", _KINDS[kind], name=name, node=node)
    elif columns and kind in (*_CLASSES, *_NUMBERS):
        draft.put("task.type", "tabular", name=name, node=node)
        draft.put("task.target", target, name=name, node=node)
        draft.put(
            "task.others", "drop", name=_INPUTS, node=node, said="only the features that are named are inputs there"
        )
    else:
        draft.leave(name, node, f"no task here learns a feature of type {kind} from these inputs")


def _read_text(name: str, node: Branch, draft: Draft) -> None:
    encoder = node.nodes.get("encoder")
    kind = encoder if isinstance(encoder, Leaf) else _child(encoder, "type")
    path = f"{_INPUTS}.{name}.encoder"
    texts = _texts(encoder) if isinstance(encoder, Branch) else {}
    weights = _PRETRAINED.get(kind.value or "") if isinstance(kind, Leaf) else None
    named = texts.pop("pretrained_model_name_or_path", None) or weights
    if named and encoder is not None:
        said = "" if named != weights else "the weights that this encoder has there"
        draft.put("model.name", named, name=path, node=encoder, said=said)
    elif isinstance(kind, Leaf):
        draft.leave(f"{path}.type", kind, f"there is no encoder {kind.value}; `model.name` names a transformer")
    for key, leaf in _walk(path, encoder) if isinstance(encoder, Branch) else ():
        option = key.rpartition(".")[2]
        if option == "trainable":
            draft.leave(
                key, leaf, "all weights are trained; `model.freeze` keeps embeddings and the first layers as they are"
            )
        elif option == "use_pretrained":
            draft.put("model.pretrained", leaf.value if isinstance(leaf, Leaf) else None, name=key, node=leaf)
        elif option not in ("type", "pretrained_model_name_or_path"):
            draft.take(key, leaf)
    preprocessing = node.nodes.get("preprocessing")
    for key, leaf in _walk(f"{_INPUTS}.{name}.preprocessing", preprocessing) if preprocessing else ():
        draft.take(key, leaf)
    _leave_rest(_INPUTS, node, draft, known=("name", "type", "column", "encoder", "preprocessing"))


def _read_column(name: str, kind: str, node: Branch, draft: Draft) -> None:
    place = f"{_INPUTS}.{name}"
    column = node.nodes.get("column")
    key = column.value if isinstance(column, Leaf) and column.value else name
    draft.put(f"task.columns.{key}.kind", _COLUMNS[kind], name=place, node=node)
    for path, leaf in _walk(f"{place}.preprocessing", node.nodes.get("preprocessing") or Branch({}, node.origin)):
        option, text = path.rpartition(".")[2], leaf.value if isinstance(leaf, Leaf) else None
        if option == "normalization" and text in _SCALES:
            draft.put(f"task.columns.{key}.normalise", _SCALES[text], name=path, node=leaf)
        elif option == "fill_value" and text:
            draft.put(f"task.columns.{key}.default", text, name=path, node=leaf)
        else:
            draft.take(path, leaf)
    _leave_rest(_INPUTS, node, draft, known=("name", "type", "column", "preprocessing"))


def _read_preprocessing(section: Branch, draft: Draft) -> None:
    split = section.nodes.get("split")
    if isinstance(split, Branch):
        _read_split(split, draft)
    for path, leaf in _walk("preprocessing", section):
        if not path.startswith(f"{_SPLIT}.") or not isinstance(split, Branch):
            draft.take(path, leaf)


def _read_split(split: Branch, draft: Draft) -> None:
    shares = split.nodes.get("probabilities")
    column = _child(split, "column")
    kind = _texts(split).get("type", "random")
    parts = [each.value for each in shares.nodes if isinstance(each, Leaf)] if isinstance(shares, Items) else []
    if kind == "fixed" and isinstance(column, Leaf):
        draft.put("data.split.by", column.value, name=f"{_SPLIT}.column", node=column)
        return
    if kind not in ("random", "stratify"):
        draft.leave(f"{_SPLIT}.type", split, f"rows are not split by {kind} here; see `data.split`")
        return
    for name, share in zip(("validation", "test"), parts[1:], strict=False):
        try:
            percent = f"{float(share or '') * 100:g}%"
        except ValueError:
            continue
        if percent != "0%" and shares is not None:
            draft.put(f"data.split.{name}", percent, name=f"{_SPLIT}.probabilities", node=shares)
    if isinstance(column, Leaf) and kind == "stratify":
        draft.leave(f"{_SPLIT}.column", column, "the classes of the target are split in proportion by themselves")


def _read_combiner(section: Branch, draft: Draft) -> None:
    kind = _texts(section).get("type", "concat")
    is_table = draft.options.get("task.type") is not None and draft.options["task.type"].value == "tabular"
    for path, leaf in _walk("combiner", section):
        option = path.rpartition(".")[2]
        if not is_table:
            draft.leave(path, leaf, "only the features of a table are combined by layers that can be chosen")
        elif option == "type":
            model = "deep" if kind == "concat" else None
            if model is None:
                draft.leave(path, leaf, f"there is no combiner {kind}; `model=tab_m` suits most tables")
            else:
                draft.put("model.type", model, name=path, node=leaf)
        elif option in _LAYERS and kind == "concat" and isinstance(leaf, Leaf):
            draft.put(_LAYERS[option], leaf.value, name=path, node=leaf)
        else:
            draft.take(path, leaf)


def _read_growth(section: Branch, draft: Draft) -> None:
    """Read the trainer of trees, whose options are those of the model here."""
    for path, leaf in _walk("trainer", section):
        option = path.rpartition(".")[2]
        if option in _TREES and isinstance(leaf, Leaf):
            draft.put(_TREES[option], leaf.value, name=path, node=leaf)
        else:
            draft.leave(path, leaf, "trees have no such option here; see `model: gbdt`")


def _read_hyperopt(section: Branch, draft: Draft, *, is_grown: bool) -> None:
    parameters = section.nodes.get("parameters")
    for name, node in parameters.nodes.items() if isinstance(parameters, Branch) else ():
        option = _TREES.get(name.rpartition(".")[2]) if is_grown else None
        _read_parameter(name, node, draft, option=option)
    for path, leaf in _walk("hyperopt", section):
        if path == "hyperopt.metric" and isinstance(leaf, Leaf) and leaf.value:
            known = find_foreign(leaf.value, of="metrics")
            score = known.ours[0] if known is not None and known.ours else leaf.value
            draft.put("tune.metric", f"validation/{score}", name=path, node=leaf)
        elif not path.startswith("hyperopt.parameters."):
            draft.take(path, leaf, into=("", TUNE))


def _read_parameter(name: str, node: Node, draft: Draft, *, option: str | None) -> None:
    texts = _texts(node) if isinstance(node, Branch) else {}
    space = texts.get("space", "")
    listed = (_child(node, "categories") or _child(node, "values")) if isinstance(node, Branch) else None
    searched = option or name
    if space in _LISTS and isinstance(listed, Items):
        draft.search(searched, node, [each.value or "" for each in listed.nodes if isinstance(each, Leaf)])
        return
    if space not in _SPACES:
        draft.leave(name, node, f"its space must be one of {', '.join((*_SPACES, *_LISTS))}, got {space!r}")
        return
    found = read_range(_SPACES[space], texts.get("lower"), texts.get("upper"))
    if isinstance(found, str):
        draft.leave(name, node, found)
    else:
        draft.search(searched, node, {**found, **({"step": texts["q"]} if "q" in texts else {})})


def _leave_rest(place: str, node: Branch, draft: Draft, *, known: Sequence[str]) -> None:
    name = _texts(node).get("name", "")
    for key, each in node.nodes.items():
        if key not in known:
            for path, leaf in _walk(f"{place}.{name}.{key}", each):
                draft.leave(path, leaf, "the task decides it")


def _features(config: Branch, section: str) -> list[tuple[str, str, Branch]]:
    """List features: their column, their type, and what else is said of them."""
    listed = config.nodes.get(section)
    nodes = [each for each in listed.nodes if isinstance(each, Branch)] if isinstance(listed, Items) else []
    texts = [(_texts(node), node) for node in nodes]
    return [(said.get("column") or said.get("name", ""), said.get("type", ""), node) for said, node in texts]


def _child(node: Node | None, key: str) -> Node | None:
    return node.nodes.get(key) if isinstance(node, Branch) else None


def _texts(node: Branch) -> dict[str, str]:
    return {key: each.value for key, each in node.nodes.items() if isinstance(each, Leaf) and each.value is not None}


def _walk(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    if isinstance(node, Branch):
        for key, each in node.nodes.items():
            yield from _walk(f"{path}.{key}", each)
    else:
        yield path, node
