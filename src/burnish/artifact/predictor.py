"""Loads an artifact, makes it prove itself on its golden vectors, and predicts with it."""

import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.artifact.bundle import GOLDEN, MODEL, PROFILE, SIGNATURE, read_experiment, verify
from burnish.artifact.foreign import encoding_code
from burnish.artifact.locate import Engine, EngineChoice
from burnish.artifact.onnx_graph import OnnxInference
from burnish.artifact.signature import Signature, describe, read_signature, require_inputs
from burnish.artifact.tables import chosen_names, prediction_columns, show_names, words
from burnish.artifact.variants import (
    ANSWER_IN_NUMBERS,
    TOLERANCES,
    TORCH,
    folder_of,
    left_out,
    rank_engines,
    read_variant,
)
from burnish.data.batching.batches import evaluation_plan, evaluation_size
from burnish.data.batching.mixture import Grouped
from burnish.data.cache.spill import encode_aside
from burnish.data.codecs.columns import describe_columns
from burnish.data.readers.read_json import build_column
from burnish.data.tokens.tokens import DESCRIPTION, TextAssets
from burnish.dist.world import World, available_cores
from burnish.durable import read_json
from burnish.engine.evaluate import Collate, Fitting, Infer, infer_all, plainly
from burnish.errors import BurnishError, CheckpointError, DataError, ServeError
from burnish.nearest import nearest
from burnish.spec.experiment import Experiment
from burnish.spec.parts import ALONE, divide_tasks, profile_from_json, take_profile
from burnish.spec.protocols import Encoder, Task, build_encoder
from burnish.spec.values import Array, MemoryMapped, Outcome, Profile, RandomKey
from burnish.storage import manifest

_TIMED_ROUNDS = 5
_TOLERANCE = 1e-3
"""How far probabilities may move between machines; another tokenizer or length moves them much more."""
_ROUNDED_TOLERANCE = 5e-3
"""The same in bf16 and fp16, where the order of a sum already moves them by a thousandth."""


@dataclass(frozen=True)
class Prediction:
    """What a model says of one row, under the names that files of predictions and replies over HTTP have."""

    predicted: str | list[str] | float
    """The class, the classes of a multi-label task, a number, or the words of any other answer."""
    confidence: float | None = None
    probabilities: Mapping[str, float] = field(default_factory=dict)
    answer: Mapping[str, Any] | None = None
    """All that the task says of a row, where that is neither a class nor a number."""
    predicted_name: str | list[str] | None = None
    """The class, or the classes, as people should read them; None where `task.label_names` names none."""

    @property
    def label(self) -> str | list[str] | None:
        """The class, or the classes; None for a number or another answer."""
        return None if self.answer is not None or isinstance(self.predicted, float) else self.predicted

    @property
    def value(self) -> float | None:
        """The number; None for anything else."""
        return self.predicted if isinstance(self.predicted, float) else None

    @property
    def name(self) -> str | list[str] | None:
        """The same as `predicted_name`."""
        return self.predicted_name

    def record(self) -> dict[str, Any]:
        """Write it as a line of JSON has it, and a reply over HTTP: several classes are joined by a semicolon."""
        if self.answer is not None:
            return dict(self.answer)
        record: dict[str, Any] = {"predicted": _joined(self.predicted)}
        if self.predicted_name is not None:
            record["predicted_name"] = _joined(self.predicted_name)
        if self.confidence is not None:
            record["confidence"] = self.confidence
        if self.probabilities:
            record["probabilities"] = dict(self.probabilities)
        return record


@dataclass(frozen=True)
class Predictor:
    """Predict rows; evaluate, predict and serve all use this."""

    experiment: Experiment
    profile: Profile
    encoder: Encoder
    infer: Infer
    described: Signature | None = None
    """What the artifact says of itself; one that is not written yet has nothing to say."""

    @property
    def signature(self) -> Signature:
        """What goes in and what comes out."""
        return self.described or describe(self.experiment, self.profile, golden={"rows": []})

    @property
    def task(self) -> Task:
        """The task that is predicted."""
        return self.experiment.task

    @property
    def input_columns(self) -> tuple[str, ...]:
        """The columns that a prediction reads."""
        return self.profile.inputs or self.task.input_columns

    @classmethod
    def load(
        cls, path: Path, *, task: str | None = None, trust_code: bool = False, engine: EngineChoice = TORCH
    ) -> "Predictor":
        """Load an artifact; refuse it when a file was changed or its answers are not those it was saved with.

        One that learned several tasks must be told of which it is asked. Code that it names must be trusted.
        An `engine` other than torch must have been exported; `auto` takes the fastest that is as good here.
        """
        predictors = load_all(path, trust_code=trust_code, engine=engine)
        there = ", ".join(predictors)
        if ALONE in predictors and task is not None:
            raise DataError(f"{path} was trained on a single task, which has no name; leave out --task {task}")
        if ALONE not in predictors and task is None:
            raise DataError(f"{path} was trained on several tasks; choose one with --task: {there}")
        if (task or ALONE) not in predictors:
            close = nearest(task or "", predictors)
            hint = f"Did you mean `{close}`?" if close else f"There are {there}."
            raise DataError(f"{path} has no task called {task!r}. {hint}")
        return predictors[task or ALONE]

    def predict(self, rows: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Predict rows given as mappings from column to value."""
        return as_predictions(self.outcome(table_of(rows, self.task, profile=self.profile))) if rows else []

    def outcome(
        self,
        table: pa.Table,
        *,
        held: MemoryMapped | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Outcome:
        """Predict a whole table, batched by length; one that is held in a file is never in memory as a whole."""
        if held is None:
            features = self.encoder.encode(table)
        else:
            features = encode_aside(self.encoder, table, held, code=encoding_code(self.experiment)).table
        collate = partial(self.encoder.collate, features)
        outputs = predict_features(self.experiment, features, self.infer, collate=collate, progress=progress)
        return self.encoder.put_into_words(self.task.decode(outputs, self.profile, table))

    def digest_inputs(self, table: pa.Table) -> str:
        """Tell which token ids and categories the rows become: a network may hardly notice that they are others."""
        features = self.encoder.encode(table)
        batch = self.encoder.collate(features, np.arange(features.num_rows), views(self.experiment)[0])
        whole = {name: values.astype(np.int64) for name, values in batch.items() if values.dtype.kind in "iub"}
        digest = sha256()
        for name, values in sorted(whole.items()):
            digest.update(f"{name} {values.shape}".encode() + values.tobytes())
        return digest.hexdigest()


def predict_features(
    experiment: Experiment,
    features: pa.Table,
    infer: Infer,
    *,
    collate: Collate,
    world: World | None = None,
    fitting: Fitting = plainly,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Array]:
    """Run a network over encoded rows in batches of like length; training, evaluation and prediction all pass here."""
    lengths = features["length"].to_numpy()
    asked = experiment.train.evaluation_batch
    plan, draws = evaluation_plan(lengths, asked, examples=evaluation_size(lengths)), views(experiment)
    return infer_all(infer, collate, plan, draws=draws, world=world, fitting=fitting, progress=progress)


def load_all(
    path: Path, *, trust_code: bool = False, engine: EngineChoice = TORCH, threads: int | None = None
) -> dict[str, Predictor]:
    """Load an artifact with a predictor for each of its tasks by name, all of which prove themselves.

    An ONNX graph is computed on so many `threads`, by default on those of the experiment or all cores. With `auto`,
    a variant that cannot be loaded or proven here is left out, with a warning that says why.
    """
    verify(path)
    experiment = read_experiment(path, trust_code=trust_code)
    if engine == "auto":
        return _load_fastest(path, trust_code=trust_code, threads=threads)
    try:
        predictors = _assemble(path, experiment, engine, threads=threads)
        golden = read_json(path / GOLDEN)
        if engine != TORCH:
            golden = _with_outputs(golden, read_json(folder_of(path, engine) / GOLDEN))
        return {
            name: _proven(predictor, golden["tasks"][name] if name else golden, path, name=name, engine=engine)
            for name, predictor in predictors.items()
        }
    except BurnishError:
        raise
    except Exception as error:  # an artifact may come from anybody; its files can be wrong in any way
        raise CheckpointError(
            f"{path} cannot be loaded, because its files do not match each other or this version of Burnish: "
            f"{textwrap.shorten(f'{type(error).__name__}: {error}', 300)}"
        ) from error


def _load_fastest(path: Path, *, trust_code: bool, threads: int | None) -> dict[str, Predictor]:
    ranked = rank_here(path, trust_code=trust_code, tell=_warn)
    for engine in ranked[: ranked.index(TORCH)]:
        try:
            return load_all(path, trust_code=trust_code, engine=engine, threads=threads)
        except (CheckpointError, ServeError) as error:
            _warn(left_out(path, engine, error))
    return load_all(path, trust_code=trust_code, threads=threads)


def rank_here(path: Path, *, trust_code: bool, tell: Callable[[str], None] = lambda note: None) -> list[Engine]:
    """Name torch and the variants that `auto` may take on this machine, the fastest first."""
    answer = cache(partial(_answer_golden_rows, path, trust_code=trust_code))

    def measure(engine: Engine) -> float:
        answers, speed = answer(engine)
        if answers != answer(TORCH)[0]:
            raise ServeError("on this machine it does not give the golden rows the answers that torch gives them")
        return speed

    return rank_engines(path, measure=measure, tell=tell)


def _answer_golden_rows(path: Path, engine: Engine, *, trust_code: bool) -> tuple[list[Any], float]:
    """Answer the golden rows of all tasks; give the answers, where they are not numbers, and the rows a second."""
    predictors, golden = load_all(path, trust_code=trust_code, engine=engine), read_json(path / GOLDEN)
    parts = [
        (each, table_of((golden["tasks"][name] if name else golden)["rows"], each.task, profile=each.profile))
        for name, each in predictors.items()
    ]
    seconds = []
    for _ in range(_TIMED_ROUNDS):
        began = perf_counter()
        outcomes = [each.outcome(table) for each, table in parts]
        seconds.append(perf_counter() - began)
    told = [
        prediction_columns(each)["predicted"].to_pylist() for each in outcomes if each.kind not in ANSWER_IN_NUMBERS
    ]
    return told, sum(table.num_rows for _, table in parts) / min(seconds)


def _warn(note: str) -> None:
    warnings.warn(note, RuntimeWarning, stacklevel=2)


def _with_outputs(golden: Mapping[str, Any], outputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put the answers of a variant next to the golden rows of its artifact."""
    if "tasks" not in golden:
        return {**golden, "outputs": outputs[ALONE]}
    return {"tasks": {name: {**each, "outputs": outputs[name]} for name, each in golden["tasks"].items()}}


def _proven(predictor: Predictor, golden: Mapping[str, Any], path: Path, *, name: str, engine: Engine) -> Predictor:
    """Replay the golden rows, and read the signature; one that no file holds is computed."""
    is_rounded = (manifest.read(path) or {}).get("precision") in ("bf16", "fp16")
    tolerance = _ROUNDED_TOLERANCE if is_rounded else _TOLERANCE
    outcome = _replay(predictor, golden, path, tolerance=TOLERANCES.get(engine, tolerance))
    described = read_signature(path / SIGNATURE, name)
    if described is None:
        described = describe(predictor.experiment, predictor.profile, golden=golden, outcome=outcome)
    columns = describe_columns(predictor.task, predictor.profile)
    return replace(predictor, described=require_inputs(described, columns))


def views(experiment: Experiment) -> list[RandomKey]:
    """Give the draws that a prediction averages over: fixed, so that a prediction is repeatable."""
    seed, number = experiment.runtime.seed, experiment.task.views
    return [RandomKey(seed=seed, epoch=0, is_training=False, view=view) for view in range(number)]


def table_of(rows: Sequence[Mapping[str, Any]], task: Task, *, profile: Profile) -> pa.Table:
    """Put rows into columns as the task reads them; where it does not say how, a missing column is refused."""
    try:
        if (table := task.table(rows, profile)) is not None:
            return table
        names = [name for name in task.training_columns if any(name in row for row in rows)]
        missing = [name for name in task.input_columns if name not in names]
        if missing:
            there = sorted({name for row in rows for name in row})
            raise DataError(
                f"the rows have no {' and no '.join(missing)}; they have {', '.join(there) or 'no columns'}"
            )
        return pa.table({name: _column_of([row.get(name) for row in rows]) for name in names})
    except UnicodeEncodeError as error:
        raise DataError(f"{error.object!a} contains half of a surrogate pair, which is not a character") from error


def _column_of(values: list[Any]) -> pa.Array:
    """Put values into a column, in which a number is the same text among texts as in a column of numbers."""
    column = build_column(values)
    if not pa.types.is_string(column.type):
        return column
    return build_column([_number_as_text(value) if isinstance(value, int | float) else value for value in values])


def _number_as_text(value: float) -> str:
    try:
        return str(pa.scalar(value).cast(pa.string()).as_py())
    except OverflowError:
        return str(value)


def as_predictions(outcome: Outcome) -> list[Prediction]:
    """Put an outcome into words."""
    if outcome.answers is not None:
        return [Prediction(str(each.get("predicted", "")), answer=each) for each in outcome.answers.to_pylist()]
    if outcome.kind == "regression":
        return [Prediction(float(value)) for value in outcome.outputs]
    named = [dict(zip(outcome.labels, map(float, each), strict=True)) for each in outcome.outputs]
    list_chosen = chosen_names if outcome.kind == "multilabel" else words
    labels = list_chosen(outcome.decisions, outcome)
    names = list_chosen(outcome.decisions, show_names(outcome)) if outcome.names else [None] * len(labels)
    if outcome.kind == "multilabel":
        return [
            Prediction(labels_of_row, None, values, predicted_name=name)
            for labels_of_row, values, name in zip(labels, named, names, strict=True)
        ]
    return [
        Prediction(label, values[label], values, predicted_name=name)
        for label, values, name in zip(labels, named, names, strict=True)
    ]


def _joined(classes: str | list[str] | float) -> str | float:
    return ";".join(classes) if isinstance(classes, list) else classes


def golden_of(table: pa.Table, outcome: Outcome, *, columns: Sequence[str]) -> dict[str, Any]:
    """Give a few rows and the answers they got, to be replayed at every load."""
    rows = [{name: _plain(value) for name, value in row.items()} for row in table.select(list(columns)).to_pylist()]
    return {"rows": rows, "outputs": outcome.outputs.tolist()}


def _plain(value: object) -> object:
    """Give a value that JSON can hold: a time or an exact decimal is written as text, and read again as such."""
    return value if value is None or isinstance(value, str | int | float | bool | list | dict) else str(value)


def _assemble(path: Path, experiment: Experiment, engine: str, *, threads: int | None) -> dict[str, Predictor]:
    whole = profile_from_json(read_json(path / PROFILE))
    if engine == TORCH:
        from burnish.artifact.loading_torch import load_infer

        # One that does not tell its precision is of a version that left `auto` to the device, as its answers show.
        is_told = "precision" in (manifest.read(path) or {})
        runtime = experiment.settled_runtime if is_told else experiment.runtime
        infer = load_infer(path / MODEL, experiment, whole, runtime=runtime)
    else:
        graphs = read_variant(path, engine).graphs
        specs = [graphs[name] for name in divide_tasks(experiment)]
        threads = threads or experiment.runtime.threads or available_cores()
        infer = OnnxInference.load(folder_of(path, engine), specs, experiment.task.head(whole), threads=threads).infer
    # A model without a tokenizer leaves no file of one, and makes its assets itself.
    has_tokenizer = (path / MODEL / DESCRIPTION).is_file()
    assets = TextAssets.load(path / MODEL) if has_tokenizer else experiment.model.assets()
    predictors: dict[str, Predictor] = {}
    for group, (name, part) in enumerate(divide_tasks(experiment).items()):
        profile = take_profile(whole, name)
        encoder = build_encoder(part.task, profile, assets)
        predictors[name] = Predictor(part, profile, Grouped(encoder, group) if name else encoder, infer)
    return predictors


def _replay(predictor: Predictor, golden: Mapping[str, Any], path: Path, *, tolerance: float) -> Outcome:
    if not golden["rows"]:
        raise ServeError(f"{path} has no golden rows, so nothing shows that it predicts as it did when it was saved")
    expected: Array = np.array(golden["outputs"], dtype=np.float64)
    try:
        table = table_of(golden["rows"], predictor.task, profile=predictor.profile)
        outcome, inputs = predictor.outcome(table), predictor.digest_inputs(table)
    except DataError as error:
        raise ServeError(
            f"{path} does not pass its own test, because its golden rows cannot be read: {error}"
        ) from error
    if inputs != golden.get("inputs", inputs):  # artifacts of earlier versions do not hold it
        raise ServeError(
            f"{path} does not predict as it did when it was saved: its golden rows become other token ids or "
            "categories. The tokenizer, the truncation, a vocabulary of its profile, or a library must have changed"
        )
    distance = relative_error(outcome.outputs, expected)
    if not distance <= tolerance:
        raise ServeError(
            f"{path} does not predict as it did when it was saved: its golden rows differ by {distance:.2g}, "
            f"and at most {tolerance:g} is allowed. {_what_changed(predictor)}"
        )
    return outcome


def relative_error(given: Array, expected: Array) -> float:
    """Give the largest difference, relative to what is expected where that is above 1."""
    if given.shape != expected.shape:
        return np.inf
    return float(np.max(np.abs(given - expected) / np.maximum(1.0, np.abs(expected)), initial=0.0))


def _what_changed(predictor: Predictor) -> str:
    """Say why predictions may differ from those that were saved; about votes more is known."""
    if (
        getattr(getattr(predictor.task, "truncation", None), "pool", None) == "vote"
        and predictor.profile.kind != "regression"
    ):
        return (
            "Its windows vote (task.truncation.pool: vote), and early versions of Burnish counted votes wrongly: "
            "labels got probabilities above 1, and a prediction depended on the other rows. If one of them saved this "
            "artifact, train again with `burnish rerun`; otherwise a library or a file of the model must have changed"
        )
    return "A library version, a file of the model or Burnish itself (see CHANGELOG.md) must have changed"
