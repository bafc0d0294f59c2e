"""The course of the learning rate: pure functions of the step and of the length of the training."""

import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from burnish.spec.component import Component
from burnish.spec.interval import TextValue, plain

_FORM = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(%|steps?)\s*$")
_WANTED = 'must be a share of the training or a number of steps, like "6%" or "100 steps"'


@dataclass(frozen=True)
class Span(TextValue):
    """A share of the training in percent, or a number of steps."""

    examples = ("6%", "100 steps")

    amount: float
    unit: Literal["%", "steps"]

    @classmethod
    def parse(cls, written: object) -> Self:
        match = _FORM.match(written.lower()) if isinstance(written, str) else None
        if match is None:
            raise ValueError(_WANTED)
        amount = float(match[1])
        if math.isinf(amount):
            raise ValueError(f"{_WANTED}, and a number that a computer can hold")
        if match[2] == "%" and amount > 100:
            raise ValueError(f"must be at most 100%, the whole training, got {amount:g}%")
        if match[2] == "%":
            return cls(amount, "%")
        if not amount.is_integer():
            raise ValueError(f"must be a whole number of steps, like {amount:.0f} steps")
        return cls(amount, "steps")

    def steps(self, total_steps: int) -> int:
        """Count the steps that it covers; a share is rounded up."""
        if self.unit == "steps":
            return int(self.amount)
        # Exact arithmetic: 7% of 100 is 7, while 0.07 * 100 is a little more than 7.
        return math.ceil(Fraction(str(self.amount)) * total_steps / 100)

    def __str__(self) -> str:
        return f"{plain(self.amount)}{'%' if self.unit == '%' else ' steps'}"


Factor = Annotated[float, Field(ge=0, le=1)]
NO_WARMUP = Span(0, "%")


class WarmedUp(Component):
    """Climbs from zero to where the schedule begins, then follows `after`."""

    if TYPE_CHECKING:  # options of every schedule after its own, as a config shows them
        warmup: Span
        warmup_power: PositiveFloat

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if self.warmup.amount == 0:
            yield f"{place}.warmup_power", f"`{place}.warmup` is 0, so that nothing is warmed up"

    def factor(self, step: int, total_steps: int) -> float:
        """Compute what the base learning rate is multiplied by at this step (from 0)."""
        warmup = self.warmup.steps(total_steps)
        if step >= warmup:
            return self.after(step, warmup, total_steps)
        return float((step / warmup) ** self.warmup_power) * self.after(warmup, warmup, total_steps)

    @abstractmethod
    def after(self, step: int, warmup: int, total_steps: int) -> float:
        """Compute the factor of a step after the warm-up, which takes so many steps."""


class Constant(WarmedUp):
    """Constant learning rate."""

    warmup: Span = NO_WARMUP
    """How long the rate climbs from zero: "6%" or "100 steps"."""
    warmup_power: PositiveFloat = 1.0
    """1 climbs in a straight line; more climbs later."""

    def after(self, step: int, warmup: int, total_steps: int) -> float:
        return 1.0


class Falling(WarmedUp):
    """Falls from 1 to `end` over the steps after the warm-up, along `height`."""

    if TYPE_CHECKING:
        end: Factor

    def after(self, step: int, warmup: int, total_steps: int) -> float:
        if total_steps <= warmup:
            progress = 0.0 if step <= warmup else 1.0
        else:
            progress = min(1.0, (step - warmup) / (total_steps - warmup))
        return self.end + (1 - self.end) * self.height(progress)

    @abstractmethod
    def height(self, progress: float) -> float:
        """Compute how high a fall from 1 to 0 is at a share of its way."""


class LinearDecay(Falling):
    """Linear decay to `end`."""

    end: Factor = 0.0
    """The share of the learning rate that is left at the last step."""
    warmup: Span = NO_WARMUP
    warmup_power: PositiveFloat = 1.0

    def height(self, progress: float) -> float:
        return 1 - progress


class Polynomial(Falling):
    """Polynomial decay to `end`."""

    power: PositiveFloat = 1.0
    """1 is linear; more falls faster at first."""
    end: Factor = 0.0
    warmup: Span = NO_WARMUP
    warmup_power: PositiveFloat = 1.0

    def height(self, progress: float) -> float:
        return float((1 - progress) ** float(self.power))


class Cosine(Falling):
    """Cosine decay to `end`."""

    end: Factor = 0.0
    warmup: Span = NO_WARMUP
    warmup_power: PositiveFloat = 1.0

    def height(self, progress: float) -> float:
        return _wave(progress)


class CosineRestarts(Falling):
    """Cosine decay with warm restarts: `cycles` of them, each from the full rate."""

    cycles: PositiveInt = 1
    growth: PositiveFloat = 1.0
    """How many times as long as the one before each cycle is."""
    peak: Factor = 1.0
    """The share of the height of the one before that each cycle begins at."""
    end: Factor = 0.0
    warmup: Span = NO_WARMUP
    warmup_power: PositiveFloat = 1.0

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        yield from super().unused_options(place)
        if self.cycles == 1:
            why = f"`{place}.cycles` is 1, and no second cycle follows the first"
            yield f"{place}.growth", why
            yield f"{place}.peak", why

    def height(self, progress: float) -> float:
        if progress >= 1:  # the end of the last wave is the end of the training, not the start of another wave
            return 0.0
        if self.growth == 1:
            cycle, place = divmod(self.cycles * progress, 1.0)
            return float(self.peak**cycle) * _wave(place)
        lengths = [self.growth**number for number in range(self.cycles)]
        place = progress * sum(lengths)
        for number, length in enumerate(lengths):
            if place < length:
                return float(self.peak**number) * _wave(place / length)
            place -= length
        return 0.0


class Exponential(WarmedUp):
    """Exponential decay: multiply by `rate` at regular intervals after the warm-up."""

    rate: Annotated[float, Field(gt=0, le=1)] = 0.5
    every: Span = Span(10, "%")
    staircase: bool = False
    """Fall in steps instead of smoothly."""
    warmup: Span = NO_WARMUP
    warmup_power: PositiveFloat = 1.0

    @model_validator(mode="after")
    def _every_is_some_time(self) -> "Exponential":
        if self.every.amount <= 0:
            raise ValueError("needs `every` to be more than zero, like 10% or 500 steps")
        return self

    def after(self, step: int, warmup: int, total_steps: int) -> float:
        periods = (step - warmup) / max(1, self.every.steps(total_steps))
        return float(self.rate ** (math.floor(periods) if self.staircase else periods))


class Stepwise(WarmedUp):
    """Step decay: drop to the next factor at given points of the training."""

    at: tuple[Span, ...] = (Span(50, "%"), Span(75, "%"))
    """Points of the whole training, like ["50%", "75%"] or ["1000 steps", "2000 steps"]."""
    factors: tuple[Factor, ...] = (0.1, 0.01)
    """What the learning rate is multiplied by from each point on; before the first it is 1."""
    warmup: Span = NO_WARMUP
    warmup_power: PositiveFloat = 1.0

    @model_validator(mode="after")
    def _points_have_factors(self) -> "Stepwise":
        if len(self.at) != len(self.factors):
            raise ValueError(
                f"needs one factor for each point, got {len(self.at)} `at` and {len(self.factors)} `factors`"
            )
        if len({point.unit for point in self.at}) > 1:
            raise ValueError("needs all points of `at` in the same unit, % or steps")
        if any(first.amount >= second.amount for first, second in pairwise(self.at)):
            raise ValueError("needs the points of `at` in rising order")
        return self

    def after(self, step: int, warmup: int, total_steps: int) -> float:
        points = zip(self.at, self.factors, strict=True)
        return [1.0, *(factor for point, factor in points if step >= point.steps(total_steps))][-1]


class InverseSqrt(WarmedUp):
    """Inverse square root decay; needs no total length, so it suits open-ended training."""

    timescale: PositiveInt | None = None
    """Steps in which the rate falls to 0.71 of itself; by default the warm-up, or 10000 without one."""
    warmup: Span = NO_WARMUP
    warmup_power: PositiveFloat = 1.0

    def after(self, step: int, warmup: int, total_steps: int) -> float:
        timescale = self.timescale or warmup or 10_000
        return 1 / math.sqrt((step + timescale - warmup) / timescale)


class WarmupStableDecay(WarmedUp):
    """Warm up, hold the full rate, and decay to `end` over the last steps."""

    decay: Span = Span(10, "%")
    """How long the decay at the end takes."""
    shape: Literal["linear", "cosine", "1-sqrt"] = "linear"
    end: Factor = 0.0
    warmup: Span = NO_WARMUP
    warmup_power: PositiveFloat = 1.0

    def after(self, step: int, warmup: int, total_steps: int) -> float:
        length = min(self.decay.steps(total_steps), max(0, total_steps - warmup))
        into = step - (total_steps - length)
        progress = min(1.0, into / length) if into > 0 and length else float(into > 0)
        heights = {"linear": 1 - progress, "cosine": _wave(progress), "1-sqrt": 1 - math.sqrt(progress)}
        return self.end + (1 - self.end) * heights[self.shape]


class ReduceOnPlateau(WarmedUp):
    """Constant until the score that selects checkpoints stops improving, then `rate` times as much, again and again."""

    rate: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """What the learning rate is multiplied by."""
    patience: NonNegativeInt = 10
    """How many evaluations without improvement are let pass."""
    threshold: NonNegativeFloat = 1e-4
    """By what share of the best score another must beat it to count as better."""
    cooldown: NonNegativeInt = 0
    """How many evaluations after a reduction do not count."""
    end: Factor = 0.0
    """The least share of the learning rate."""
    warmup: Span = NO_WARMUP
    warmup_power: PositiveFloat = 1.0

    def after(self, step: int, warmup: int, total_steps: int) -> float:
        return 1.0

    def heed(self, memory: Mapping[str, float], score: float, *, direction: Literal["max", "min"]) -> dict[str, float]:
        """Hear one more score; `memory` is what it said before, and is saved with every checkpoint."""
        sign = 1 if direction == "max" else -1
        best, bad, rest = memory.get("best", -sign * math.inf), memory.get("bad", 0) + 1, memory.get("rest", 0)
        factor = memory.get("factor", 1.0)
        if sign * score > sign * best * (1 + sign * self.threshold):  # which no score that is no number ever is
            best, bad = score, 0
        if rest > 0:
            rest, bad = rest - 1, 0
        if bad > self.patience:
            factor, rest, bad = max(self.end, factor * self.rate), self.cooldown, 0
        known = {} if math.isinf(best) else {"best": best}
        return {**known, "bad": bad, "rest": rest, "factor": factor}


def _wave(progress: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * progress))
