"""A blend of models over a table: members are fitted fold by fold, and weighed by the rows that were held out."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field, PositiveInt, TypeAdapter, ValidationError
from torch import Tensor

from burnish.errors import BurnishError, CheckpointError, ConfigError, Problem
from burnish.models.tabular.members import CatBoost, FittedMember, Fold, LightGbm, Member, row_weights
from burnish.models.tabular.members_torch import LinearMember, TabMMember
from burnish.models.tabular.models import Auto
from burnish.models.tabular.networks_torch import TableNetwork, check_shape, write_shape
from burnish.models.tabular.selection import choose_weights, loss_of, to_answers, to_logits
from burnish.spec.values import Array, Batch, HeadSpec

MEMBERS: Mapping[str, Member] = {
    member.name: member for member in (LinearMember(), LightGbm(), CatBoost(), TabMMember())
}
"""Cheap ones first, so that a good answer is there after seconds."""
_RECORD = "blend.json"
_FOLDER = "members"


Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


@dataclass
class BlendRecord:
    """What of a blend is plain values; the fitted members are written next to it."""

    members: list[str] = field(default_factory=list)
    num_folds: PositiveInt = 1
    weights: dict[str, Share] = field(default_factory=dict)
    losses: dict[str, float] = field(default_factory=dict)
    """The loss of each member on the rows that its folds did not learn from."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Why a member is not in the blend."""
    loss: float = math.inf
    """That of the blend on the rows that were held out; before there is one, that of the fold that was fitted last."""


class Blend(TableNetwork):
    """The members that are fitted so far, and the rows to fit the next one."""

    def __init__(self, options: Auto, head: HeadSpec) -> None:
        super().__init__(head)
        self.record = BlendRecord()
        self._options = options
        self._fitted: dict[tuple[str, int], FittedMember] = {}
        self._answers: dict[str, Array] = {}
        """By member: its answers to the rows that its folds held out."""
        self._folds: list[Fold] = []
        self._labels: Array = np.empty(0)
        self._weights: Array | None = None

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        return torch.from_numpy(self.logits({name: tensor.cpu().numpy() for name, tensor in batch.items()}))

    def logits(self, batch: Batch) -> Array:
        """Return the logits [n, size] of arrays."""
        num_rows = len(next(iter(batch.values())))
        blended = np.zeros((num_rows, self.head.size))
        for name, weight in self.record.weights.items():
            blended += weight * self._mean_answer(name, batch)
        return to_logits(blended) if self.record.weights else blended

    def infer_alone(self) -> dict[str, Callable[[Batch], Array]]:
        """Return, for each member of the blend, what answers as it does alone."""
        return {name: partial(self._alone, name) for name in self.record.weights}

    def _alone(self, name: str, batch: Batch) -> Array:
        return to_logits(self._mean_answer(name, batch))

    def begin(self, rows: Callable[[str], Batch], *, seed: int) -> None:
        """Take the rows and cut them into folds; members that are fitted stay."""
        train, validation = rows("train"), rows("validation")
        if not self.record.members:
            self._choose_members()
            self.record.num_folds = self._options.folds_for(len(train["label"]))
        threads = torch.get_num_threads()
        if self.record.num_folds == 1:
            self._folds = [Fold(train, validation, seed, threads)]
            held_out = validation
        else:
            places = assign_folds(train["label"], self.record.num_folds, seed=seed, is_of_classes=self.head.size > 1)
            self._folds = [
                Fold(_take(train, places != number), _take(train, places == number), seed + number, threads)
                for number in range(self.record.num_folds)
            ]
            held_out = {name: np.concatenate([fold.held_out[name] for fold in self._folds]) for name in train}
        self._labels = held_out["label"]
        self._weights = row_weights(held_out, self.head.objective)

    def grow(self) -> float:
        """Fit the next member to the next fold, and return the loss on held-out rows."""
        missing = [
            (name, number)
            for name in self.record.members
            for number in range(self.record.num_folds)
            if (name, number) not in self._fitted and name not in self.record.left_out
        ]
        if missing:
            self._fit(*missing[0])
        return self.record.loss

    def _fit(self, name: str, number: int) -> None:
        fold = self._folds[number]
        try:
            fitted = MEMBERS[name].fit(fold, self.head)
        except (MemoryError, BurnishError) as error:
            self._leave_out(name, str(error) or type(error).__name__)
            return
        self._fitted[name, number] = fitted
        answers = to_answers(fitted.logits(fold.held_out, threads=fold.threads))
        self._answers[name] = np.concatenate([self._answers[name], answers]) if number else answers
        if number == self.record.num_folds - 1:
            self._weigh()
        elif not self.record.weights:
            weights = row_weights(fold.held_out, self.head.objective)
            self.record.loss = loss_of(answers, fold.held_out["label"], weights, self.head.objective)

    def _leave_out(self, name: str, why: str) -> None:
        self.record.left_out[name] = why
        self._answers.pop(name, None)
        for number in range(self.record.num_folds):
            self._fitted.pop((name, number), None)
        if set(self.record.members) <= self.record.left_out.keys():
            reasons = "; ".join(f"{member}: {reason}" for member, reason in self.record.left_out.items())
            raise ConfigError([Problem(f"model: auto could fit none of its members ({reasons})")])

    def _weigh(self) -> None:
        whole = [name for name in self.record.members if len(self._answers.get(name, ())) == len(self._labels)]
        answers = np.stack([self._answers[name] for name in whole])
        objective = self.head.objective
        self.record.losses = {
            name: loss_of(each, self._labels, self._weights, objective)
            for name, each in zip(whole, answers, strict=True)
        }
        chosen = choose_weights(answers, self._labels, self._weights, objective, rounds=self._options.rounds)
        self.record.weights = {name: weight for name, weight in zip(whole, chosen.tolist(), strict=True) if weight > 0}
        self.record.loss = loss_of(np.tensordot(chosen, answers, axes=1), self._labels, self._weights, objective)

    def _mean_answer(self, name: str, batch: Batch) -> Array:
        threads = torch.get_num_threads()
        folds = range(self.record.num_folds)
        answers = [to_answers(self._fitted[name, number].logits(batch, threads=threads)) for number in folds]
        return np.asarray(np.mean(answers, axis=0))

    def _choose_members(self) -> None:
        objective = self.head.objective
        for name in self._options.member_names:
            module = MEMBERS[name].module
            if not MEMBERS[name].can_learn(objective):
                self.record.left_out[name] = f"it does not know the loss {objective.name}"
            elif module is not None and find_spec(module) is None:
                self.record.left_out[name] = f"{module} is not installed"
            else:
                self.record.members.append(name)
        if not self.record.members:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.record.left_out.items())
            raise ConfigError([Problem(f"model: auto has no member that can learn this table ({reasons})")])

    def save_members(self, directory: Path) -> None:
        """Write the members that count, and how much each does."""
        (directory / _FOLDER).mkdir(exist_ok=True)
        for (name, number), fitted in self._fitted.items():
            if name in self.record.weights:
                (directory / _FOLDER / f"{name}-{number}").write_bytes(fitted.to_bytes())
        (directory / _RECORD).write_text(json.dumps(asdict(self.record), indent=1), encoding="utf-8")
        write_shape(self.head, directory)

    def load_members(self, directory: Path) -> None:
        """Put saved members in place; refuse those that are fed something else."""
        check_shape(self.head, directory)
        try:
            self.record = _read_record((directory / _RECORD).read_bytes())
            for name in self.record.weights:
                for number in range(self.record.num_folds):
                    written = (directory / _FOLDER / f"{name}-{number}").read_bytes()
                    self._fitted[name, number] = MEMBERS[name].from_bytes(written, self.head)
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{directory} does not hold a blend of models: {error}") from error

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        destination[prefix + "record"] = _as_tensor(json.dumps(asdict(self.record)).encode())
        for (name, number), fitted in self._fitted.items():
            destination[f"{prefix}{name}/{number}"] = _as_tensor(fitted.to_bytes())
        for name, answers in self._answers.items():
            destination[f"{prefix}{name}/answers"] = torch.from_numpy(answers)

    def _load_from_state_dict(self, state_dict: Mapping[str, Tensor], prefix: str, *_rest: object) -> None:
        written = state_dict.get(f"{prefix}record")
        if written is None:
            raise ValueError("the state has no record of a blend")
        self.record = _read_record(_as_bytes(written))
        self._fitted, self._answers = {}, {}
        for key, tensor in state_dict.items():
            name, _, part = key.removeprefix(prefix).partition("/")
            if part and name not in MEMBERS:
                raise ValueError(f"the state holds a member {name}, which this version does not know")
            if part == "answers":
                self._answers[name] = tensor.numpy()
            elif part:
                self._fitted[name, int(part)] = MEMBERS[name].from_bytes(_as_bytes(tensor), self.head)


def assign_folds(labels: Array, num_folds: int, *, seed: int, is_of_classes: bool) -> Array:
    """Give each row the number of its fold, at random; of classes, each fold holds its share."""
    random = np.random.default_rng(seed)
    shuffled = random.permutation(len(labels))
    if is_of_classes:
        shuffled = shuffled[np.argsort(labels[shuffled], kind="stable")]
    folds = np.empty(len(labels), np.int64)
    folds[shuffled] = np.arange(len(labels)) % num_folds
    return folds


def _take(batch: Batch, which: Array) -> Batch:
    return {name: values[which] for name, values in batch.items()}


def _read_record(written: bytes) -> BlendRecord:
    try:
        record = TypeAdapter(BlendRecord).validate_json(written)
    except ValidationError as error:
        raise ValueError(f"{_RECORD} is no record of a blend") from error
    unknown = [name for name in {*record.members, *record.weights} if name not in MEMBERS]
    if unknown:
        raise ValueError(f"{_RECORD} names {', '.join(sorted(unknown))}, which this version does not know")
    return record


def _as_tensor(written: bytes) -> Tensor:
    return torch.from_numpy(np.frombuffer(written, dtype=np.uint8).copy())


def _as_bytes(tensor: Tensor) -> bytes:
    if tensor.dtype != torch.uint8:
        raise ValueError("a fitted member is not written as bytes")
    return bytes(tensor.numpy())
