"""A transformer of the `transformers` library: which one, from where, and what of it learns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, field_validator, model_validator

from burnish.errors import ConfigError
from burnish.models.transformers import models_here
from burnish.models.transformers.locate_model import FORMS, HubCopy, check_name, local_folder
from burnish.spec.component import Component, RunsCode
from burnish.spec.protocols import Architecture, Assets
from burnish.spec.values import HeadSpec

if TYPE_CHECKING:
    from burnish.data.tokens.tokens import TextAssets
    from burnish.models.transformers.network_torch import TransformerNetwork


Dropout = Annotated[float, Field(ge=0, lt=1)]


class Size(Component):
    """How large a model with random weights is; what is left out comes from its config."""

    hidden_size: PositiveInt | None = None
    num_hidden_layers: PositiveInt | None = None
    num_attention_heads: PositiveInt | None = None
    intermediate_size: PositiveInt | None = None
    max_position_embeddings: PositiveInt | None = None
    vocab_size: PositiveInt | None = None
    """By default, that of the tokenizer."""

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Size:
        if self.hidden_size and self.num_attention_heads and self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"needs `hidden_size` to be a multiple of `num_attention_heads`, "
                f"got {self.hidden_size} and {self.num_attention_heads}"
            )
        return self


class Freeze(Component):
    """Which part of the model keeps its weights."""

    shorthand = "layers"

    embeddings: bool = False
    layers: NonNegativeInt = 0
    """The first so many layers."""


class Lora(Component):
    """Train small adapters next to frozen weights (extra `lora`)."""

    extras: ClassVar[tuple[str, ...]] = ("lora",)
    shorthand = "rank"

    rank: PositiveInt = 8
    alpha: PositiveFloat = 16
    """Adapters count alpha / rank times."""
    dropout: Dropout = 0.0
    targets: tuple[str, ...] | None = None
    """Ends of the names of the layers to adapt, like ["query", "value"]; by default those usual for the model."""
    merge: bool = True
    """Whether the artifact holds one set of weights; if not, `model/adapter` holds the adapter as peft reads it."""


class Transformer(Architecture):
    """Any encoder or decoder of the `transformers` library, fine-tuned or trained from scratch."""

    shorthand = "name"
    search_space: ClassVar[Mapping[str, Any]] = {
        "optimizer.learning_rate": {"type": "log", "min": "1e-5", "max": "1e-4"},
        "optimizer.weight_decay": ["0", "0.01", "0.1"],
    }
    heads: ClassVar[tuple[str, ...]] = (
        "sequence_classification",
        "pooled_classification",
        "token_classification",
        "question_answering",
        "question_answering_beam",
        "multiple_choice",
        "masked_lm",
        "causal_lm",
        "permutation_lm",
        "seq2seq_lm",
        "pretraining",
        "replaced_tokens",
        "embedding",
        "text_and_columns",
        "several",
    )
    joint_heads: ClassVar[tuple[str, ...]] = tuple(
        kind for kind in heads if kind not in ("replaced_tokens", "seq2seq_lm", "several")
    )
    """Those that may stand side by side above the same layers: all that need no second set of layers."""
    auto_batch: ClassVar[int] = 32
    yields: ClassVar[Mapping[str, tuple[str, ...]]] = {"name": ("tokenizer", "config", "architecture", "pretrained")}

    name: str | None = None
    """A name on the hub, a folder, a run, or package:module/folder."""
    checkpoint: Literal["best", "last"] | NonNegativeInt = "best"
    """Which weights of a run that `name` names: those of its artifact, or of the newest or a numbered checkpoint."""
    head: Literal["keep", "new"] = "keep"
    """Whether the layers above the encoder keep their weights where they fit the task, or all begin from scratch."""
    fields: Mapping[str, str] = {}
    """Any option of the model's config, as `transformers` calls it, like `{layer_norm_eps: 1e-6}`."""
    lower_case: bool | None = None
    """Whether the tokenizer lowers letters; by default as it was made."""
    pad_to_multiple_of: PositiveInt = 1
    """Pad each batch to a multiple of so many tokens, and not just to its longest text."""
    tokenizer: str | None = None
    """Where the tokenizer comes from, if not from `name`."""
    config: str | None = None
    """Where the config comes from, if not from `name`."""
    revision: str = "main"
    """Which version on the hub."""
    cache_dir: str | None = None
    pretrained: bool = True
    """False starts from random weights."""
    architecture: str | None = None
    """The sort of model, like bert (the default), when there is neither `name` nor `config`."""
    size: Size = Size()
    start: Literal["usual", "neighbours"] = "usual"
    """How random weights begin: as usual, or with heads that attend to neighbouring tokens."""
    dropout: Dropout | None = None
    """Replaces every dropout of the model."""
    attention_dropout: Dropout | None = None
    """Replaces that of the attention alone."""
    attention: str = "auto"
    """`eager`, `sdpa`, `flash_attention_2` or whatever else `transformers` knows; by default what is fastest here."""
    freeze: Freeze = Freeze()
    layer_decay: Annotated[float, Field(gt=0, le=1)] | None = None
    """Each layer learns at this share of the rate of the layer above it."""
    lora: Lora | None = None
    trust_remote_code: Annotated[bool, RunsCode()] = False
    """Run Python code that comes with the model."""
    allow_pickle_weights: Annotated[bool, RunsCode()] = False
    """Read pytorch_model.bin where there is no safetensors file."""

    @field_validator("name", "tokenizer", "config")
    @classmethod
    def _could_be_found(cls, name: str | None) -> str | None:
        return None if name is None else check_name(name)

    @model_validator(mode="after")
    def _options_agree(self) -> Transformer:
        checks = {
            f"needs a `name`: {FORMS}": self.pretrained and self.name is None,
            "needs a `tokenizer` or a `name` to take the tokenizer from": (
                not self.pretrained and self.name is None and self.tokenizer is None
            ),
            "takes `size` only with `pretrained: false`, as pretrained weights have a size": (
                self.pretrained and self.size != Size()
            ),
            "takes `start` only with `pretrained: false`, because pretrained weights are not initialised": (
                self.pretrained and self.start != "usual"
            ),
            "takes `architecture` only without `name` and `config`, which determine it": (
                self.architecture is not None and (self.name or self.config) is not None
            ),
            "takes `attention` with a slash, which is code from the hub, only with `trust_remote_code`": (
                "/" in self.attention and not self.trust_remote_code
            ),
            "takes `checkpoint` only with pretrained weights": self.checkpoint != "best" and not self.pretrained,
            "takes `lora` only with pretrained weights": self.lora is not None and not self.pretrained,
            "takes `lora` or `freeze`, not both, as `lora` freezes all but its adapters and the head": (
                self.lora is not None and self.freeze != Freeze()
            ),
        }
        problems = [problem for problem, is_wrong in checks.items() if is_wrong]
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def max_positions(self) -> int | None:
        source = self.config or self.name
        found = {"model_type": self.architecture or "bert"} if source is None else _config_here(source)
        if self.size.max_position_embeddings is not None:
            found = {**found, "n_positions": None, "max_position_embeddings": self.size.max_position_embeddings}
        return usable_positions(found)

    def absent(self) -> Iterator[tuple[str, str]]:
        written = {"name": self.name, "tokenizer": self.tokenizer, "config": self.config}
        for option, name in written.items():
            try:
                folder = None if name is None else local_folder(name, option=f"model.{option}")
            except ConfigError as error:
                yield option, error.problems[0].message
                continue
            is_described = name == (self.config or self.name)
            if folder is not None and is_described and not (folder / "config.json").is_file():
                yield option, f"model.{option}: {name} holds no model: it has no config.json; it must be {FORMS}"
            if name is not None and folder is None and models_here.is_offline() and self._is_uncached(option, name):
                here = models_here.name_models(models_here.find_models_here())
                others = f"; on this machine are {here}" if here else "; there is no model on this machine"
                absent = f"{name} is not a folder here, has no copy in the hub's cache, and HF_HUB_OFFLINE is set"
                yield option, f"model.{option}: {absent}{others}"

    def to_fetch(self) -> Iterator[str]:
        written = {"name": self.name, "tokenizer": self.tokenizer, "config": self.config}
        for option, name in written.items():
            try:
                is_remote = name is not None and local_folder(name, option=f"model.{option}") is None
            except ConfigError:
                continue
            if name is not None and is_remote and not models_here.is_offline() and self._is_uncached(option, name):
                yield f"model.{option}: {name} is not on this machine; training fetches it from the hub"

    def _is_uncached(self, option: str, name: str) -> bool:
        folder = models_here.cached_folder(name, self.hub_copy)
        if folder is None:
            return True
        needs_weights = option == "name" and self.pretrained and not self.allow_pickle_weights
        return needs_weights and not models_here.has_weights(folder)

    def assets(self) -> TextAssets:
        from burnish.models.transformers.tokenizer_torch import load_assets

        return load_assets(self)

    def build_tokenizer(self) -> Any:
        """Load the tokenizer of `transformers`, fast if there is one; a model of your own may change or replace it."""
        from burnish.models.transformers.tokenizer_torch import load_tokenizer

        return load_tokenizer(self)

    def build_config(self, head: HeadSpec, assets: TextAssets) -> Any:
        """Make the config of `transformers`, with the head in it; a model of your own may change it."""
        from burnish.models.transformers.config_torch import network_config

        return network_config(self, head, assets=assets)

    def build_model(self, config: Any, head: HeadSpec) -> tuple[Any, set[str]]:
        """Make the model of `transformers`, with weights, and name its parameters that no file held.

        A model of your own may change it; freezing, adapters and dropout come after.
        """
        from burnish.models.transformers.transformer_torch import load_model

        return load_model(self, config, head=head)

    def network(self, head: HeadSpec, assets: Assets) -> TransformerNetwork:
        from burnish.models.transformers.transformer_torch import build_network

        return build_network(self, head, assets=assets)

    def save(self, network: TransformerNetwork, directory: Path) -> None:
        from burnish.models.transformers.transformer_torch import save_network

        save_network(network, directory, options=self)

    def load(self, directory: Path, head: HeadSpec) -> TransformerNetwork:
        from burnish.models.transformers.transformer_torch import load_network

        return load_network(directory, head, options=self)

    @property
    def hub_copy(self) -> HubCopy:
        """The version on the hub, and where copies are kept."""
        return HubCopy(self.revision, self.cache_dir, with_code=self.trust_remote_code)


def _config_here(source: str) -> dict[str, object]:
    try:
        folder = local_folder(source)
    except ConfigError:
        return {}  # loading the model will say so, with the option it came from
    return dict(read_config(folder)) if folder is not None else {}


_NAMES = ("max_position_embeddings", "n_positions")

# These number positions from pad_token_id + 1, so that many rows of the position table are never reached.
_OFFSET_BY_PAD = frozenset(
    {
        "camembert",
        "data2vec-text",
        "esm",
        "ibert",
        "longformer",
        "luke",
        "markuplm",
        "mpnet",
        "roberta",
        "roberta-prelayernorm",
        "xlm-roberta",
        "xlm-roberta-xl",
        "xmod",
    }
)
_DEFAULT_PAD = 1
# These tell positions by their distance, and read any length, whatever an old config states.
_RELATIVE = frozenset({"longt5", "mt5", "switch_transformers", "t5", "umt5"})


def usable_positions(config: Mapping[str, Any]) -> int | None:
    """Return the number of tokens that fit, or None if the config states no limit."""
    positions = next((config[name] for name in _NAMES if isinstance(config.get(name), int)), None)
    if positions is None or positions <= 0 or config.get("model_type") in _RELATIVE:
        return None
    if config.get("model_type") not in _OFFSET_BY_PAD:
        return int(positions)
    pad = config.get("pad_token_id")
    return int(positions) - (_DEFAULT_PAD if pad is None else int(pad)) - 1


def read_config(folder: Path) -> Mapping[str, Any]:
    """Read config.json if it is there and readable; whoever loads the model says what is wrong with it."""
    try:
        content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
