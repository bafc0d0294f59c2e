"""The members of a blend that are networks: a linear model, and TabM."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  # the name everyone uses
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from burnish.models.tabular.members import FittedMember, Fold, Member, row_weights
from burnish.models.tabular.models import TabM
from burnish.models.tabular.networks_torch import LinearNetwork, TableNetwork, TabMNetwork
from burnish.spec.values import Array, Batch, HeadSpec, Objective

_INPUTS = ("numbers", "categories", "wide")
_TINY = 1e-12


@dataclass(frozen=True)
class FittedNetwork:
    """A network whose training is over."""

    network: TableNetwork

    def logits(self, batch: Batch, *, threads: int) -> Array:
        return np.asarray(_answer(self.network, _tensors(batch)).numpy())

    def to_bytes(self) -> bytes:
        return save_tensors({name: tensor.contiguous() for name, tensor in self.network.state_dict().items()})


class _NetworkMember(Member):
    """What linear models and TabM share: the losses, and how they are read back."""

    def can_learn(self, objective: Objective) -> bool:
        return objective.name in ("cross_entropy", "mean_squared_error")

    def network(self, head: HeadSpec) -> TableNetwork:
        raise NotImplementedError

    def from_bytes(self, written: bytes, head: HeadSpec) -> FittedMember:
        network = self.network(head)
        try:
            network.load_state_dict(load_tensors(written))
        except (SafetensorError, RuntimeError) as error:
            raise ValueError(str(error)) from error
        return FittedNetwork(network.eval())


class LinearMember(_NetworkMember):
    """Logistic or ridge regression; the strength of the penalty is chosen on the held-out rows."""

    name = "linear"

    _PENALTIES = (1.0, 0.1, 1e-2, 1e-3, 1e-4)
    """Per row, from strong to weak: each begins where the one before ended."""
    _STEPS = 60

    def network(self, head: HeadSpec) -> TableNetwork:
        return LinearNetwork(head)

    def fit(self, fold: Fold, head: HeadSpec) -> FittedMember:
        torch.manual_seed(fold.seed)
        network = self.network(head)
        learn, held_out = _Rows.of(fold.learn, head.objective), _Rows.of(fold.held_out, head.objective)
        best_loss, best = float("inf"), copy.deepcopy(network.state_dict())
        for penalty in self._PENALTIES:
            self._descend(network, learn, penalty)
            loss = held_out.loss(network)
            if loss >= best_loss:
                break
            best_loss, best = loss, copy.deepcopy(network.state_dict())
        network.load_state_dict(best)
        return FittedNetwork(network.eval())

    def _descend(self, network: TableNetwork, learn: "_Rows", penalty: float) -> None:
        penalised = [parameter for name, parameter in network.named_parameters() if not name.endswith("bias")]
        optimizer = torch.optim.LBFGS(
            network.parameters(), max_iter=self._STEPS, history_size=10, line_search_fn="strong_wolfe"
        )

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = learn.mean_loss(network(learn.inputs))
            for parameter in penalised:
                loss = loss + penalty / 2 * parameter.square().sum()
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        optimizer.step(closure)  # type: ignore[no-untyped-call]


class TabMMember(_NetworkMember):
    """TabM with its usual rate, stopped by the held-out rows."""

    name = "tab_m"

    _EPOCHS = 200
    _PATIENCE = 16
    _BATCH = 256
    _DECAY = 3e-4
    _ROWS_FOR_BINS = 2000
    """With fewer rows to learn from, bins of numbers are more parameters than the rows can settle."""

    def network(self, head: HeadSpec) -> TableNetwork:
        return TabMNetwork(TabM(), head)

    def fit(self, fold: Fold, head: HeadSpec) -> FittedMember:
        torch.manual_seed(fold.seed)
        network = self.network(head)
        learn, held_out = _Rows.of(fold.learn, head.objective), _Rows.of(fold.held_out, head.objective)
        groups = network.parameter_groups(learning_rate=network.usual_rate, weight_decay=self._DECAY)
        optimizer = torch.optim.AdamW(groups, fused=True)
        random = np.random.default_rng(fold.seed)
        num_rows = len(learn.labels)
        size = min(self._BATCH, max(32, num_rows // 8))
        best_loss, best, bad_epochs = float("inf"), network.state_dict(), 0
        for _ in range(self._EPOCHS):
            network.train()
            order = torch.from_numpy(random.permutation(num_rows))
            for places in torch.split(order, size):
                part = learn.take(places)
                optimizer.zero_grad()
                part.mean_loss(network(part.inputs)).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            network.eval()
            loss = held_out.loss(network)
            if loss < best_loss:
                best_loss, best, bad_epochs = loss, copy.deepcopy(network.state_dict()), 0
            else:
                bad_epochs += 1
            if bad_epochs >= self._PATIENCE:
                break
        network.load_state_dict(best)
        return FittedNetwork(network.eval())


@dataclass(frozen=True)
class _Rows:
    """Rows as tensors, with what each weighs."""

    inputs: Mapping[str, Tensor]
    labels: Tensor
    weights: Tensor | None

    @classmethod
    def of(cls, batch: Batch, objective: Objective) -> "_Rows":
        weights = row_weights(batch, objective)
        return cls(
            _tensors(batch),
            torch.from_numpy(np.asarray(batch["label"])),
            None if weights is None else torch.from_numpy(np.asarray(weights, dtype=np.float32)),
        )

    def take(self, places: Tensor) -> "_Rows":
        weights = None if self.weights is None else self.weights[places]
        return _Rows({name: each[places] for name, each in self.inputs.items()}, self.labels[places], weights)

    def mean_loss(self, outputs: Tensor) -> Tensor:
        """Return the mean loss of outputs [n, size], or of each of [n, members, size]."""
        labels = self.labels
        weights = self.weights
        if outputs.ndim == 3:
            members = outputs.shape[1]
            outputs = outputs.flatten(0, 1)
            labels = labels.repeat_interleave(members)
            weights = None if weights is None else weights.repeat_interleave(members)
        if outputs.shape[1] == 1:
            each = F.mse_loss(outputs[:, 0], labels.float(), reduction="none")
        else:
            each = F.cross_entropy(outputs, labels, reduction="none")
        return each.mean() if weights is None else (each * weights).sum() / weights.sum()

    def loss(self, network: TableNetwork) -> float:
        return float(self.mean_loss(_answer(network, self.inputs)))


def _answer(network: TableNetwork, inputs: Mapping[str, Tensor]) -> Tensor:
    with torch.inference_mode():
        outputs: Tensor = network(inputs)
        if outputs.ndim < 3:
            return outputs.float()
        # of the members of TabM: the mean of their probabilities, or of their numbers
        if outputs.shape[2] == 1:
            return outputs.float().mean(1)
        return outputs.float().softmax(-1).mean(1).clamp_min(_TINY).log()


def _tensors(batch: Mapping[str, Any]) -> dict[str, Tensor]:
    return {name: torch.as_tensor(batch[name]) for name in _INPUTS if name in batch}
