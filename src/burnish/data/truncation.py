"""Which tokens of a text that is too long are kept: one component a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import NonNegativeInt, PositiveInt, model_validator

from burnish.spec.component import Component
from burnish.spec.values import Array

if TYPE_CHECKING:
    import numpy as np


class Head(Component):
    """Keep the first tokens."""

    is_random: ClassVar[bool] = False

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        """Select the first `limit` positions."""
        from burnish.data.tokens.truncate import list_windows  # numpy, which checking a config must not load

        return list_windows([0], width=limit)


class Tail(Component):
    """Keep the last tokens."""

    is_random: ClassVar[bool] = False

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        """Select the last `limit` positions."""
        from burnish.data.tokens.truncate import list_windows  # numpy, which checking a config must not load

        return list_windows([length - limit], width=limit)


class HeadTail(Component):
    """Keep the beginning and the end, in the ratio `head` to `tail`, filling the limit exactly."""

    is_random: ClassVar[bool] = False

    head: NonNegativeInt = 128
    tail: NonNegativeInt = 382

    @model_validator(mode="after")
    def _keeps_something(self) -> HeadTail:
        if self.head + self.tail == 0:
            raise ValueError("`head` and `tail` must not both be 0")
        return self

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        """Select both ends; as written when head + tail is the limit, else scaled to it."""
        from burnish.data.tokens.truncate import spread  # numpy, which checking a config must not load

        head = self._scaled_head(limit)
        return [spread([0, length - limit + head], [head, limit - head])]

    def _scaled_head(self, limit: int) -> int:
        total = self.head + self.tail
        head = (limit * self.head + total // 2) // total
        if self.head and self.tail and limit > 1:
            return min(max(head, 1), limit - 1)  # a part that was asked for never rounds away
        return head


class RandomSpans(Component):
    """Keep random chunks of `span` tokens, each at most once, in document order."""

    is_random: ClassVar[bool] = True

    span: PositiveInt = 16

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        """Draw whole chunks until the limit is full; the chunk drawn last is cut to the room that is left."""
        from burnish.data.tokens.truncate import draw_chunks  # numpy, which checking a config must not load

        return [draw_chunks(length, limit=limit, span=min(self.span, limit), random=random)]


class RandomSpansOverlapping(Component):
    """Keep random spans drawn independently, in the order drawn; they may overlap or repeat."""

    is_random: ClassVar[bool] = True

    span: PositiveInt = 16

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        """Draw spans that lie wholly in the text; the last is only as wide as the room that is left."""
        from burnish.data.tokens.truncate import draw_overlapping  # numpy, which checking a config must not load

        return [draw_overlapping(length, limit=limit, span=min(self.span, limit), random=random)]


class RandomSpansDeleting(Component):
    """Keep random spans without overlap, in the order drawn: each is removed before the next is drawn."""

    is_random: ClassVar[bool] = True

    span: PositiveInt = 16

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        """Draw spans that never repeat a token nor reach over a hole; shorter ones once no whole one fits."""
        from burnish.data.tokens.truncate import draw_deleting  # numpy, which checking a config must not load

        return [draw_deleting(length, limit=limit, span=self.span, random=random)]


class Windows(Component):
    """Read the whole text in overlapping windows and pool their predictions."""

    is_random: ClassVar[bool] = False

    stride: NonNegativeInt = 32
    """How many tokens two neighbouring windows share; at most one less than a window holds."""
    pool: Literal["mean", "max", "first", "vote"] = "mean"
    """How the windows of one text become one answer."""
    max_windows: PositiveInt | None = None
    """Keep at most this many, spread evenly from the first to the last; null for all."""

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> Sequence[Array]:
        """Select one array a window, each of `limit` positions; the last ends with the text."""
        from burnish.data.tokens.truncate import list_windows, thin  # numpy, which checking a config must not load

        step = limit - min(self.stride, limit - 1)
        last = length - limit
        starts = [*range(0, last, step), last]
        if self.max_windows is not None:
            starts = thin(starts, most=self.max_windows)
        return list_windows(starts, width=limit)
