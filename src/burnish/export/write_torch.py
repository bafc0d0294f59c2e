"""Exports an artifact's model: graphs first, then the proof, and the manifest last."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from burnish.artifact.bundle import GOLDEN, MODEL, PROFILE, read_experiment
from burnish.artifact.locate import Engine
from burnish.artifact.onnx_graph import GraphSpec, OnnxInference
from burnish.artifact.predictor import Predictor, table_of, views
from burnish.artifact.variants import FORMAT, EngineSpeed, Proof, Variant, digest_of, folder_of, machine, processor
from burnish.dist.world import available_cores
from burnish.durable import read_json, sync_folder
from burnish.engine.infer_torch import Autocast, Inference
from burnish.errors import ServeError
from burnish.export.graphs_torch import write_graph
from burnish.export.prove import measure_speed, prove_task
from burnish.extras import require
from burnish.models.tabular.boosted_trees_torch import BoostedTrees
from burnish.models.transformers.joint_torch import JointNetwork
from burnish.spec.parts import profile_from_json
from burnish.spec.protocols import Metric
from burnish.spec.values import Batch, HeadSpec, Outcome
from burnish.storage import manifest

MAX_ERROR = 1e-4
"""How far answers of a graph in fp32 may be from those of torch in fp32."""


@dataclass(frozen=True)
class HeldOut:
    """The rows of each task that exports are proved on."""

    tables: Mapping[str, pa.Table]
    split: str
    metrics: Mapping[str, Metric]
    """By which each task is judged."""


@dataclass(frozen=True)
class Exporter:
    """An artifact whose network is in place, with what torch answers to the rows that exports are proved on."""

    path: Path
    predictors: Mapping[str, Predictor]
    network: nn.Module
    head: HeadSpec
    threads: int
    heldout: HeldOut
    expected: Mapping[str, Outcome]
    speed: EngineSpeed

    @classmethod
    def load(cls, path: Path, predictors: Mapping[str, Predictor], heldout: HeldOut) -> "Exporter":
        """Load the network again, in fp32, and answer the held-out rows with it."""
        require("onnx", extra="onnx", why="to export a model")
        require("onnxscript", extra="onnx", why="to export a model")
        experiment = read_experiment(path, trust_code=True)  # as who loaded the predictors was asked
        head = experiment.task.head(profile_from_json(read_json(path / PROFILE)))
        network = experiment.model.load(path / MODEL, head).eval()
        infer = Inference(network, Autocast(torch.device("cpu")), head).infer
        expected = {name: replace(each, infer=infer).outcome(heldout.tables[name]) for name, each in predictors.items()}
        speed = measure_speed(predictors, heldout.tables, files=path / MODEL)
        threads = experiment.runtime.threads or available_cores()
        return cls(path, predictors, network, head, threads, heldout, expected, speed)

    def export(self, engine: Engine, *, tolerance: float) -> Variant:
        """Write a variant, prove it, and put it in place whole."""
        target = folder_of(self.path, engine)
        building = target.with_name(f".{engine}.building")
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        try:
            graphs = self._quantise(building) if engine == "onnx-int8" else self._trace(building)
            variant = self._prove(engine, graphs, building, tolerance=tolerance)
            manifest.commit(building, variant.model_dump(mode="json"))
            shutil.rmtree(target, ignore_errors=True)
            os.replace(building, target)
        finally:
            shutil.rmtree(building, ignore_errors=True)
        sync_folder(target.parent)
        return variant

    def _trace(self, folder: Path) -> dict[str, GraphSpec]:
        whole = self.network
        networks = {
            name: whole.heads[f"task_{name}"] if isinstance(whole, JointNetwork) else whole for name in self.predictors
        }
        return {
            name: write_graph(network, self._golden_batch(name), folder / f"{name or 'model'}.onnx")
            for name, network in networks.items()
        }

    def _quantise(self, folder: Path) -> dict[str, GraphSpec]:
        """Write weights as 8-bit integers, from the graphs of the variant in fp32."""
        if isinstance(self.network, BoostedTrees):
            raise ServeError("trees have no weights that could be 8-bit integers; export them without --int8")
        onnx = require("onnx", extra="onnx", why="to export a model")
        quantization = require("onnxruntime.quantization", extra="onnx", why="to export a model with 8-bit weights")
        source = folder_of(self.path, "onnx")
        graphs = Variant.model_validate(manifest.read(source)).graphs
        for spec in graphs.values():
            model = onnx.load(source / spec.file)
            del model.graph.value_info[:]  # shapes that the exporter wrote, some of them from before it folded weights
            quantization.quantize_dynamic(
                model, folder / spec.file, weight_type=quantization.QuantType.QInt8, per_channel=True
            )
        return dict(graphs)

    def _prove(self, engine: Engine, graphs: Mapping[str, GraphSpec], folder: Path, *, tolerance: float) -> Variant:
        infer = OnnxInference.load(folder, [*graphs.values()], self.head, threads=self.threads).infer
        mine = {name: replace(each, infer=infer) for name, each in self.predictors.items()}
        proofs = {
            name: prove_task(
                self.expected[name],
                each.outcome(self.heldout.tables[name]),
                metric=self.heldout.metrics[name],
            )
            for name, each in mine.items()
        }
        worst = max(each.max_error for each in proofs.values())
        if engine == "onnx" and not worst <= MAX_ERROR:
            raise ServeError(
                f"the exported graph does not answer as torch does: outputs differ by {worst:.2g} on held-out rows, "
                f"and at most {MAX_ERROR:g} is allowed; nothing was exported. Please report this model"
            )
        answers = {name: each.outcome(self._golden_table(name)).outputs.tolist() for name, each in mine.items()}
        (folder / GOLDEN).write_text(json.dumps(answers), encoding="utf-8")
        return Variant(
            variant_format=FORMAT,
            engine=engine,
            artifact=digest_of(self.path),
            graphs=graphs,
            proof=Proof(
                tasks=proofs,
                split=self.heldout.split,
                tolerance=tolerance,
                torch=self.speed,
                own=measure_speed(mine, self.heldout.tables, files=folder),
                machine=machine(),
                processor=processor(),
            ),
        )

    def _golden_table(self, name: str) -> pa.Table:
        golden, predictor = read_json(self.path / GOLDEN), self.predictors[name]
        rows = (golden["tasks"][name] if name else golden)["rows"]
        return table_of(rows, predictor.task, profile=predictor.profile)

    def _golden_batch(self, name: str) -> Batch:
        """Give rows to trace with: two at least, as one would make a graph of one."""
        predictor, table = self.predictors[name], self._golden_table(name)
        features = predictor.encoder.encode(pa.concat_tables([table, table]) if len(table) == 1 else table)
        return predictor.encoder.collate(features, np.arange(features.num_rows), views(predictor.experiment)[0])
