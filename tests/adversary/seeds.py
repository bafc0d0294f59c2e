"""Numbers the generated cases: a quick few of each kind, or thousands in shares that processes can divide."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest

from tests.adversary.judge import IS_FULL

_SHARE = 100
"""Cases in one test, so that processes end at about the same time."""
_MOST_SHOWN = 20


@dataclass(frozen=True)
class Seeds:
    """The numbers of some cases."""

    numbers: range

    def each(self, kind: str) -> Callable[[Callable[[Random], None]], None]:
        """Run a case for every number, whatever became of those before, and then report all that failed."""

        def run(case: Callable[[Random], None]) -> None:
            failed: dict[str, int] = {}
            for seed in self.numbers:
                try:
                    case(Random(f"{kind} {seed}"))
                except AssertionError as error:
                    failed.setdefault(str(error), seed)
            shown = [f"{kind} {seed}: {said}" for said, seed in failed.items()][:_MOST_SHOWN]
            assert not failed, "\n".join([f"{len(failed)} kinds of failure", *shown])

        return run


def seeds(*, few: int, full: int) -> pytest.MarkDecorator:
    """Give a test the argument `seeds`: `few` of them in one test, or `full` in several."""
    numbers = [range(start, start + _SHARE) for start in range(0, full, _SHARE)] if IS_FULL else [range(few)]
    shares = [pytest.param(Seeds(each), id=f"{each[0]}-{each[-1]}") for each in numbers]
    return pytest.mark.parametrize("seeds", shares)
