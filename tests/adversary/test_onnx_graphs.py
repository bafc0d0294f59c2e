"""Graphs of a stranger: no tensor from a local file, no graph that nothing vouches for, no other format in disguise."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from burnish.artifact.onnx_file import refuse_outside_data
from burnish.errors import CheckpointError
from burnish.storage import manifest
from tests.adversary.judge import IS_FULL, contents, judge
from tests.adversary.mutate import mutate_bytes
from tests.adversary.seeds import Seeds, seeds

pytestmark = pytest.mark.timeout(3600 if IS_FULL else 300)

FIXTURE = Path(__file__).parents[1] / "fixtures" / "artifacts" / "format-1"
ROW = '{"miles": 12.0, "company": "Blue", "night": "no"}'
SECRET = b"correct horse battery staple"


@pytest.fixture
def artifact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An artifact with a variant, in a folder where a secret is."""
    (tmp_path / "passwords.txt").write_bytes(SECRET)
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(FIXTURE, tmp_path / "stranger"))


def sign(artifact: Path, **facts: Any) -> None:
    """Write a manifest of the variant that vouches for what is there now, as a stranger can."""
    variant = artifact / "variants" / "onnx"
    told = json.loads((variant / manifest.NAME).read_text())
    manifest.commit(
        variant, {**{name: each for name, each in told.items() if name not in ("files", "digest")}, **facts}
    )


def outside(name: str = "stolen", location: str = "passwords.txt") -> onnx.TensorProto:
    """A tensor whose bytes are those of a file."""
    tensor = onnx.TensorProto(name=name, data_type=onnx.TensorProto.UINT8, dims=[len(SECRET)])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return tensor


def inside() -> onnx.TensorProto:
    return numpy_helper.from_array(np.zeros(2, np.float32), "plain")


def graph(*nodes: onnx.NodeProto, tensors: Any = ()) -> onnx.GraphProto:
    return helper.make_graph(nodes, "g", [], [], initializer=tensors)


def constant(tensor: onnx.TensorProto) -> onnx.NodeProto:
    return helper.make_node("Constant", [], ["c"], value=tensor)


def model(*nodes: onnx.NodeProto, tensors: Any = ()) -> onnx.ModelProto:
    return helper.make_model(graph(*nodes, tensors=tensors))


def hide_as_sparse() -> onnx.ModelProto:
    found = model()
    found.graph.sparse_initializer.add().indices.CopyFrom(outside())
    return found


def hide_in_sparse_attribute() -> onnx.ModelProto:
    node = onnx.NodeProto(op_type="Constant")
    attribute = node.attribute.add(name="sparse_value", type=onnx.AttributeProto.SPARSE_TENSORS)
    attribute.sparse_tensors.add().values.CopyFrom(outside())
    return model(node)


def hide_in_list() -> onnx.ModelProto:
    node = onnx.NodeProto(op_type="Constant")
    node.attribute.add(name="t", type=onnx.AttributeProto.TENSORS).tensors.append(outside())
    return model(node)


def hide_in_branch() -> onnx.ModelProto:
    inner = graph(constant(outside()))
    return model(helper.make_node("If", ["c"], ["y"], then_branch=graph(), else_branch=inner))


def hide_in_graphs() -> onnx.ModelProto:
    node = onnx.NodeProto(op_type="Many")
    node.attribute.add(name="g", type=onnx.AttributeProto.GRAPHS).graphs.append(graph(tensors=[outside()]))
    return model(node)


def hide_in_function() -> onnx.ModelProto:
    found = model()
    found.functions.append(helper.make_function("own", "F", [], ["c"], [constant(outside())], []))
    return found


def hide_in_default_of_function() -> onnx.ModelProto:
    found = model()
    function = found.functions.add(name="F", domain="own")
    function.attribute_proto.add(name="t", type=onnx.AttributeProto.TENSOR).t.CopyFrom(outside())
    return found


def hide_in_training() -> onnx.ModelProto:
    found = model()
    found.training_info.add().initialization.CopyFrom(graph(tensors=[outside()]))
    return found


def name_a_file_only() -> onnx.ModelProto:
    tensor = outside()
    tensor.ClearField("data_location")
    return model(tensors=[tensor])


def say_external_only() -> onnx.ModelProto:
    tensor = outside()
    del tensor.external_data[:]
    return model(tensors=[tensor])


HIDDEN = {
    "initializer": lambda: model(tensors=[inside(), outside()]),
    "absolute": lambda: model(tensors=[outside(location="/etc/passwd")]),
    "memory": lambda: model(tensors=[outside(location="*/_ORT_MEM_ADDR_/*")]),
    "constant": lambda: model(constant(outside())),
    "sparse initializer": hide_as_sparse,
    "sparse attribute": hide_in_sparse_attribute,
    "list of tensors": hide_in_list,
    "branch": hide_in_branch,
    "list of graphs": hide_in_graphs,
    "function": hide_in_function,
    "default of a function": hide_in_default_of_function,
    "training": hide_in_training,
    "a location alone": name_a_file_only,
    "external alone": say_external_only,
}


@pytest.mark.parametrize("place", HIDDEN)
def test_data_outside_of_a_graph_is_found_wherever_it_is_named(place: str) -> None:
    content = HIDDEN[place]().SerializeToString()
    with pytest.raises(CheckpointError, match="keeps the data of a tensor in another file"):
        refuse_outside_data(content, source=Path("stranger.onnx"))


def test_data_is_found_in_the_second_part_of_a_graph_that_is_written_twice() -> None:
    twice = model(tensors=[inside()]).SerializeToString() + model(tensors=[outside()]).SerializeToString()
    assert len(onnx.load_from_string(twice).graph.initializer) == 2
    with pytest.raises(CheckpointError, match="in another file"):
        refuse_outside_data(twice, source=Path("stranger.onnx"))


def test_numbers_that_are_written_longer_than_needed_hide_nothing() -> None:
    tensor = b"\xf0\x00\x81\x80\x00"  # field 14, the location of the data: 1, external
    initializer = b"\x2a" + bytes([len(tensor)]) + tensor
    content = b"\xba\x00" + bytes([len(initializer)]) + initializer
    assert onnx.load_from_string(content).graph.initializer[0].data_location == onnx.TensorProto.EXTERNAL
    with pytest.raises(CheckpointError):
        refuse_outside_data(content, source=Path("stranger.onnx"))


def test_a_graph_that_points_to_a_cache_of_a_device_is_refused() -> None:
    node = helper.make_node("EPContext", ["x"], ["y"], domain="com.microsoft", ep_cache_context="../secret.bin")
    with pytest.raises(CheckpointError, match="EPContext"):
        refuse_outside_data(model(node).SerializeToString(), source=Path("stranger.onnx"))


@pytest.mark.parametrize("content", [b"\x18\x00\x00\x00ORTM", b"\x0b\x0c", b"\x0a\xff", b"not a graph", b"\x0f"])
def test_what_is_no_graph_of_onnx_is_refused(content: bytes) -> None:
    with pytest.raises(CheckpointError, match="not a graph that can be read safely"):
        refuse_outside_data(content, source=Path("stranger.onnx"))


@pytest.mark.parametrize("name", ["format-1", "format-1-text"])
def test_graphs_of_our_own_pass(name: str) -> None:
    path = FIXTURE.with_name(name) / "variants" / "onnx" / "model.onnx"
    refuse_outside_data(path.read_bytes(), source=path)


def steal(path: Path) -> None:
    """Let a graph add nothing, times the bytes of a file, to its answer: its golden rows still pass."""
    found = onnx.load(path)
    (answer,) = found.graph.output
    found.graph.initializer.extend([outside(), numpy_helper.from_array(np.float32(0), "nothing")])
    for node in found.graph.node:
        node.output[:] = ["before" if name == answer.name else name for name in node.output]
    found.graph.node.extend(
        [
            helper.make_node("Cast", ["stolen"], ["bytes"], to=onnx.TensorProto.FLOAT),
            helper.make_node("ReduceSum", ["bytes"], ["sum"], keepdims=0),
            helper.make_node("Mul", ["sum", "nothing"], ["zero"]),
            helper.make_node("Add", ["before", "zero"], [answer.name]),
        ]
    )
    onnx.save(found, path)


@pytest.mark.parametrize("engine", ["onnx", "auto"])
def test_an_artifact_does_not_read_files_of_its_user(artifact: Path, engine: str) -> None:
    steal(artifact / "variants" / "onnx" / "model.onnx")
    sign(artifact)
    said = judge(["predict", artifact, "--row", ROW, "--engine", engine])
    assert (said.code, "keeps the data of a tensor in another file" in said.err) == (5 if engine == "onnx" else 0, True)


def test_an_export_to_8_bits_reads_no_graph_of_a_stranger(artifact: Path) -> None:
    steal(artifact / "variants" / "onnx" / "model.onnx")
    sign(artifact)
    judge(["export", artifact, "--int8"])
    for path in (artifact / "variants").rglob("*.onnx"):
        assert SECRET not in path.read_bytes()


@pytest.mark.parametrize("file", ["../model.onnx", "unlisted.onnx", "link.onnx", "ABSOLUTE", "", "."])
def test_a_graph_must_be_in_the_manifest(artifact: Path, tmp_path: Path, file: str) -> None:
    variant = artifact / "variants" / "onnx"
    elsewhere = Path(shutil.copy(variant / "model.onnx", tmp_path / "elsewhere.onnx"))
    shutil.copy(elsewhere, variant.parent / "model.onnx")
    graphs = {"": {"file": str(elsewhere) if file == "ABSOLUTE" else file, "form": "rows", "inputs": ["numbers"]}}
    sign(artifact, graphs=graphs)
    shutil.copy(elsewhere, variant / "unlisted.onnx")
    (variant / "link.onnx").symlink_to(elsewhere)
    said = judge(["predict", artifact, "--row", ROW, "--engine", "onnx"])
    assert (said.code, "does not list" in said.err) == (5, True)


def test_a_graph_that_is_a_link_to_elsewhere_is_refused(artifact: Path, tmp_path: Path) -> None:
    graph = artifact / "variants" / "onnx" / "model.onnx"
    shutil.move(graph, tmp_path / "elsewhere.onnx")
    graph.symlink_to(tmp_path / "elsewhere.onnx")
    sign(artifact)
    said = judge(["predict", artifact, "--row", ROW, "--engine", "onnx"])
    assert (said.code, "points outside" in said.err) == (5, True)


@pytest.mark.parametrize(
    "name", ["model/forged.json", "model/tokenizer.model", "model/inner/vocab.txt", "signature.json"]
)
@pytest.mark.parametrize("make", [lambda path: path.write_text("{}"), lambda path: path.symlink_to("/etc/hostname")])
def test_a_file_that_a_library_may_read_must_be_in_the_manifest(
    artifact: Path, name: str, make: Callable[[Path], object]
) -> None:
    (artifact / name).parent.mkdir(exist_ok=True)
    make(artifact / name)
    said = judge(["predict", artifact, "--row", ROW])
    assert (said.code, f"does not list {name}" in said.err) == (5, True)


@seeds(few=20, full=1_500)
def test_mutated_graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: Seeds) -> None:
    (tmp_path / "passwords.txt").write_bytes(SECRET)
    monkeypatch.chdir(tmp_path)

    @seeds.each("graph")
    def case(draw: Random) -> None:
        target = tmp_path / "stranger"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(FIXTURE, target)
        path = target / "variants" / "onnx" / "model.onnx"
        if draw.random() < 0.5:
            steal(path)
        path.write_bytes(mutate_bytes(path.read_bytes(), draw))
        sign(target)
        before = contents([target])
        judge(["predict", target, "--row", ROW, "--engine", draw.choice(["onnx", "auto"])])
        assert contents([target]) == before
