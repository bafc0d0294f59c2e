"""Imports an optional package, or says which extra brings it."""

import logging
import warnings
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

from burnish.errors import MissingExtra

EXTRAS: Mapping[str, str] = {
    "hub": "data sets from the Hugging Face hub",
    "mlflow": "the tracker MLflow (skinny client)",
    "wandb": "the tracker Weights & Biases",
    "lora": "LoRA through peft",
    "tensorboard": "event files for TensorBoard",
    "baselines": "scikit-learn, for the TF-IDF and linear baselines",
    "trees": "LightGBM and CatBoost, for boosted trees and `model: auto`",
    "onnx": "ONNX and its runtime, to export models and to predict without torch",
    "notify": "apprise, to notify mail and many services; Slack and webhooks need no extra",
    "tune": "Optuna and CMA-ES, to search options by a model of the scores",
    "serve": "Starlette, uvicorn and a Prometheus client, for `burnish serve` and `burnish ui`",
    "gcp": "data, models and whole runs at `gs://` addresses",
    "s3": "data, models and whole runs at `s3://` addresses",
    "tokenizers": "sacremoses and sentencepiece, for tokenizers that transformers has in Python only (XLM, Marian)",
    "tfrecord": "TFRecord files and `tf.train.Example`, through protobuf",
    "kubernetes": "the official client, to run jobs on Kubernetes from here",
    "ray": "Ray with its job server, to run jobs and studies on a Ray cluster",
    "vertex": "Google's client, to run jobs on Vertex AI from here",
}
"""What each extra brings."""

_CLIENTS = (
    *("aiobotocore", "aiohttp", "asyncio", "botocore", "fsspec", "gcsfs", "google", "kubernetes"),
    *("requests", "s3fs", "urllib3"),
)
"""Libraries that talk to servers, and log tracebacks of what we say in a sentence."""


def silence_clients() -> None:
    """Keep logs and warnings of network clients off the terminal; who sets up logging still gets the logs."""
    for name in _CLIENTS:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())  # else Python prints what no handler takes
        warnings.filterwarnings("ignore", module=rf"{name}(\.|$)")


def require(module: str, *, extra: str, why: str) -> ModuleType:
    """Import a package that only some features need, like `require("peft", extra="lora", why="for LoRA")`."""
    silence_clients()
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        raise MissingExtra(
            f"{missing} is not installed, and it is needed {why}; install it with: pip install 'burnish[{extra}]'"
        ) from error
