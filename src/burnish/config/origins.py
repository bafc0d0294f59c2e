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
    is_default: bool = False
    """Whether nobody wrote the value: it is what silence means."""
    is_ready_made: bool = False
    """Whether a named experiment or the plan of a run wrote the value, and not the user."""
    variable: str | None = None
    """The variable of the environment that the value was taken from, or refers to."""

    @property
    def place(self) -> str:
        """Name the place, like `mine.yaml:2`."""
        return self.source if self.line is None else f"{self.source}:{self.line}"

    def __str__(self) -> str:
        through = f" from ${{env:{self.variable}}}" if self.variable else ""
        return self.source if self.is_default else f"set by {self.place}{through}"

    def after(self, older: "Origin") -> "Origin":
        """Remember what this origin replaced."""
        return replace(self, replaced=older)

    def chain(self) -> "Iterator[Origin]":
        """Follow this origin and those it replaced, newest first."""
        origin: Origin | None = self
        while origin is not None:
            yield origin
            origin = origin.replaced

    def lines(self) -> tuple[str, ...]:
        """Say the whole chain of what was written, one sentence each; nothing for a default of the option itself."""
        if self == DEFAULT:
            return ()
        first, *older = self.chain()
        return (str(first), *(f"replacing {each.value} from {each.place}" for each in older if not each.is_default))


DEFAULT = Origin("default", is_default=True)
