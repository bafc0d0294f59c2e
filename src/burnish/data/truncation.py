"""Which tokens of a text that is too long are kept: one component a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import NonNegativeInt, PositiveInt, model_validator

from burnish.spec.component import Component
from burnish.spec.values import Array

if TYPE_CHECKING:
    import numpy as np


class _Policy(Component):
    is_random: ClassVar[bool] = False
    is_usual: ClassVar[bool] = False
    """Whether it is what a text classification has without being asked."""

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        """Choose the positions to keep, in order: one array, or one a window; `length` is more than `limit`."""
        raise NotImplementedError


class Head(_Policy):
    """Keep the first tokens."""

    is_usual: ClassVar[bool] = True

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        from burnish.data.tokens.truncate import spread  # numpy, which checking a config must not load

        return [spread([0], [limit])]


class Tail(_Policy):
    """Keep the last tokens."""

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        from burnish.data.tokens.truncate import spread  # as above

        return [spread([length - limit], [limit])]


class HeadTail(_Policy):
    """Keep the beginning and the end, in the ratio `head` to `tail`, filling the limit exactly."""

    head: NonNegativeInt = 128
    tail: NonNegativeInt = 382
    fill: bool = True
    """False keeps up to `head` and up to `tail` tokens, even where there is room for more."""

    @model_validator(mode="after")
    def _keeps_something(self) -> HeadTail:
        if self.head + self.tail == 0:
            raise ValueError("`head` and `tail` must not both be 0")
        return self

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        from burnish.data.tokens.truncate import spread  # as above

        if not self.fill:
            head = min(self.head, limit)
            tail = min(self.tail, limit - head)
            return [spread([0, length - tail], [head, tail])]
        total = self.head + self.tail
        head = (limit * self.head + total // 2) // total
        if self.head and self.tail and limit > 1:
            head = min(max(head, 1), limit - 1)  # a part that was asked for never rounds away
        return [spread([0, length - limit + head], [head, limit - head])]


class UnfilledHeadTail(HeadTail):
    """Keep up to `head` and up to `tail` tokens, as the published function `ht` does, even where more would fit."""

    fill: bool = False
    """True fills the limit exactly, in the ratio `head` to `tail`."""


class _Random(_Policy):
    """What policies share that draw spans."""

    is_random: ClassVar[bool] = True
    draw: ClassVar[str]
    """The function of `truncate` that draws."""

    span: PositiveInt = 16

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        from burnish.data.tokens import truncate  # as above

        return [getattr(truncate, self.draw)(length, limit=limit, span=self.span, random=random)]


class RandomSpans(_Random):
    """Keep random chunks of `span` tokens, each at most once, in document order."""

    draw = "draw_chunks"


class RandomSpansOverlapping(_Random):
    """Keep random spans drawn independently, in the order drawn; they may overlap or repeat."""

    draw = "draw_overlapping"


class RandomSpansDeleting(_Random):
    """Keep random spans without overlap, in the order drawn: each is removed before the next is drawn."""

    draw = "draw_deleting"


class Windows(_Policy):
    """Read the whole text in overlapping windows and pool their predictions."""

    stride: NonNegativeInt = 32
    """How many tokens two neighbouring windows share; at most one less than a window holds."""
    pool: Literal["mean", "max", "first", "vote"] = "mean"
    """How the windows of one text become one answer."""
    max_windows: PositiveInt | None = None
    """Keep at most this many, spread evenly from the first to the last; null for all."""

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        from burnish.data.tokens.truncate import spread, thin  # as above

        step = limit - min(self.stride, limit - 1)
        starts = [*range(0, length - limit, step), length - limit]
        starts = starts if self.max_windows is None else thin(starts, most=self.max_windows)
        return [spread([start], [limit]) for start in starts]
