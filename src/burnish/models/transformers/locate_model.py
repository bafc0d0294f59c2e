"""Finds the folder behind a model's name: a path, `package:module/inside`, or a name on the hub."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import ConfigError, DataError, Problem, StorageError
from burnish.storage.address import read_address

PACKAGE = "package:"
FORMS = "a name on the hub like org/model, a folder, gs:// or s3://bucket/folder, or package:module/folder"
_WEB = ("http://", "https://")

_HUB_NAME = re.compile(r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")
_MODELS = ("", "model", "artifact/model")
_CONFIG_FILES = ("config.json",)
_TOKENIZER_FILES = (
    *("tokenizer*", "vocab*", "merges.txt", "*.model", "special_tokens_map.json", "added_tokens.json"),
    *("*.spm", "*.tokenizer", "bpe.codes", "dict.txt", "emoji.json", "word_*.json", "byte_maps.json"),
)
_GENERATION_FILES = ("generation_config.json",)
_SAFE_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "model-*.safetensors")
ADAPTER = "adapter"
"""The folder beside the weights that holds what was trained next to them."""
_ADAPTER_FILES = (f"{ADAPTER}/adapter_config.json", f"{ADAPTER}/adapter_model.safetensors")
_PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*.bin")


@dataclass(frozen=True)
class HubCopy:
    """Which version on the hub, and where copies are kept."""

    revision: str = "main"
    cache_dir: str | None = None
    with_code: bool = False
    """Whether the model's own Python files come too."""


def check_name(name: str) -> str:
    """Return the name back, or raise ValueError if it could never be found anywhere."""
    if name.startswith(_WEB) or "${" in name:
        why = "over https only single files are read" if name.startswith(_WEB) else "variables are not expanded here"
        raise ValueError(f"must be {FORMS}: {why}")
    if read_address(name) is not None:
        return name
    if name.startswith(PACKAGE):
        module, _, inside = name.removeprefix(PACKAGE).partition("/")
        if not module.isidentifier() or ".." in Path(inside).parts or inside.startswith("/"):
            raise ValueError(f"must be written package:module/folder, without `..`, got {name!r}")
    elif not _is_path(name) and not _HUB_NAME.match(name) and "/" not in name:
        raise ValueError(f"must be {FORMS}, got {name!r}")
    return name


def local_folder(name: str, *, option: str = "model.name") -> Path | None:
    """Return the folder on this machine, or None for a name on the hub; refuse what is neither."""
    if name.startswith(PACKAGE):
        return _existing(_package_folder(name, option=option), name=name, option=option)
    address = read_address(name)
    if address is not None:
        from burnish.data.cache.staged import stage_folder_at  # nobody whose models are local waits for it
        from burnish.storage.remote import Folder, keep_trying

        try:
            there = keep_trying(Folder(address).listing)
            inside = next((each for each in _MODELS if f"{each}/config.json".lstrip("/") in there), "")
            return stage_folder_at(address, inside=inside)
        except StorageError as error:
            raise refusal(f"{option}: {error}") from error
    path = Path(os.path.expanduser(name))
    if path.is_dir():
        # The model's own folder of an artifact, or of the run that made it; any other folder as it is.
        if (path / "config.json").exists():
            return path
        return next(
            (each for each in (path / "model", path / "artifact" / "model") if (each / "config.json").is_file()), path
        )
    if _is_path(name) or not _HUB_NAME.match(name):
        return _existing(path, name=name, option=option)
    return None


def config_folder(name: str, copy: HubCopy, *, option: str) -> Path:
    """Return a folder that holds the model's config.json, fetching it if need be."""
    return _folder(name, copy, patterns=_CONFIG_FILES, option=option)


def tokenizer_folder(name: str, copy: HubCopy, *, option: str) -> Path:
    """Return a folder that holds the tokenizer, fetching it if need be."""
    return _folder(name, copy, patterns=(*_CONFIG_FILES, *_TOKENIZER_FILES), option=option)


def weights_folder(name: str, copy: HubCopy, *, allow_pickle: bool) -> Path:
    """Return a folder that holds weights that may be read; refuse pickles unless they were asked for."""
    patterns = (*_CONFIG_FILES, *_GENERATION_FILES, *_SAFE_WEIGHTS, *_ADAPTER_FILES)
    folder = _folder(name, copy, patterns=patterns, option="model.name")
    if _holds(folder, _SAFE_WEIGHTS):
        return folder
    if allow_pickle:
        folder = _folder(name, copy, patterns=(*patterns, *_PICKLED_WEIGHTS), option="model.name")
    if _holds(folder, _PICKLED_WEIGHTS):
        return folder if allow_pickle else _refuse_pickle(name)
    raise refusal(
        f"model.name: {name} holds no weights (no model.safetensors in {folder}); "
        f"name a folder that has them, or set model.pretrained to false to start from random weights"
    )


def checkpoint_file(name: str, checkpoint: str | int) -> Path:
    """Find the weights of a checkpoint in a run, the newest one or one by its step."""
    root = Path(os.path.expanduser(name)) / "checkpoints"
    there = {int(path.parent.name.removeprefix("step-")): path for path in root.glob("step-*/weights.safetensors")}
    if not there:
        raise refusal(f"model.checkpoint: {name} has no checkpoints; it must be the folder of a run")
    found = there.get(max(there) if checkpoint == "last" else int(checkpoint))
    if found is None:
        steps = ", ".join(map(str, sorted(there)))
        raise refusal(
            f"model.checkpoint: {name} has no checkpoint of step {checkpoint}; there are {steps}, best and last"
        )
    return found


def refusal(message: str) -> ConfigError:
    """Make the error for a model that cannot be used."""
    return ConfigError([Problem(message)], subject="the model")


def _refuse_pickle(name: str) -> Path:
    raise refusal(
        f"model.name: {name} has only pickled weights (pytorch_model.bin), which can run code when they are read; "
        f"convert them to safetensors, or set model.allow_pickle_weights to true if you trust where they came from"
    )


def _is_path(name: str) -> bool:
    return name.startswith(("/", "./", "../", "~")) or name in (".", "..")


def _existing(path: Path, *, name: str, option: str) -> Path:
    if not path.is_dir():
        raise refusal(f"{option}: there is no folder {name}; it must be {FORMS}")
    return path


def _package_folder(address: str, *, option: str) -> Path:
    from burnish.data.sources.address import package_path

    try:
        return package_path(address, option=option)
    except DataError as error:
        raise refusal(str(error)) from error


def _holds(folder: Path, patterns: Sequence[str]) -> bool:
    return any(True for pattern in patterns for _ in folder.glob(pattern))


def _folder(name: str, copy: HubCopy, *, patterns: Sequence[str], option: str) -> Path:
    return local_folder(name, option=option) or _download(name, copy, patterns=patterns, option=option)


def _download(name: str, copy: HubCopy, *, patterns: Sequence[str], option: str) -> Path:
    """Copy some files of one version from the hub; everything after this is local."""
    from huggingface_hub import errors, snapshot_download

    wanted = [*patterns, "*.py"] if copy.with_code else [*patterns]
    try:
        return Path(snapshot_download(name, revision=copy.revision, cache_dir=copy.cache_dir, allow_patterns=wanted))
    except errors.LocalEntryNotFoundError as error:
        is_offline = isinstance(error.__cause__, errors.OfflineModeIsEnabled)
        why = "HF_HUB_OFFLINE is set" if is_offline else "the hub cannot be reached"
        from burnish.models.transformers.models_here import find_models_here, name_models

        here = name_models(find_models_here())
        others = f" (on this machine are {here})" if here else ""
        raise refusal(
            f"{option}: {name} is not a folder here, has no copy in the cache, and {why}; "
            f"name a folder or package:module/folder{others}, or connect to the hub once to fetch it"
        ) from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise refusal(
            f"{option}: the hub has no model {name} at revision {copy.revision} that you may read, "
            f"and there is no folder of that name here"
        ) from error
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise refusal(f"{option}: {name} could not be fetched from the hub: {said}") from error
