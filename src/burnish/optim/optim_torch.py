"""The torch optimizers: torch's own where it has them, LAMB, Lion and FTRL where it has not, and two as one."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from burnish.errors import ConfigError, Problem

Groups = Sequence[Mapping[str, Any]]

_FUSED = ("AdamW", "Adam")
FUSED_DEVICES = frozenset({"cpu", "cuda", "mps", "xpu"})


def make_by_torch(groups: Groups, *, name: str, **options: Any) -> torch.optim.Optimizer:
    """Make an optimizer that torch has; fused where it can be, and one kernel can update all of these parameters."""
    params = [param for group in groups for param in group["params"]]
    can_fuse = all(param.device.type in FUSED_DEVICES and param.is_floating_point() for param in params)
    fused = {"fused": bool(params) and can_fuse} if name in _FUSED else {}
    made: torch.optim.Optimizer = getattr(torch.optim, name)(own_groups(groups), **fused, **options)
    return made


def adafactor(groups: Groups, *, eps: float, clip_threshold: float, **options: Any) -> torch.optim.Optimizer:
    """Make Adafactor: torch's, whose other epsilon is a tensor's precision, or for its switches transformers'."""
    switches = {name: options.pop(name) for name in ("scale_parameter", "relative_step", "warmup_init", "beta1")}
    if switches == {"scale_parameter": True, "relative_step": True, "warmup_init": False, "beta1": None}:
        return torch.optim.Adafactor(own_groups(groups), eps=(None, eps), d=clip_threshold, **options)
    from transformers.optimization import Adafactor  # many seconds to import, which most runs on tables are spared

    rate = {"lr": None if switches["relative_step"] else options.pop("lr"), "decay_rate": options.pop("beta2_decay")}
    kept = {"eps": (1e-30, eps), "clip_threshold": clip_threshold, "weight_decay": options["weight_decay"]}
    return Adafactor(own_groups(groups), **rate, **kept, **switches)  # type: ignore[no-untyped-call]  # transformers leaves it untyped


def any_of_torch(groups: Groups, *, name: str, options: Mapping[str, Any]) -> torch.optim.Optimizer:
    """Make an optimizer of torch by its name, after a trial step: what a checkpoint cannot hold is refused now."""
    kind = getattr(torch.optim, name, None)
    if not (isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer) and kind is not torch.optim.Optimizer):
        known = sorted(each for each, found in vars(torch.optim).items() if isinstance(found, type))
        raise ConfigError([Problem(f"optimizer.name: torch has no optimizer {name}; it has {', '.join(known)}")])
    try:
        tried = kind([nn.Parameter(torch.ones(2, 2))], **options)
        tried.param_groups[0]["params"][0].grad = torch.ones(2, 2)
        tried.step()
        state = [value for values in tried.state.values() for value in values.values()]
        if not all(isinstance(value, Tensor | bool | int | float | None) for value in state):
            raise TypeError("its state is more than tensors and numbers, so no checkpoint could hold it")
        return kind(own_groups(groups), **options)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError([Problem(f"optimizer: torch's {name} cannot be used here: {error}")]) from error


def exempt_from_decay(groups: Groups, patterns: Sequence[str], *, network: nn.Module) -> Groups:
    """Put what a pattern names into groups of its own, which do not decay."""
    if not patterns:
        return groups
    names = {id(param): name for name, param in network.named_parameters()}
    unmatched = [each for each in patterns if not any(re.search(each, name) for name in names.values())]
    if unmatched:
        example = next(iter(names.values()), "")
        raise ConfigError(
            [Problem(f"optimizer.no_decay: no weight is named like {each!r}; one is {example}") for each in unmatched]
        )

    def is_exempt(param: Tensor) -> bool:
        return any(re.search(each, names[id(param)]) for each in patterns)

    decayed = _filter_groups(groups, lambda param: not is_exempt(param))
    exempt = _filter_groups(groups, is_exempt)
    return [*decayed, *({**group, "weight_decay": 0.0, "name": f"{group.get('name', '')}, exempt"} for group in exempt)]


def split_by_dimensions(groups: Groups) -> tuple[Groups, Groups]:
    """Tell the matrices of groups from all else."""
    return _filter_groups(groups, lambda param: param.ndim == 2), _filter_groups(groups, lambda param: param.ndim != 2)


def _filter_groups(groups: Groups, is_kept: Callable[[Tensor], bool]) -> list[dict[str, Any]]:
    kept = [{**group, "params": [param for param in group["params"] if is_kept(param)]} for group in groups]
    return [group for group in kept if group["params"]]


class WeightwiseOptimizer(torch.optim.Optimizer):
    """Changes each weight by its own gradient and state alone."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]  # torch types it by overloads
        """Take one step along the gradients."""
        loss = evaluated(closure)
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._update(param, param.grad, group=group)
        return loss

    def _update(self, param: Tensor, grad: Tensor, *, group: Mapping[str, Any]) -> None:
        raise NotImplementedError


class LambOptimizer(WeightwiseOptimizer):
    """Scale Adam's direction so that each matrix moves in proportion to its own norm."""

    def __init__(
        self, groups: Groups, *, lr: float, betas: tuple[float, float], eps: float, weight_decay: float
    ) -> None:
        super().__init__(own_groups(groups), {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def _update(self, param: Tensor, grad: Tensor, *, group: Mapping[str, Any]) -> None:
        state = self.state[param]
        if not state:
            state.update(step=0, exp_avg=torch.zeros_like(param), exp_avg_sq=torch.zeros_like(param))
        state["step"] += 1
        beta1, beta2 = group["betas"]
        mean = state["exp_avg"].lerp_(grad, 1 - beta1) / (1 - beta1 ** state["step"])
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2) / (1 - beta2 ** state["step"])
        direction: Tensor = mean.div_(square.sqrt_().add_(group["eps"]))
        direction.add_(param, alpha=group["weight_decay"])
        param.sub_(direction.mul_(_trust(param, direction)), alpha=group["lr"])


class LionOptimizer(WeightwiseOptimizer):
    """Move every weight by the same amount, in the direction of the momentum's sign."""

    def __init__(self, groups: Groups, *, lr: float, betas: tuple[float, float], weight_decay: float) -> None:
        super().__init__(own_groups(groups), {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    def _update(self, param: Tensor, grad: Tensor, *, group: Mapping[str, Any]) -> None:
        state = self.state[param]
        if not state:
            state["exp_avg"] = torch.zeros_like(param)
        momentum, (beta1, beta2) = state["exp_avg"], group["betas"]
        direction = momentum.lerp(grad, 1 - beta1).sign_()
        param.mul_(1 - group["lr"] * group["weight_decay"]).sub_(direction, alpha=group["lr"])
        momentum.lerp_(grad, 1 - beta2)


def _trust(param: Tensor, direction: Tensor) -> Tensor:
    """Return the ratio of norms; vectors (biases, norms) keep Adam's own step, as in the published recipes."""
    one = torch.ones((), device=param.device, dtype=param.dtype)
    if param.ndim < 2:
        return one
    size, length = param.norm(), direction.norm()
    return torch.where((size > 0) & (length > 0), size / length, one)


def evaluated(closure: Callable[[], float] | None) -> float | None:
    """Call what computes the loss again, for those who step that way."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def own_groups(groups: Groups) -> list[dict[str, Any]]:
    """Copy the groups: torch writes its defaults into the dicts it is given."""
    return [dict(group) for group in groups]


class FtrlOptimizer(WeightwiseOptimizer):
    """Keep for each weight what its gradients add up to, and set it where that and its past changes are balanced."""

    def __init__(self, groups: Groups, *, lr: float, beta: float, l1: float, l2: float) -> None:
        super().__init__(own_groups(groups), {"lr": lr, "beta": beta, "l1": l1, "l2": l2})

    def _update(self, param: Tensor, grad: Tensor, *, group: Mapping[str, Any]) -> None:
        state, rate, beta = self.state[param], group["lr"], group["beta"]
        if rate <= 0:  # a warm-up begins at zero, which would divide by it and must change nothing
            return
        if not state:
            # Balanced where the weight stands now, so that it moves by its gradients alone.
            state.update(z=-param * (beta / rate), n=torch.zeros_like(param), rate=rate)
        before = state["n"].sqrt().add_(beta).div_(state["rate"])
        state["n"].addcmul_(grad, grad)
        after = state["n"].sqrt().add_(beta).div_(rate)
        # With the rate of the last step in `before`, a schedule moves no weight that has no gradient.
        state["z"].add_(grad).addcmul_(after - before, param, value=-1)
        state["rate"] = rate
        shrunk = state["z"] - state["z"].clamp(-group["l1"], group["l1"])
        new = shrunk.neg_().div_(after.add_(group["l2"]))
        param.copy_(torch.where(after > 0, new, param))


class SplitOptimizer(torch.optim.Optimizer):
    """Step several optimizers as one; groups and state are shared with them, so that they are saved like one's own."""

    def __init__(self, parts: Sequence[torch.optim.Optimizer]) -> None:
        super().__init__([group for part in parts for group in part.param_groups], {})
        self.parts = list(parts)
        for part in parts:
            self.state.update(part.state)
        self._share()

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]  # torch types it by overloads
        """Step each part."""
        loss = evaluated(closure)
        for part in self.parts:
            part.step()
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over saved numbers, and give every part its share."""
        super().load_state_dict(state_dict)
        self._share()

    def _share(self) -> None:
        start = 0
        for part in self.parts:
            end = start + len(part.param_groups)
            part.param_groups, part.state = self.param_groups[start:end], self.state
            start = end
