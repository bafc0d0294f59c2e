"""How long a batch takes: measured once at the start, and used to form batches and to estimate the wait."""

from collections.abc import Callable
from dataclasses import dataclass
from time import thread_time

_MEASURED_SECONDS = 0.4
_FEWEST_ROUNDS, _MOST_ROUNDS = 3, 30
_GAIN = 1.15
"""What several workers must gain over one to be used: their threads share the interpreter with the network."""


@dataclass(frozen=True)
class Cost:
    """A batch takes `fixed` seconds and `per_token` for each of its tokens, padding counted."""

    fixed: float
    per_token: float
    num_workers: int = 1

    @property
    def free_padding(self) -> float:
        """How many tokens of padding cost as much as one more batch."""
        return self.fixed / self.per_token

    def seconds(self, tokens: float) -> float:
        """Estimate the time of a batch."""
        return self.fixed + self.per_token * tokens

    def tokens_within(self, seconds: float) -> int:
        """Say how many tokens a batch may have to take that long."""
        return max(1, int((seconds - self.fixed) / self.per_token))


def fit_cost(small: tuple[int, float], large: tuple[int, float]) -> Cost:
    """Fit the line through two batches, of (tokens, seconds) each."""
    per_token = max(1e-9, (large[1] - small[1]) / max(1, large[0] - small[0]))
    return Cost(max(1e-5, small[1] - per_token * small[0]), per_token)


def best_seconds(compute: Callable[[], object], *, budget: float = _MEASURED_SECONDS) -> float:
    """Time a computation: the least processor time of several rounds, however busy others keep the machine."""
    compute()
    times = [_timed(compute)]
    while (sum(times) < budget and len(times) < _MOST_ROUNDS) or len(times) < _FEWEST_ROUNDS:
        times.append(_timed(compute))
    return min(times)


def count_workers(*, whole: float, network: float, cores: int) -> int:
    """Give one worker a core if that gets more done than one: only what the network computes is done side by side."""
    share = min(1.0, network / whole)
    return cores if 1 / (1 - share + share / cores) > _GAIN else 1


def show_cost(cost: Cost, *, budget: int, unit: str) -> str:
    """Put a measurement into words for the log."""
    workers = f"{cost.num_workers} worker{'s' * (cost.num_workers > 1)}"
    return (
        f"{workers}, {cost.fixed * 1e3:,.1f} ms a batch and {cost.per_token * 1e6:,.1f} µs a {unit}; "
        f"up to {budget:,} {unit}s a batch"
    )


def _timed(compute: Callable[[], object]) -> float:
    began = thread_time()
    compute()
    return max(1e-9, thread_time() - began)
