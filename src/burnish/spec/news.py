"""What a notification says of a run, and what sends one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from burnish.spec.component import Component

Occasion = Literal["start", "best", "end", "preemption", "failure"]

_TITLES: Mapping[Occasion, str] = {
    "start": "started",
    "best": "has a new best",
    "end": "is done",
    "preemption": "was stopped and can be resumed",
    "failure": "failed",
}
_SHOWN_SCORES = 8


@dataclass(frozen=True)
class News:
    """One thing that happened to a run."""

    occasion: Occasion
    name: str
    run: str
    """The run directory."""
    minutes: float
    step: int = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    message: str = ""
    """Why it failed or stopped."""

    def describe(self) -> str:
        """Write it for people: what happened, after how long, with which scores, and why."""
        scores = ", ".join(f"{name} {value:.4g}" for name, value in [*self.scores.items()][:_SHOWN_SCORES])
        head = f"{self.name} {_TITLES[self.occasion]} after {self.minutes:.1f} minutes, step {self.step:,}"
        return "\n".join(filter(None, [head, scores, self.message]))


class Notifier(Component, ABC):
    """Receives the events of a run."""

    on: tuple[Occasion, ...] = ("end", "preemption", "failure")
    """When: start, best (a new best score), end, preemption, failure."""
    text: str = ""
    """A text to put before what happened."""
    link: str = ""
    """Where to look; by default the run directory. `{run}` and `{name}` are filled in."""

    @abstractmethod
    def send(self, news: News) -> None:
        """Send it, within seconds, or raise an error whose message holds no secret."""

    def write(self, news: News) -> str:
        """Write the whole message."""
        link = self.link.replace("{run}", news.run).replace("{name}", news.name) if self.link else news.run
        return "\n".join(filter(None, [self.text, news.describe(), link]))
