"""Writes boosted trees of LightGBM as one ONNX TreeEnsemble."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from burnish.artifact.onnx_graph import GraphSpec
from burnish.errors import ServeError
from burnish.extras import require
from burnish.spec.values import TableInputs

_AT_MOST, _MEMBER = 0, 6
"""How ONNX numbers `x <= split` and `x is in a set`."""
_OPSETS = {"": 18, "ai.onnx.ml": 5}


@dataclass
class _Ensemble:
    """The attributes of the operator, filled tree by tree."""

    tree_roots: list[int] = field(default_factory=list)
    nodes_featureids: list[int] = field(default_factory=list)
    nodes_modes: list[int] = field(default_factory=list)
    nodes_splits: list[float] = field(default_factory=list)
    nodes_truenodeids: list[int] = field(default_factory=list)
    nodes_trueleafs: list[int] = field(default_factory=list)
    nodes_falsenodeids: list[int] = field(default_factory=list)
    nodes_falseleafs: list[int] = field(default_factory=list)
    leaf_targetids: list[int] = field(default_factory=list)
    leaf_weights: list[float] = field(default_factory=list)
    membership_values: list[float] = field(default_factory=list)

    def add_tree(self, root: Mapping[str, Any], *, target: int) -> None:
        """Add a tree; one that is a single leaf becomes a question whose two answers are alike."""
        self.tree_roots.append(len(self.nodes_modes))
        if "leaf_value" in root:
            root = {
                "split_feature": 0,
                "decision_type": "<=",
                "threshold": 0.0,
                "left_child": root,
                "right_child": root,
            }
        self._add_node(root, target)

    def _add_node(self, node: Mapping[str, Any], target: int) -> int:
        place = len(self.nodes_modes)
        is_set = node["decision_type"] == "=="
        self.nodes_featureids.append(int(node["split_feature"]))
        self.nodes_modes.append(_MEMBER if is_set else _AT_MOST)
        self.nodes_splits.append(0.0 if is_set else _rounded_down(float(node["threshold"])))
        if is_set:
            self.membership_values += [*map(float, str(node["threshold"]).split("||")), float("nan")]
        lists = (
            (self.nodes_truenodeids, self.nodes_trueleafs, node["left_child"]),
            (self.nodes_falsenodeids, self.nodes_falseleafs, node["right_child"]),
        )
        for ids, leafs, _child in lists:  # room for this node, before its children come
            ids.append(0)
            leafs.append(0)
        for ids, leafs, child in lists:
            leafs[place] = int("leaf_value" in child)
            ids[place] = self._add_leaf(child, target) if leafs[place] else self._add_node(child, target)
        return place

    def _add_leaf(self, leaf: Mapping[str, Any], target: int) -> int:
        self.leaf_targetids.append(target)
        self.leaf_weights.append(float(leaf["leaf_value"]))
        return len(self.leaf_weights) - 1

    def attributes(self, tensor: Any) -> Iterator[tuple[str, Any]]:
        """Give them as the operator takes them: modes and numbers as tensors, the rest as lists."""
        for name, values in vars(self).items():
            is_of_numbers = name in ("nodes_splits", "leaf_weights", "membership_values")
            if is_of_numbers and values:
                yield name, tensor(np.array(values, np.float32), name=name)
            elif name == "nodes_modes":
                yield name, tensor(np.array(values, np.uint8), name=name)
            elif not is_of_numbers:
                yield name, values


def write_trees(text: str, inputs: TableInputs, path: Path) -> GraphSpec:
    """Write trees, given as LightGBM writes them, with the table's numbers and categories as inputs."""
    if not text:
        raise ServeError("the model has not grown any trees, so there is nothing to export")
    lightgbm = require("lightgbm", extra="trees", why="to read boosted trees")
    onnx = require("onnx", extra="onnx", why="to write an ONNX graph")
    dumped = lightgbm.Booster(model_str=text).dump_model()
    num_targets, ensemble = int(dumped["num_tree_per_iteration"]), _Ensemble()
    for number, tree in enumerate(dumped["tree_info"]):
        ensemble.add_tree(tree["tree_structure"], target=number % num_targets)
    make, kinds = onnx.helper, onnx.TensorProto
    columns = {"numbers": len(inputs.numbers), "categories": len(inputs.categories)}
    taken = [name for name, count in columns.items() if count]
    graph = make.make_graph(
        [*_nodes(onnx, ensemble, taken, num_targets, is_binary=str(dumped["objective"]).startswith("binary"))],
        "trees",
        [
            make.make_tensor_value_info(
                name, kinds.FLOAT if name == "numbers" else kinds.INT64, ["rows", columns[name]]
            )
            for name in taken
        ],
        [make.make_tensor_value_info("logits", kinds.FLOAT, ["rows", None])],
        [onnx.numpy_helper.from_array(np.zeros((1, 1), np.float32), "zero")],
    )
    opsets = [make.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
    onnx.save(make.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return GraphSpec(file=path.name, form="rows", inputs=tuple(taken))


def _nodes(onnx: Any, ensemble: _Ensemble, taken: Sequence[str], num_targets: int, *, is_binary: bool) -> Iterator[Any]:
    node = onnx.helper.make_node
    for name in taken:
        yield node("Cast", [name], [f"{name}_as_float"], to=onnx.TensorProto.FLOAT)
    yield node("Concat", [f"{name}_as_float" for name in taken], ["table"], axis=1)
    yield node(
        "TreeEnsemble",
        ["table"],
        ["raw" if is_binary else "logits"],
        domain="ai.onnx.ml",
        n_targets=num_targets,
        aggregate_function=1,
        post_transform=0,
        **dict(ensemble.attributes(onnx.numpy_helper.from_array)),
    )
    if is_binary:  # LightGBM gives the odds of the second class alone
        yield node("Mul", ["raw", "zero"], ["first"])
        yield node("Concat", ["first", "raw"], ["logits"], axis=1)


def _rounded_down(threshold: float) -> float:
    """Give the largest 32-bit number that is not above a threshold, so that 32-bit values fall on the same side."""
    rounded = np.float32(threshold)
    return float(np.nextafter(rounded, np.float32(-np.inf)) if float(rounded) > threshold else rounded)
