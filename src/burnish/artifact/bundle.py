"""Writes an artifact (weights, tokenizer, profile, experiment, signature, golden vectors, manifest last); checks it."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from burnish import __version__
from burnish.artifact.foreign import foreign_code, missing_code
from burnish.artifact.signature import Signature, write_signatures
from burnish.config import load, render, trust
from burnish.durable import stage_folder
from burnish.errors import CheckpointError, ConfigError
from burnish.spec.experiment import Experiment
from burnish.spec.protocols import Assets
from burnish.spec.values import Profile
from burnish.storage import manifest

FORMAT = 1
EXPERIMENT, PROFILE, GOLDEN, MODEL = "experiment.yaml", "profile.json", "golden.json", "model"
SIGNATURE = "signature.json"


def write_artifact(
    path: Path,
    experiment: Experiment,
    *,
    profile: Profile,
    assets: Assets,
    network: Any,
    golden: Mapping[str, Any],
    signatures: Mapping[str, Signature],
    facts: Mapping[str, Any],
) -> None:
    """Build the folder under another name and put it in place whole."""
    with stage_folder(path) as building:
        (building / MODEL).mkdir()
        (building / EXPERIMENT).write_text(render(experiment), encoding="utf-8")
        (building / PROFILE).write_text(json.dumps(asdict(profile), indent=1), encoding="utf-8")
        (building / GOLDEN).write_text(json.dumps(golden, indent=1), encoding="utf-8")
        write_signatures(building / SIGNATURE, signatures)
        assets.save(building / MODEL)
        experiment.model.save(network, building / MODEL)
        code = foreign_code(experiment)
        told = {"format": FORMAT, "burnish": __version__, **({"code": code} if code else {})}
        manifest.commit(building, {**told, **facts})
        trust(building / EXPERIMENT)
        shutil.rmtree(path, ignore_errors=True)


def verify(path: Path) -> None:
    """Refuse an artifact of a format of another version, or with a file that was changed or is not listed."""
    wrong = manifest.fault(path, needs=[EXPERIMENT, PROFILE, GOLDEN], complete=[SIGNATURE, MODEL])
    if wrong is not None:
        raise CheckpointError(f"{path} cannot be trusted: {wrong}")
    version = (manifest.read(path) or {}).get("format")
    if version != FORMAT:
        raise CheckpointError(f"{path} has artifact format {version!s:.40}; this version of Burnish reads {FORMAT}")


def read_experiment(path: Path, *, trust_code: bool) -> Experiment:
    """Read the experiment of an artifact; refuse code that is not trusted, or not there."""
    try:
        return load(str(path / EXPERIMENT), trust_code=trust_code).experiment
    except ConfigError as error:
        needed = (manifest.read(path) or {}).get("code")
        if not needed or not isinstance(needed, list):
            raise
        raise missing_code(path, needed, why=error.problems[0].message) from error
