"""`burnish export` and `push`: an artifact's model in another form, proved to answer alike, or on the hub."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from burnish.artifact.locate import Engine, find_artifact
from burnish.data.sources.address import find
from burnish.errors import BurnishError, CheckpointError
from burnish.storage import manifest

if TYPE_CHECKING:
    from burnish.artifact.predictor import Predictor
    from burnish.artifact.variants import EngineSpeed, TaskProof
    from burnish.export.write_torch import HeldOut

TOLERANCE = 0.01
_CARD = "README.md"


@dataclass(frozen=True)
class Exported:
    """A variant that was written, with its proof."""

    engine: Engine
    path: Path
    tasks: "Mapping[str, TaskProof]"
    torch: "EngineSpeed"
    own: "EngineSpeed"
    is_within: bool
    """Whether `--engine auto` may choose it."""


@dataclass(frozen=True)
class Exports:
    """All that was exported, and what it was proved on."""

    variants: tuple[Exported, ...]
    split: str
    processor: str
    chosen: str
    """What `--engine auto` takes on this machine."""
    notes: tuple[str, ...] = ()


def export(
    target: str,
    *,
    to: Literal["onnx"] = "onnx",
    int8: bool = False,
    data: str | None = None,
    tolerance: float = TOLERANCE,
    trust_code: bool = False,
    tell: Callable[[str], None] = lambda _note: None,
) -> Exports:
    """Export to ONNX, with `int8` also with 8-bit weights; prove each on held-out rows or on those of a file.

    A variant whose score is worse by more than `tolerance` is written too, but never chosen by `auto`.
    """
    if data is not None:
        find(data, option="the input")  # refuses a file that is not there before the model is loaded
    from burnish.artifact.predictor import load_all, rank_here
    from burnish.artifact.variants import folder_of, processor

    folder = find_artifact(target)
    predictors = load_all(folder, trust_code=trust_code)
    heldout, found = _heldout(folder, predictors, data)
    from burnish.export.write_torch import Exporter

    exporter, done = Exporter.load(folder, predictors, heldout), []
    engines: tuple[Engine, ...] = ("onnx", "onnx-int8") if int8 else ("onnx",)
    for engine in engines:
        tell(f"exporting {engine}")
        proof = exporter.export(engine, tolerance=tolerance).proof
        place = folder_of(folder, engine)
        done.append(Exported(engine, place, proof.tasks, proof.torch, proof.own, proof.is_within))
    notes = [*found]
    chosen, *_ = rank_here(folder, trust_code=trust_code, tell=notes.append)
    return Exports(tuple(done), heldout.split, processor(), chosen, tuple(notes))


def _heldout(
    folder: Path, predictors: "Mapping[str, Predictor]", data: str | None
) -> tuple["HeldOut", tuple[str, ...]]:
    """Take the rows that `evaluate` would score; where they are not to be had, the golden rows."""
    from burnish.artifact.bundle import GOLDEN
    from burnish.artifact.predictor import table_of
    from burnish.durable import read_json
    from burnish.export.prove import sample_rows
    from burnish.export.write_torch import HeldOut
    from burnish.run.predicting.rows import rows_to_score
    from burnish.run.selection import main_metric, metrics_of

    metrics = {name: main_metric(metrics_of(each.experiment, each.profile)) for name, each in predictors.items()}
    recorded = (manifest.read(folder) or {}).get("data")
    try:
        found = rows_to_score(
            predictors, split=None, data=data, trained_on=recorded if isinstance(recorded, dict) else {}
        )
    except BurnishError as error:
        if data is not None:
            raise
        golden = read_json(folder / GOLDEN)
        tables = {
            name: table_of((golden["tasks"][name] if name else golden)["rows"], each.task, profile=each.profile)
            for name, each in predictors.items()
        }
        note = f"proved on the golden rows alone, because the held-out rows could not be read ({error}); give --in FILE"
        return HeldOut(tables, "golden rows", metrics), (note,)
    tables = {name: sample_rows(rows.table) for name, rows in found.rows.items()}
    return HeldOut(tables, found.split or str(data), metrics), found.notes


def _refuse_links(artifact: Path) -> None:
    """Refuse to upload what is elsewhere: an artifact of somebody else could link to any file of this machine."""
    for path in (artifact / _CARD, *sorted((artifact / "model").rglob("*"))):
        if not path.resolve().is_relative_to(artifact.resolve()):
            raise CheckpointError(f"{path} leads to {path.resolve()}, which is not part of the artifact; remove it")


def push(target: str, repository: str, *, is_public: bool = False, revision: str | None = None) -> str:
    """Upload an artifact's model, as `transformers` reads it, and its card to a hub; tell the address of the commit."""
    from huggingface_hub import HfApi, errors

    artifact = find_artifact(target)
    if not (artifact / "model" / "config.json").is_file():
        raise BurnishError(
            f"{artifact} holds no model of transformers, which is what a hub takes; copy the folder itself"
        )
    _refuse_links(artifact)
    hub = HfApi()
    options: dict[str, Any] = {"repo_id": repository, "revision": revision}
    try:
        hub.create_repo(repository, private=not is_public, exist_ok=True)
        if (artifact / _CARD).is_file():
            hub.upload_file(path_or_fileobj=artifact / _CARD, path_in_repo=_CARD, **options)
        told = hub.upload_folder(
            folder_path=artifact / "model", commit_message=f"Upload {artifact.parent.name}", **options
        )
        return str(told.commit_url)
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError, ValueError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise BurnishError(
            f"{repository} could not be written: {said}; a token with the right to write is taken from HF_TOKEN "
            "or `hf auth login`"
        ) from error
