"""FTRL for wide parts, and two optimizers behind the face of one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from burnish.optim.optim_torch import Groups, evaluated, owned, with_gradients


class FtrlOptimizer(torch.optim.Optimizer):
    """Keep for each weight what its gradients add up to, and set it where that and its past changes are balanced."""

    def __init__(self, groups: Groups, *, lr: float, beta: float, l1: float, l2: float) -> None:
        super().__init__(owned(groups), {"lr": lr, "beta": beta, "l1": l1, "l2": l2})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]  # torch types it by overloads
        """Take one step along the gradients."""
        loss = evaluated(closure)
        for param, grad, group in with_gradients(self.param_groups):
            if group["lr"] > 0:  # a warm-up begins at zero, which would divide by it and must change nothing
                self._update(param, grad, group=group)
        return loss

    def _update(self, param: Tensor, grad: Tensor, *, group: Mapping[str, Any]) -> None:
        state, rate, beta = self.state[param], group["lr"], group["beta"]
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
