"""The optimizers that an experiment can name; torch is imported only when one is built."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    SkipValidation,
    model_validator,
)

from burnish.errors import ConfigError, Problem
from burnish.spec.component import Component, Slot
from burnish.spec.protocols import Optimizer

if TYPE_CHECKING:
    import torch

Groups = Sequence[Mapping[str, Any]]
Beta = Annotated[float, Field(ge=0, lt=1)]
_TORCH_NAMES = {"learning_rate": "lr", "epsilon": "eps", "initial": "initial_accumulator_value"}


def _read_scalar(written: object) -> object:
    """Read text as YAML would: numbers, switches, else words; the class that gets it says what it can take."""
    if isinstance(written, list | tuple):
        return tuple(map(_read_scalar, written))
    if not isinstance(written, str):
        return written
    switch = {"true": True, "false": False}.get(written.lower())
    try:
        return json.loads(written, parse_constant=str) if switch is None else switch
    except ValueError:
        return written


OptionValue = Annotated[Any, BeforeValidator(_read_scalar)]


def _check_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"must be a regular expression, and {pattern!r} is none: {error}") from error
    return pattern


Pattern = Annotated[str, AfterValidator(_check_pattern)]


class TorchOptimizer(Component):
    """An optimizer with one learning rate, made from its options under the names that torch gives them."""

    shorthand = "learning_rate"
    maker: ClassVar[str]
    """What makes it: a name of `optim_torch`, which is imported when it is called, or else of `torch.optim`."""

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if "no_decay" in type(self).model_fields and not getattr(self, "weight_decay", 0.0):
            yield f"{place}.no_decay", f"`{place}.weight_decay` is 0, and no weight decays"

    def build(self, network: torch.nn.Module, groups: Groups) -> torch.optim.Optimizer:
        """Make the optimizer for groups of parameters."""
        from burnish.optim import optim_torch

        make = getattr(optim_torch, self.maker, None) or partial(optim_torch.make_by_torch, name=self.maker)
        options = {_TORCH_NAMES.get(field, field): value for field, value in self.model_dump().items()}
        groups = optim_torch.exempt_from_decay(groups, options.pop("no_decay", ()), network=network)
        if options["lr"] == "auto":
            options["lr"] = groups[0]["lr"]  # what torch asks for; every group has its own
        made: torch.optim.Optimizer = make(groups, **options)
        return made


class AdamW(TorchOptimizer):
    """Adam with decoupled weight decay; the usual choice for transformers."""

    maker = "AdamW"

    learning_rate: PositiveFloat | Literal["auto"] = 5e-5
    """`auto` follows the model: 2e-5 for one like BERT-base, up to 1e-4 for smaller ones, 2e-3 for tables."""
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    epsilon: PositiveFloat = 1e-8
    weight_decay: NonNegativeFloat = 0.01
    """Never applied to biases and norms."""
    no_decay: tuple[Pattern, ...] = ()
    """Further weights that do not decay: regular expressions for any part of a name, like `embeddings`."""


class Adam(TorchOptimizer):
    """Adam as first published; weight decay, if any, is L2 regularisation in the gradient."""

    maker = "Adam"

    learning_rate: PositiveFloat = 5e-5
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    epsilon: PositiveFloat = 1e-8
    weight_decay: NonNegativeFloat = 0.0
    no_decay: tuple[Pattern, ...] = ()


class Adafactor(TorchOptimizer):
    """Adafactor: factored second moments, so it needs little memory."""

    maker = "adafactor"

    learning_rate: PositiveFloat = 1e-3
    """Relative: each tensor moves by this share of its size."""
    beta2_decay: Annotated[float, Field(lt=0)] = -0.8
    """How the memory of squared gradients grows: 1 - step ** beta2_decay."""
    epsilon: PositiveFloat = 1e-3
    """The least size that a tensor counts as."""
    clip_threshold: PositiveFloat = 1.0
    """The largest root mean square of one update."""
    scale_parameter: bool = True
    """False makes the rate the same for all tensors, whatever their size."""
    relative_step: bool = True
    """Lower the rate with the square root of the steps; False leaves that to the schedule."""
    warmup_init: bool = False
    """Climb by 1e-6 a step from zero, instead of starting at `learning_rate`."""
    beta1: Beta | None = None
    """Keep an average of gradients, which takes as much memory as the weights; null for none."""
    weight_decay: NonNegativeFloat = 0.0
    no_decay: tuple[Pattern, ...] = ()

    @property
    def is_by_torch(self) -> bool:
        """Whether torch's own does it; for all other switches it is that of transformers."""
        return self.scale_parameter and self.relative_step and not self.warmup_init and self.beta1 is None

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        yield from super().unused_options(place)
        if self.relative_step and not self.is_by_torch:
            why = f"with `{place}.relative_step` and this choice of switches, the rate follows from the steps alone"
            yield f"{place}.learning_rate", why
            yield "schedule", why


class RmsProp(TorchOptimizer):
    """RMSprop: divides by a moving average of squared gradients."""

    maker = "RMSprop"

    learning_rate: PositiveFloat = 1e-3
    alpha: Beta = 0.99
    """How slowly the average forgets."""
    epsilon: PositiveFloat = 1e-8
    momentum: Beta = 0.0
    centered: bool = False
    """Divide by the standard deviation of gradients instead of their size."""
    weight_decay: NonNegativeFloat = 0.0
    no_decay: tuple[Pattern, ...] = ()


class Sgd(TorchOptimizer):
    """Stochastic gradient descent with momentum."""

    maker = "SGD"

    learning_rate: PositiveFloat = 1e-2
    momentum: Beta = 0.9
    nesterov: bool = False
    weight_decay: NonNegativeFloat = 0.0
    no_decay: tuple[Pattern, ...] = ()

    @model_validator(mode="after")
    def _nesterov_needs_momentum(self) -> Sgd:
        if self.nesterov and self.momentum == 0:
            raise ValueError("needs `momentum` above 0 for `nesterov`")
        return self


class AdaGrad(TorchOptimizer):
    """AdaGrad: divides by accumulated squared gradients; good for sparse features such as rare ids."""

    maker = "Adagrad"

    learning_rate: PositiveFloat = 0.05
    initial: NonNegativeFloat = 0.1
    """What the sum of squared gradients begins at: more keeps the first steps small."""
    epsilon: PositiveFloat = 1e-10
    weight_decay: NonNegativeFloat = 0.0
    no_decay: tuple[Pattern, ...] = ()


class Ftrl(TorchOptimizer):
    """FTRL-Proximal: AdaGrad-like steps; with L1, unneeded weights become exactly zero."""

    maker = "FtrlOptimizer"

    learning_rate: PositiveFloat = 0.1
    beta: NonNegativeFloat = 0.1
    """Keeps the first steps small."""
    l1: NonNegativeFloat = 0.0
    """A weight is zero until its gradients together exceed this."""
    l2: NonNegativeFloat = 0.0
    """Pulls weights towards zero."""

    @property
    def weight_decay(self) -> float:
        """Tell that there is none: `l1` and `l2` do it."""
        return 0.0


class Split(Component):
    """One optimizer for the wide part of a model and another for the deep part."""

    wide: Annotated[SkipValidation[Optimizer], Slot("optimizers", default="ftrl")]
    deep: Annotated[SkipValidation[Optimizer], Slot("optimizers", default="adamw")]

    @model_validator(mode="after")
    def _rates_are_stated(self) -> Split:
        if "auto" in (self.wide.learning_rate, self.deep.learning_rate):
            raise ValueError("needs a number for each `learning_rate`, as `auto` is one for the whole model")
        return self

    @property
    def learning_rate(self) -> float:
        """The unit of rates: groups then hold shares, which each part multiplies by its own."""
        return 1.0

    @property
    def weight_decay(self) -> float:
        """The unit of weight decay, likewise."""
        return 1.0

    def build(self, network: torch.nn.Module, groups: Groups) -> torch.optim.Optimizer:
        """Make both, and one optimizer that steps them."""
        from burnish.optim.optim_torch import SplitOptimizer

        parts = {"wide": self.wide, "deep": self.deep}
        shares = {name: [group for group in groups if _part(group) == name] for name in parts}
        if not shares["wide"]:
            raise ConfigError([Problem("optimizer: `split` needs a model with a wide part, like wide_deep or linear")])
        return SplitOptimizer(
            [part.build(network, _scaled(shares[name], part)) for name, part in parts.items() if shares[name]]
        )


class Lamb(TorchOptimizer):
    """LAMB: AdamW with a layer-wise trust ratio, for very large batches."""

    maker = "LambOptimizer"

    learning_rate: PositiveFloat = 1e-3
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    epsilon: PositiveFloat = 1e-6
    weight_decay: NonNegativeFloat = 0.01
    no_decay: tuple[Pattern, ...] = ()


class Lion(TorchOptimizer):
    """Lion: steps by the sign of the momentum; half of Adam's memory, wants a lower rate and more decay."""

    maker = "LionOptimizer"

    learning_rate: PositiveFloat = 1e-5
    betas: tuple[Beta, Beta] = (0.9, 0.99)
    weight_decay: NonNegativeFloat = 0.1
    no_decay: tuple[Pattern, ...] = ()


class AnyOfTorch(Component):
    """Any optimizer of `torch.optim` by its name, with torch's own options."""

    shorthand = "name"

    name: Annotated[str, Field(pattern=r"^[A-Z]\w*$")]
    """A class of `torch.optim`, like RAdam, NAdam or Muon."""
    learning_rate: PositiveFloat = 1e-3
    weight_decay: NonNegativeFloat = 0.0
    no_decay: tuple[Pattern, ...] = ()
    options: Mapping[str, OptionValue] = {}
    """Further arguments of the class, under torch's names, like `{betas: [0.9, 0.99]}`."""
    vectors: Annotated[SkipValidation[Optimizer], Slot("optimizers")] | None = None
    """Another optimizer for what is no matrix, at its own rate; Muon needs one, as it takes matrices alone."""

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if not self.weight_decay:
            yield f"{place}.no_decay", f"`{place}.weight_decay` is 0, and no weight decays"

    @model_validator(mode="after")
    def _each_option_has_one_place(self) -> AnyOfTorch:
        if {"lr", "weight_decay", "params"} & self.options.keys():
            raise ValueError(
                "takes no lr or weight_decay in `options`; write `learning_rate` and `weight_decay` one level up"
            )
        return self

    def build(self, network: torch.nn.Module, groups: Groups) -> torch.optim.Optimizer:
        """Make the optimizer, and the one for vectors."""
        from burnish.optim import optim_torch

        decay = {"weight_decay": self.weight_decay} if self.weight_decay else {}  # not all of them know it
        options = {"lr": self.learning_rate, **decay, **self.options}
        make = partial(optim_torch.any_of_torch, name=self.name, options=options)
        groups = optim_torch.exempt_from_decay(groups, self.no_decay, network=network)
        if self.vectors is None:
            return make(groups)
        matrices, others = optim_torch.split_by_dimensions(groups)
        rate = self.learning_rate if self.vectors.learning_rate == "auto" else self.vectors.learning_rate
        rescaled = [{**group, "lr": group["lr"] * rate / self.learning_rate} for group in others]
        parts = [(make, matrices), (partial(self.vectors.build, network), rescaled)]
        return optim_torch.SplitOptimizer([build(share) for build, share in parts if share])


def _part(group: Mapping[str, Any]) -> str:
    return "wide" if str(group.get("name", "")).startswith("wide") else "deep"


def _scaled(groups: Groups, part: Optimizer) -> Groups:
    rates = {"lr": part.learning_rate, "weight_decay": part.weight_decay}
    return [{**group, **{name: group[name] * unit for name, unit in rates.items()}} for group in groups]
