"""Finds pretrained models on this machine: in the hub's cache, in installed packages and in folders here.

Nothing is asked over the network.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.models.transformers.locate_model import PACKAGE, HubCopy

_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_REPOSITORY = "models--"
_FOLDERS = ("*", "models/*", "models/*/*")
"""Where models lie that somebody copied here, as seen from the current folder."""
_INSIDE_PACKAGES = ("", "*")
_ENCODERS = (
    *("albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "mpnet"),
    *("nomic_bert", "roberta", "roformer", "xlm-roberta", "xlnet"),
)
_MOST_BYTES = 700_000_000
"""A larger model than the base size of BERT is proposed only where there is no smaller one."""
_MOST_NAMED = 5
_TRUE = ("1", "ON", "YES", "TRUE")
"""How the library of the hub reads its variables."""


@dataclass(frozen=True)
class ModelHere:
    """A model that needs no network: what `model.name` would say, and what it is."""

    name: str
    place: str
    """`hub cache`, `package` or `folder`."""
    family: str
    layers: int | None
    width: int | None
    num_bytes: int

    @property
    def is_encoder(self) -> bool:
        """Whether texts can be classified with it."""
        return self.family in _ENCODERS

    @property
    def summary(self) -> str:
        """Say in a few words what it is."""
        size = f"{self.layers} layers, width {self.width}, " if self.layers and self.width else ""
        return f"{self.family}: {size}{self.num_bytes / 1e6:,.0f} MB"


def find_models_here(*, root: Path | None = None) -> list[ModelHere]:
    """List the models with weights that are on this machine."""
    root = root or Path()
    candidates = [*_in_cache(), *_in_packages(), *_in_folders(root)]
    found: dict[str, ModelHere] = {}
    for name, place, folder in candidates:
        model = _read_model(name, place, folder)
        if model is not None:
            found.setdefault(name, model)
    return list(found.values())


def propose_model(usual: str, models: Iterable[ModelHere]) -> str:
    """Choose the usual model if it is here, else an encoder that is, else the usual one, which the hub has."""
    here = {model.name: model for model in models}
    encoders = [model for model in here.values() if model.is_encoder]
    if usual in here or not encoders:
        return usual
    usable = [model for model in encoders if model.num_bytes <= _MOST_BYTES]
    if usable:
        return max(usable, key=lambda model: model.num_bytes).name
    return min(encoders, key=lambda model: model.num_bytes).name


def name_models(models: Iterable[ModelHere]) -> str:
    """Name some of the models in a sentence."""
    names = [model.name for model in models]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def cached_folder(name: str, copy: HubCopy) -> Path | None:
    """Find the copy of a version in the hub's cache."""
    repository = _cache(copy.cache_dir) / f"{_REPOSITORY}{name.replace('/', '--')}"
    reference = repository / "refs" / copy.revision
    commit = reference.read_text().strip() if reference.is_file() else copy.revision
    snapshot = repository / "snapshots" / commit
    return snapshot if snapshot.is_dir() else None


def has_weights(folder: Path) -> bool:
    """Tell whether a folder holds weights that are safe to read."""
    return any((folder / name).is_file() for name in _WEIGHTS)


def is_offline() -> bool:
    """Tell whether the user has said that the hub is not to be asked."""
    stated = (os.environ.get(name, "").upper() for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
    return any(value in _TRUE for value in stated)


def _cache(stated: str | None) -> Path:
    from huggingface_hub import constants

    return Path(stated or constants.HF_HUB_CACHE).expanduser()


def _in_cache() -> Iterator[tuple[str, str, Path]]:
    cache = _cache(None)
    for repository in sorted(cache.glob(f"{_REPOSITORY}*")):
        name = repository.name.removeprefix(_REPOSITORY).replace("--", "/")
        folder = cached_folder(name, HubCopy())
        if folder is not None:
            yield name, "hub cache", folder


def package_folders() -> list[str]:
    """List where packages are installed."""
    return [path for path in dict.fromkeys(sys.path) if path.endswith("-packages")]


def _in_packages() -> Iterator[tuple[str, str, Path]]:
    for path in package_folders():
        for inside in _INSIDE_PACKAGES:
            for weights in sorted(Path(path).glob(f"*/{inside}/{_WEIGHTS[0]}")):
                module, *parts = weights.parent.relative_to(path).parts
                if module.isidentifier():
                    yield f"{PACKAGE}{'/'.join([module, *parts])}", "package", weights.parent


def _in_folders(root: Path) -> Iterator[tuple[str, str, Path]]:
    for pattern in _FOLDERS:
        for config in sorted(root.glob(f"{pattern}/config.json")):
            name = config.parent.relative_to(root).as_posix()
            yield f"./{name}", "folder", config.parent


def _read_model(name: str, place: str, folder: Path) -> ModelHere | None:
    if not has_weights(folder):
        return None
    try:
        config: Any = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        family = config["model_type"]
        num_bytes = sum(os.path.getsize(path) for path in folder.glob("model*.safetensors"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    layers = config.get("num_hidden_layers") or config.get("n_layers") or config.get("n_layer")
    width = config.get("hidden_size") or config.get("dim") or config.get("n_embd")
    if not isinstance(family, str):
        return None
    return ModelHere(
        name=name,
        place=place,
        family=family,
        layers=layers if isinstance(layers, int) else None,
        width=width if isinstance(width, int) else None,
        num_bytes=num_bytes,
    )
