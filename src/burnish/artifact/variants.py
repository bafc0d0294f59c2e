"""Other forms of an artifact's model, each with the proof it was exported with, and the choice among them."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from burnish.artifact.locate import Engine
from burnish.artifact.onnx_graph import GraphSpec, require_runtime
from burnish.data.cache.features import cache_root
from burnish.durable import read_json, write_durably
from burnish.errors import CheckpointError, MissingExtra, ServeError
from burnish.storage import manifest

TORCH: Engine = "torch"
VARIANTS, FORMAT = "variants", 1
ANSWER_IN_NUMBERS = ("regression", "retrieval")
"""Kinds whose answers are numbers, which are never quite the same."""
TOLERANCES: Mapping[Engine, float] = {"onnx": 1e-3, "onnx-int8": 0.05}
"""How far the answers to golden rows may move between machines; products of 8-bit numbers differ more."""
_PACKAGES = ("torch", "onnxruntime")


class VariantValue(BaseModel):
    """A part of what a variant's manifest says; fields that a later version adds are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class EngineSpeed(VariantValue):
    """What a form of the model costs, from rows to answers."""

    one_row_seconds: float
    rows_per_second: float
    num_bytes: int
    """The size of its files."""


class TaskProof(VariantValue):
    """How the answers to held-out rows compare with those of torch in fp32."""

    rows: int
    max_error: float
    """The largest difference of an output, relative to the output where that is above 1."""
    agreement: float | None = None
    """The share of rows with the same answer; null where answers are numbers or vectors."""
    agreement_low: float | None = None
    agreement_high: float | None = None
    score: str | None = None
    """The score by which the model is judged, where the rows have labels."""
    torch_value: float | None = None
    value: float | None = None
    loss: float | None = None
    """By how much the score is worse; below 0 where it is better. Null if the variant has no such score any more."""
    loss_low: float | None = None
    loss_high: float | None = None

    def is_within(self, tolerance: float) -> bool:
        """Whether it lost no more; without labels, whether as many answers agree."""
        if self.loss is not None:
            return self.loss <= tolerance
        if self.score is not None:
            return False
        return self.agreement is None or 1 - self.agreement <= tolerance


class Proof(VariantValue):
    """What was measured when a variant was exported."""

    tasks: Mapping[str, TaskProof]
    split: str
    """Which rows they were."""
    tolerance: float
    """By how much the score may be worse for `auto` to choose the variant."""
    torch: EngineSpeed
    own: EngineSpeed
    machine: str
    """A digest of the processor and the libraries of the machine."""
    processor: str

    @property
    def is_within(self) -> bool:
        """Whether no task lost more than the tolerance."""
        return all(each.is_within(self.tolerance) for each in self.tasks.values())


class Variant(VariantValue):
    """A form of the model that lies in `variants/` of an artifact."""

    variant_format: int
    engine: str
    artifact: str
    """The digest of the artifact's manifest."""
    graphs: Mapping[str, GraphSpec]
    """By task."""
    proof: Proof


def folder_of(path: Path, engine: str) -> Path:
    """Name the folder of a variant."""
    return path / VARIANTS / engine


def read_variant(path: Path, engine: str) -> Variant:
    """Read the manifest of a variant; refuse one that was changed, or that is of another artifact."""
    folder = folder_of(path, engine)
    if not folder.is_dir():
        there = ", ".join(found_variants(path)) or "none"
        flag = " --int8" if engine == "onnx-int8" else ""
        raise ServeError(
            f"{path} has no variant {engine} (there is {there}); make it with `burnish export {path} --to onnx{flag}`"
        )
    wrong = manifest.fault(folder, needs=["golden.json"])
    if wrong is not None:
        raise CheckpointError(f"{folder} cannot be trusted: {wrong}")
    content = manifest.read(folder) or {}
    try:
        found = Variant.model_validate(content)
    except ValidationError as error:
        raise CheckpointError(f"{folder} is not a variant that this version of Burnish reads: {error}") from error
    unlisted = sorted({graph.file for graph in found.graphs.values()} - content["files"].keys())
    if unlisted:
        named = ", ".join(json.dumps(name)[:80] for name in unlisted)
        raise CheckpointError(f"{folder} cannot be trusted: {manifest.NAME} does not list {named}")
    if found.variant_format != FORMAT:
        raise CheckpointError(f"{folder} has variant format {found.variant_format}; this version reads {FORMAT}")
    if found.artifact != digest_of(path):
        raise CheckpointError(f"{folder} was exported from another artifact than {path}; export it again")
    return found


def found_variants(path: Path) -> list[Engine]:
    """Name the variants of an artifact."""
    folders = (path / VARIANTS).iterdir() if (path / VARIANTS).is_dir() else ()
    there = {each.name for each in folders if (each / manifest.NAME).is_file()}
    return sorted(engine for engine in TOLERANCES if engine in there)


def digest_of(path: Path) -> str:
    """Give the digest of an artifact: that of its manifest, which has those of all files."""
    return hashlib.sha256((path / manifest.NAME).read_bytes()).hexdigest()


def rank_engines(path: Path, *, measure: Callable[[Engine], float], tell: Callable[[str], None]) -> list[Engine]:
    """Name torch and the variants whose score is within their tolerance, the fastest on this machine first.

    What another machine measured says nothing here: then `measure` gives the rows a second of each, once, and refuses
    a variant that does not answer here as torch does. What is left out is told of.
    """
    within = {engine: proof for engine, proof in _sound_proofs(path, tell) if proof.is_within}
    here = machine()
    if all(proof.machine == here for proof in within.values()):
        torch = max((proof.torch.rows_per_second for proof in within.values()), default=0.0)
        speeds = {TORCH: torch, **{engine: proof.own.rows_per_second for engine, proof in within.items()}}
    else:
        speeds = _measure_once(path, [TORCH, *within], measure, tell)
    return sorted(speeds, key=lambda engine: -speeds[engine])


def left_out(path: Path, engine: str, why: object) -> str:
    """Say that `auto` passes a variant over."""
    return f"{path}: --engine auto leaves out {engine}: {why}"


def _sound_proofs(path: Path, tell: Callable[[str], None]) -> Iterator[tuple[Engine, Proof]]:
    """Pass over variants that cannot run here, were damaged or are of another artifact: torch answers without them."""
    for engine in found_variants(path):
        try:
            proof = read_variant(path, engine).proof
            require_runtime()
        except (CheckpointError, MissingExtra) as error:
            tell(left_out(path, engine, error))
        else:
            yield engine, proof


def machine() -> str:
    """Tell machines apart by what speed depends on."""
    known = [processor(), str(os.cpu_count()), *map(_version, _PACKAGES)]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]


def processor(path: Path = Path("/proc/cpuinfo")) -> str:
    """Name the processor, with the instructions that products of matrices gain most from."""
    try:
        lines = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
    except OSError:
        return "unknown"
    found = {name.strip(): value.strip() for name, value in lines.items()}
    flags = {*found.get("flags", "").split()}
    useful = [name for name in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8") if name in flags]
    return f"{found.get('model name', 'unknown')} ({', '.join(useful) or 'no vector instructions known'})"


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


def _measure_once(
    path: Path, engines: list[Engine], measure: Callable[[Engine], float], tell: Callable[[str], None]
) -> dict[Engine, float]:
    """Measure what can answer here, and remember it for as long as variants, libraries and machine are the same."""
    exports = [digest_of(path), *(digest_of(folder_of(path, engine)) for engine in engines if engine != TORCH)]
    key = hashlib.sha256("\n".join([machine(), *exports]).encode()).hexdigest()[:32]
    file = cache_root() / "engines" / f"{key}.json"
    known: dict[Engine, Any] = {}
    with suppress(OSError, ValueError):  # absent, or torn
        known = read_json(file)
    failed: dict[Engine, str] = {}
    for engine in (each for each in engines if each not in known):
        try:
            known[engine] = measure(engine)
        except (CheckpointError, ServeError) as error:
            if engine == TORCH:
                raise
            # Other answers will be the same the next time; what could not be loaded may have lacked memory.
            (known if isinstance(error, ServeError) else failed)[engine] = str(error)
    with suppress(OSError):  # where nothing can be kept, it is measured again
        file.parent.mkdir(parents=True, exist_ok=True)
        write_durably(file, json.dumps(known).encode())
    for engine, found in {**known, **failed}.items():
        if isinstance(found, str):
            tell(left_out(path, engine, found))
    return {engine: found for engine, found in known.items() if not isinstance(found, str)}
