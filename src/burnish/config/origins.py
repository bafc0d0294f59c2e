"""Where a value came from, and what it replaced on the way."""

from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Origin:
    """The place that set a value; `replaced` is the place that had set it before."""

    source: str
    line: int | None = None
    replaced: "Origin | None" = None
    value: str = ""
    """The value that was written there, in short."""

    @property
    def place(self) -> str:
        """Name the place, like `mine.yaml:2`."""
        return self.source if self.line is None else f"{self.source}:{self.line}"

    @property
    def is_default(self) -> bool:
        """Tell whether nobody set the value."""
        return self == DEFAULT

    def __str__(self) -> str:
        return "default" if self.is_default else f"set by {self.place}"

    def after(self, older: "Origin") -> "Origin":
        """Remember what this origin replaced."""
        return replace(self, replaced=older)

    def chain(self) -> "Iterator[Origin]":
        """Give this origin and those it replaced, newest first."""
        origin: Origin | None = self
        while origin is not None:
            yield origin
            origin = origin.replaced

    def lines(self) -> tuple[str, ...]:
        """Say the whole chain, one sentence each; nothing for a default."""
        if self.is_default:
            return ()
        first, *older = self.chain()
        return (str(first), *(f"replacing {each.value} from {each.place}" for each in older))


DEFAULT = Origin("default")
